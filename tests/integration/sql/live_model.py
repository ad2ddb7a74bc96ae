"""Live queries beside fresh ones: random appends, updates and deletes; after each, both have the same rows. New rows alone are read
wherever the statement allows it.

    live_model.py BINARIES [STEPS] [SEED]    default: 12 steps a query, seed 1
"""
import json
import os
import random
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../support/py'))
from command_line import CommandLine  # noqa: E402

# What it is, and whether new rows alone are read.
QUERIES = [
    ('select count(*) as n, sum(a) as s from t', True),
    ('select b, count(*) as n, sum(a) as s, avg(x) as m, min(x) as l, max(s) as t, stddev(x) as d from t group by b', True),
    ('select b, sum(x) as s from t where a > 3 group by b having count(*) > 1 order by s desc, b limit 2', True),
    ('select d.name, count(*) as n, sum(t.x) as s from t join d on t.b = d.b group by d.name', True),
    ('select d.name, count(t.a) as n from t left join d on t.b = d.b where t.a < 8 group by d.name', True),
    ('select b, n * 2 as n from (select b, count(*) as n from t group by b) q join d using (b)', True),
    ('select a, x + 1 as y, s from t where b <> 1', True),
    ('select t.a, d.name from t join d on t.b = d.b where t.x > 0', True),
    ('select a from t where b in (select b from d)', True),
    ('select count(distinct a) as n from t', False),
    ('select b, median(x) as m from t group by b', False),
    ('select a, row_number() over (order by a, x, s) as r from t', False),
    ('select a, count(*) as n from t where b in (select max(b) from t) group by a', False),
    ('select distinct b from t order by b', True),
    ('select d.name, count(t.a) as n from d left join t on t.b = d.b group by d.name', False),
    ('select u.b, count(*) as n from t join u on t.b = u.b group by u.b', False),
]


class Live:
    """A live query that runs, and what its results add up to."""

    def __init__(self, cli, query):
        self.process = subprocess.Popen([cli.granary, 'live', '--json', '--every', '0ms', query], env=cli.environment, cwd=cli.base,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.rows = []
        self.read = []
        self.time = -1

    def until(self, time):
        """Results of that time or a later one; how many rows were read for each."""
        self.read = []
        while self.time < time:
            line = self.process.stdout.readline()
            if line == '':
                sys.exit(f'the live query ended: {self.process.stderr.read()}')
            step = json.loads(line)
            self.time = step['time']
            self.rows = (self.rows if step['added'] else []) + step['result']
            self.read.append((step['anew'], step['rows_read']))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


def same(query, ours, theirs):
    text = [sorted(map(json.dumps, rows)) if 'order by s' not in query else list(map(json.dumps, rows)) for rows in (ours, theirs)]
    return text[0] == text[1]


class Model:
    def __init__(self, cli, seed):
        self.cli = cli
        self.random = random.Random(seed)
        self.there = 0
        cli.must('sql', 'create table t (a bigint, b bigint, x double precision, s text)')
        cli.must('sql', 'create table u (b bigint)')
        cli.must('sql', "create table d as select * from (values (0, 'zero'), (1, 'one'), (2, 'two')) v(b, name)")
        cli.must('sql', "call seal('d')")

    def write(self, statement):
        return json.loads(self.cli.must('sql', '--json', statement))

    def insert(self):
        rows = [f"({self.random.randrange(10)}, {self.random.choice(['0', '1', '2', '3', 'null'])}, "
                f"{self.random.choice(['null', '1e300', '-1e300'] + [str(self.random.uniform(-9, 9))] * 8)}, "
                f"'{self.random.choice('abcx')}')" for _ in range(self.random.randrange(1, 6))]
        return self.write(f"insert into t values {', '.join(rows)}"), len(rows)

    def change(self):
        return self.write(self.random.choice([f'update t set x = x * 2 where a = {self.random.randrange(10)}',
                                              f'delete from t where a = {self.random.randrange(10)}',
                                              f'update t set b = 1 where a = {self.random.randrange(10)}']))

    def play(self, query, grows, steps):
        live = Live(self.cli, query)
        live.until(0)
        for step in range(steps):
            inserted = None
            if self.random.random() < 0.7:
                done, inserted = self.insert()
            else:
                done = self.change()
            if done['rows'] > 0:
                live.until(done['time'])
            fresh = json.loads(self.cli.must('sql', '--json', query))
            if not same(query, live.rows, fresh):
                sys.exit(f'{query}\nstep {step}: live {live.rows}\nfresh {fresh}')
            if inserted is not None:
                anew, rows = live.read[-1]
                assert anew != grows and (anew or rows == inserted), (query, live.read, inserted)
        live.end()


def ended(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def ends(cli):
    """Seals, deletions, signals and a scheduler that dies."""
    query = 'select count(*) as n from e'
    cli.must('sql', 'create table e (a bigint)')
    live = Live(cli, query)
    live.until(0)
    cli.must('sql', 'insert into e values (1), (2)')
    live.until(1)
    scheduler = int(subprocess.check_output(['pgrep', '-f', f'^[^ ]*granary-sched .*{cli.base}'], text=True))
    os.kill(scheduler, signal.SIGKILL)
    live.until(json.loads(cli.must('sql', '--json', 'insert into e values (3)'))['time'])
    assert live.rows == [{'n': 3}], live.rows
    cli.must('sql', "call seal('e')")
    live.until(2 ** 63 - 1)
    assert live.rows == [{'n': 3}], live.rows
    assert ended(live.process) == (0, '', ''), 'a seal is the end'

    cli.must('sql', 'create table f (a bigint)')
    for stop in [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]:
        live = Live(cli, 'select a, count(*) as n from f group by a')
        live.until(0)
        live.until(json.loads(cli.must('sql', '--json', 'insert into f values (1)'))['time'])
        live.process.send_signal(stop)
        status = ended(live.process)[0]
        assert status == (-stop if stop == signal.SIGKILL else 128 + stop), status
    live = Live(cli, 'select a from f')
    live.until(0)
    cli.must('sql', 'drop table f')
    status, _, err = ended(live.process)
    assert status != 0 and 'deleted' in err, (status, err)
    for wrong, said in [('select 1', 'none of its tables changes'), ('select x from e', 'none of its tables|no column'),
                        ('delete from e', 'a live query is a SELECT'), ('selec', 'syntax error'), ('select * from nosuch', "no table 'nosuch'")]:
        end = cli.call('live', wrong)
        assert end.returncode != 0 and any(text in end.stderr for text in said.split('|')), end.stderr
    while cli.must('graphs', '--json').strip() not in ('[]', ''):  # somebody forgets what a killed one has left
        pass


def main():
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with CommandLine(sys.argv[1]) as cli:
        model = Model(cli, seed)
        for query, grows in QUERIES:
            model.play(query, grows, steps)
        ends(cli)
        print(f'seed {seed}: {len(QUERIES)} queries of {steps} steps each')


if __name__ == '__main__':
    main()
