#!/usr/bin/python3
"""WITH RECURSIVE when something goes wrong: executors die, nobody waits any more, it never ends, it is no recursion.

    recursive.py BIN_DIRECTORY
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

PATIENCE_S = 60
ENDLESS = 'with recursive loop(n) as (select 1 union all select n % 7 from loop) select count(*) as c from loop'
# What is refused, where, and what the message has.
REFUSED = [
    ('with recursive t(n) as (select n + 1 from t) select * from t', 43, "'t' names itself"),
    ('with recursive t(n) as (select n from t union all select 1) select * from t', 39, "'t' names itself"),
    ('with recursive t(n) as (select 1 except select n from t) select * from t', 55, "'t' names itself"),
    ('with recursive t(n) as (select 1 union all select n, 2 from t) select * from t', 51, 'one side lists 1 value'),
    ("with recursive t(n) as (select 1 union all select 'a' from t) select * from t", 16, "column 'n' is int64"),
    ('with recursive t(n) as (select 1 union all select n + 0.5 from t) select * from t', 16, 'cast it'),
    ('with recursive t(n, m) as (select 1 union all select n from t) select * from t', 16, '1 columns, but 2 names'),
    ('with recursive t(n) as (select 1 union all select n from t order by n) select * from t', 69, 'ORDER BY of all rounds'),
    ('with recursive t(n) as (select 1 union all select n from t limit 3) select * from t', 16, 'LIMIT or OFFSET of all rounds'),
    ('with t(n) as (select 1 union all select n from t) select * from t', 48, "no table 't'"),
    ('with recursive t(n) as (select 1 union all select m from t) select * from t', 51, "no column 'm'"),
    ('with recursive t(n) as (select 9223372036854775807 union all select n + 1 from t) select * from t', 71, 'n + 1'),
    ('with recursive t(n) as (select 1 union all select n from t) search depth first by n set o select * from t', 61, 'SEARCH'),]


def executors(line):
    return json.loads(line.must('executors', '--json'))


def until(line, test, what):
    """Wait for a state of the executors."""
    end = time.monotonic() + PATIENCE_S
    while not test(executors(line)):
        assert time.monotonic() < end, f'{what}: {executors(line)}'


def rows(line, statement, *options):
    return json.loads(line.must('sql', '--json', *options, statement))


def check_killed(line):
    """Its subtask runs again elsewhere, from the beginning."""
    statement = ('with recursive t(n, m) as (select 0, 1 union all select n + 1, (m * 5 + 3) % 1000003 from t where n < 20000) '
                 'select count(*) as c, max(n) as n, sum(m) as m from t')
    want = rows(line, statement)
    assert want[0]['c'] == 20001
    killed = []
    for _ in range(20):  # it may be done before somebody looks
        if len(killed) == 2:
            break
        with subprocess.Popen([line.granary, 'sql', '--json', '--no-recall', statement], env=line.environment, stdout=subprocess.PIPE, text=True) as process:
            busy = []
            while not busy and process.poll() is None:
                busy = [row['pid'] for row in executors(line) if row['phase'] == 'run' and row.get('pid')]
            for pid in busy[:1]:
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                except ProcessLookupError:
                    pass
            assert json.loads(process.communicate()[0]) == want
            assert process.returncode == 0
    assert killed
    print(f'{len(killed)} executors killed')


def check_interrupted(line):
    """Ctrl-C stops it in its round: the executor lives and has nothing to do."""
    until(line, lambda all: len(all) == 2 and all_idle(all), 'nothing at work')
    before = {row['pid'] for row in executors(line)}
    with subprocess.Popen([line.granary, 'sql', ENDLESS], env=line.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(line, lambda all: any(row['phase'] == 'run' for row in all), 'a recursion at work')
        process.send_signal(signal.SIGINT)
        message = process.communicate()[1]
    assert process.returncode != 0 and 'interrupted' in message, message
    until(line, all_idle, 'stopped')
    assert {row['pid'] for row in executors(line)} == before
    graphs = json.loads(line.must('graphs', '--json'))
    assert graphs == [], graphs


def all_idle(all):
    return all and {row['phase'] for row in all} == {'idle'}


def check_memory(line):
    """Without an end it takes half of the store's memory, and then says so."""
    ended = line.call('sql', 'with recursive t(n) as (select x from range(10000) r(x) union all select n + 1 from t) select count(*) from t')
    for words in ('line 1, column 16', 'rounds', 'it can take 16.0 MiB', 'does it ever end'):
        assert ended.returncode != 0 and words in ended.stderr, ended.stderr
    ended = line.call('sql', 'with recursive t(n) as (select x from range(10000) r(x) union select n + 10000 from t) select count(*) from t')
    assert ended.returncode != 0 and 'does it ever end' in ended.stderr, ended.stderr
    until(line, all_idle, 'failed')


def check_ended(line):
    """LIMIT ends it where it stands on its rows."""
    assert [row['n'] for row in rows(line, 'with recursive t(n) as (select 1 union all select n + 1 from t) select n from t limit 5')] == [1, 2, 3, 4, 5]
    assert [row['m'] for row in rows(line, 'with recursive t(n) as (select 1 union all select n * 2 from t) select n + 1 as m from t limit 4')] == [2, 3, 5, 9]
    statement = 'with recursive t(n) as (select 1 union all select n + 1 from t where n < 9) select n from t order by n desc limit 2'
    assert [row['n'] for row in rows(line, statement)] == [9, 8]


def check_refused(line):
    for statement, column, words in REFUSED:
        ended = line.call('sql', statement)
        assert ended.returncode != 0, statement
        assert f'line 1, column {column}:' in ended.stderr and words in ended.stderr, f'{statement}: {ended.stderr}'


def check_recalled(line):
    """The body is a part of what is known of a recursion."""
    first = 'with recursive t(n) as (select 1 union all select n + 1 from t where n < 50) select sum(n) as s from t'
    other = first.replace('n + 1', 'n + 2')
    assert rows(line, first) == [{'s': 1275}]
    shown = line.must('sql', '--explain', first)
    assert 'recalled' in shown, shown
    assert rows(line, first) == [{'s': 1275}]
    assert rows(line, other) == [{'s': 676}]
    assert rows(line, first.replace('union all', 'union')) == [{'s': 1275}]


def check_shown(line):
    statement = ('with recursive r(a, b) as (select x, x + 1 from range(4) v(x) union select r.a, e.b from r join (select x as a, x * 2 as b from range(9) w(x)) e '
                 'on r.b = e.a) select count(*) as c from r')
    shown = line.must('sql', '--explain', '--no-recall', statement)
    for words in ('round_rows', 'recurse', 'runs', 'join_probe(round, input', '{join_build(input'):
        assert words in shown, shown
    graph = json.loads(line.must('sql', '--graph', statement))
    ops = [node['op'] for node in (graph['nodes'].values() if isinstance(graph['nodes'], dict) else graph['nodes'])]
    assert 'round_rows' in ops and 'recurse' in ops
    with open(os.path.join(line.base, 'graph.json'), 'w', encoding='utf-8') as file:
        json.dump(graph, file)
    assert rows(line, statement)[0]['c'] == json.loads(line.must('run', '--json', '--discard', os.path.join(line.base, 'graph.json')))['result'][0]['c']


def main():
    os.environ.pop('GRANARY_RECALL', None)
    with CommandLine(sys.argv[1], memory='32M') as line:
        check_refused(line)
        check_ended(line)
        check_recalled(line)
        check_shown(line)
        check_memory(line)
        check_interrupted(line)
        check_killed(line)


main()
