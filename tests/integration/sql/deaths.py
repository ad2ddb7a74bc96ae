#!/usr/bin/python3
"""`granary sql` is killed in the midst of statements: they are done as a whole or not at all, and nothing of them is left.

    deaths.py BIN_DIRECTORY [STRIDE]

It dies where it comes to its n-th fault point; n grows by STRIDE.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

PATIENCE_S = 30
# The statement, what makes the table it changes, and the numbers that are in t if it was done, and if not.
STATEMENTS = [
    ('create table t as select x + 1 as x from s', None, [2, 3], None),
    ('insert into t select x from s', 'create table t (x bigint)', [1, 2], []),
    ('update t set x = x + 1', 'create table t as select x from s', [2, 3], [1, 2]),
    ('select x + 1 as x from s order by x', None, None, None),
    ('delete from t where x = 2', 'create table t as select x from s', [1], [1, 2]),
]


class Deaths(CommandLine):
    def ready(self):
        self.note = os.path.join(self.base, 'note')
        self.must('sql', 'create table s as select 1 as x union all select 2')
        self.before = self.objects()

    def listed(self, *arguments):
        return json.loads(self.must(*arguments, '--json'))

    def objects(self):
        return {row['id'] for row in self.listed('ls')}

    def tables(self):
        return sorted(row['name'] for row in self.listed('table', 'list'))

    def die(self, statement, point):
        """What a statement printed that was killed at a point, once the process beside it has ended, too. None: it never came there."""
        pathlib.Path(self.note).unlink(missing_ok=True)
        ours, theirs = os.pipe()
        faults = {'GRANARY_FAULT': f'cli/any:kill@{point}', 'GRANARY_FAULT_NOTE': self.note}
        with subprocess.Popen([self.granary, 'sql', statement], env={**self.environment, **faults}, cwd=self.base, stdout=subprocess.PIPE,
                              pass_fds=[theirs]) as process:
            os.close(theirs)
            printed = process.communicate()[0]
        while os.read(ours, 1):
            pass
        os.close(ours)
        if process.returncode not in (0, -signal.SIGKILL):
            raise RuntimeError(f'{statement}: status {process.returncode} at point {point}')
        return None if process.returncode == 0 else printed

    def rows(self):
        if 't' not in self.tables():
            return None
        return sorted(row['x'] for row in json.loads(self.must('sql', '--json', 'select x from t')))


def check(deaths, case, point):
    statement, first, done, not_done = case
    if first is not None:
        deaths.must('sql', first)
    printed = deaths.die(statement, point)
    where = f'{statement}: killed at point {point}'
    rows = deaths.rows()
    if rows not in (done, not_done) or (printed and rows != done):
        return False, f'{where}: {rows} is left, {printed} was told'
    if deaths.tables() != (['s'] if rows is None else ['s', 't']):
        return False, f'{where}: tables {deaths.tables()}'
    deaths.must('sql', 'drop table if exists t')
    graphs = deaths.listed('graphs')
    return printed is not None, f'{where}: graphs {graphs} are left' if graphs else None


def check_objects(deaths, statement):
    """Executors keep a table open for a moment, and the store looks after a dead client when it comes to that."""
    end = time.monotonic() + PATIENCE_S
    while (left := deaths.objects() - deaths.before):
        if time.monotonic() > end:
            return f'{statement}: objects {left} are left'
        time.sleep(0.1)
    return None


def main():
    stride = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    kills = 0
    with Deaths(pathlib.Path(sys.argv[1]).resolve()) as deaths:
        for case in STATEMENTS:
            point, goes_on = 1, True
            while goes_on:
                goes_on, wrong = check(deaths, case, point)
                if wrong is not None:
                    sys.exit(wrong)
                point += stride
                kills += goes_on
            wrong = check_objects(deaths, case[0])
            if wrong is not None:
                sys.exit(wrong)
    print(f'{kills} kills')
    return 0 if kills >= 4 else 1


if __name__ == '__main__':
    sys.exit(main())
