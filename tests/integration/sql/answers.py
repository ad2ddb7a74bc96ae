#!/usr/bin/python3
"""Statements with the answers other engines agree on, where semantics.py has no engine to ask.

    answers.py BIN_DIRECTORY

Each is a statement in a line, then its rows as CSV without the heading, or `error: ` and what the message must say.
Rows are compared in order.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

binaries = pathlib.Path(sys.argv[1]).resolve()

# Loaded: what is stored has zones, which filters look at.
TABLES = {
    'f': 'i,x\n1,0.0\n2,-0.0\n3,\n4,nan\n5,nan\n7,7.0\n',
    'big': 'i,d,u\n9007199254740993,12345678901234567.89,18446744073709551615\n9007199254740995,0.10,9223372036854775808\n',
}
DTYPES = {'big': ['d=decimal(2)', 'u=uint64']}

ANSWERS = r"""
select 1.005::decimal(10,2), 12345678901234567.89::decimal(38,2), 2.5::int, 1.10::text, 9007199254740993.0::bigint
1.01,12345678901234567.89,3,1.10,9007199254740993

select 12345678901234567890123456789012345678::decimal(38,0), 18446744073709551615, -18446744073709551615, 18446744073709551615 % 10
12345678901234567890123456789012345678,18446744073709551615,-18446744073709551615,5

select 12345678901234567.89 - 12345678901234567.88, 0.99999999999999999999 = 1, 12345678901234567890 + 1
0.01,false,12345678901234567891

select i from big where i > 9007199254740992e0
9007199254740993
9007199254740995

select i from big where i = 9007199254740993.0 or i in (9007199254740995.0, 1.5)
9007199254740993
9007199254740995

select i from big where i between 9007199254740992.5 and 9007199254740993.5
9007199254740993

select i from big where i = 9007199254740992.99999 or i::double in (9007199254740993)

select d from big where d = 12345678901234567.89 or d in (0.1000, 2.00000000000000000000)
12345678901234567.89
0.10

select d from big where d > 12345678901234567.885
12345678901234567.89

select u from big where u >= 9223372036854775809 or u in (9223372036854775808)
18446744073709551615
9223372036854775808

select 99.94::decimal(3,1), 1e20::decimal(38,2), 'inf'::real
99.9,100000000000000000000.00,inf

select 1000::decimal(2,1)
error: 1000 is no decimal(2, 1)

select v::decimal(3,1) from (values (99.94),(99.95)) t(v)
error: 99.95 is no decimal(3, 1)

select 10::decimal(2,3)
error: a decimal has 1 to 38 digits

select 1e300::real
error: is no float32

select v::real from (values (1e300::double), (1)) t(v)
error: 1e+300 is no float32

select '1e999'::double
error: '1e999' is no float64

select min(j) over w, max(j) over w, sum(j) over w, avg(j) over w, avg(j) over () from (values (9007199254740993),(9007199254740995)) t(j) window w as (order by j rows 1 preceding) order by 1, 2
9007199254740993,9007199254740993,9007199254740993,9007199254740992.0,9007199254740994.0
9007199254740993,9007199254740995,18014398509481988,9007199254740994.0,9007199254740994.0

select i, min(s) over w, max(d) over w, count(*) over w from (values (1,'b',1.5::decimal(3,1)),(2,'a',1.4),(3,null,null),(4,null,null)) t(i,s,d) window w as (order by i rows 1 preceding) order by i
1,b,1.5,1
2,a,1.5,2
3,a,1.4,2
4,,,2

select i, count(*) over (partition by x), rank() over (order by x), sum(i) over (order by x), count(*) over (partition by x, i > 2, x) from f order by i
1,2,1,3,2
2,2,1,3,2
3,1,6,22,1
4,2,4,19,2
5,2,4,19,2
7,1,3,10,1

select x, x = -0.0 from (select distinct x from f) t order by x
0.0,true
7.0,false
nan,false
,

select count(*) from (select x from f union select -x from f) t
5

select distinct on (x) i from f order by x, i
1
7
4
3

select i from f where x in (select -x from f) order by i
1
2
4
5

select i from f order by x desc, i
4
5
7
1
2
3

select i from f order by x nulls first, i limit 4
3
1
2
7

select i, row_number() over (order by x desc nulls first, i) from f order by 2
3,1
4,2
5,3
7,4
1,5
2,6

select 1 from f where x = 1 and x > date '2020-13-01'
error: line 1, column 35: '2020-13-01' is no date

select 'a' || i from f
error: '||' joins two strings, not string ('a') and int64 (`i`)

select avg(distinct x) from f
error: DISTINCT in 'avg' is not supported

select 1 limit 1 + 1
error: line 1, column 16: LIMIT needs a whole number as written

select grouping(x) from f group by x
error: line 1, column 8: an expression of this form is not supported

values (1), (2, 3)
error: line 1, column 14: VALUES: row 2 has 2 values

with a as (select 1), A as (select 2) select * from a
error: line 1, column 23: two queries of WITH are called 'a'

select * from beside
error: line 1, column 15: no table 'beside': there is a file 'beside.csv', write its name with the ending

select * from beside.csv
1
"""


def blocks():
    yield 'select i from f where ' + ' and '.join(f'i <> {n}' for n in range(10, 310)) + ' limit 0', []
    yield f"select 1 where 1 in ({', '.join(map(str, range(20000)))})", ['error: line 1, column 18: more than 4096 operands']
    for block in ANSWERS.strip().split('\n\n'):
        statement, *answer = block.strip().splitlines()
        yield statement, answer


class Instance:
    def __init__(self):
        self.base = tempfile.mkdtemp(prefix='granary-answers-')
        self.environment = {**os.environ, 'GRANARY_INSTANCE': self.base + '/instance'}
        self.up = subprocess.Popen([binaries / 'granary', 'up', '--executors', '2', '--memory', '256M', '--state', 'memory',
                                    '--spill-dir', self.base + '/spill'], env=self.environment, stdout=subprocess.PIPE, text=True)
        self.up.stdout.readline()
        pathlib.Path(self.base, 'beside.csv').write_text('a\n1\n')
        for name, text in TABLES.items():
            path = pathlib.Path(self.base, f'{name}.csv')
            path.write_text(text)
            dtypes = [word for dtype in DTYPES.get(name, []) for word in ('--dtype', dtype)]
            ended = self.call('load', *dtypes, name, path)
            assert ended.returncode == 0, ended.stderr

    def call(self, *arguments):
        return subprocess.run([binaries / 'granary', *arguments], env=self.environment, cwd=self.base, capture_output=True, text=True)

    def down(self):
        self.call('down')
        self.up.wait()
        shutil.rmtree(self.base, ignore_errors=True)


def differs(instance, statement, answer):
    """What is different, or None."""
    ended = instance.call('sql', '--csv', '--discard', statement)
    if answer and answer[0].startswith('error: '):
        said = ended.stderr.strip()
        return None if ended.returncode != 0 and answer[0][7:] in said else f'no such error: {said or ended.stdout}'
    if ended.returncode != 0:
        return ended.stderr.strip()
    got = ended.stdout.splitlines()[1:]
    return None if got == answer else f'{got}, expected {answer}'


instance = Instance()
wrong = 0
count = 0
try:
    for statement, answer in blocks():
        count += 1
        what = differs(instance, statement, answer)
        if what is not None:
            print(f'{statement}\n  {what}', flush=True)
            wrong += 1
finally:
    instance.down()
print(f'{count - wrong} of {count} statements answered')
sys.exit(1 if wrong else 0)
