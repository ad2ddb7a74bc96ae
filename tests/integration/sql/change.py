#!/usr/bin/python3
"""Statements that change tables, against SQLite (Python's own): random ones, then what they must refuse, and with which words.

    change.py BIN_DIRECTORY
"""
import collections
import json
import pathlib
import random
import sqlite3
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

binaries = pathlib.Path(sys.argv[1]).resolve()
dice = random.Random(15)
STATEMENTS = 150

WORDS = ["'ant'", "'it''s'", "''", "'漢字'", 'null']
CONDITIONS = ['a > {n}', 'a is null', "b like '%t%'", 'c < {n}.5 or a = {n}', 'a in ({n}, {m})', 'not (a > {n} and c > {m})', 'b is not null',
              'a = (select max(a) from t)', 'a in (select a from u where a > {n})', 'true']
SETS = ['a = a + 1', 'a = {n}, b = {word}', 'b = {word}', 'c = a * 0.5', 'a = -a, c = null', "b = case when a > {n} then {word} else b end", 'c = c + a']
INSERTS = ['insert into t values ({n}, {word}, {m}.25)', 'insert into t (b, a) values ({word}, {n}), ({word}, {m}), (null, null)',
           'insert into t (a) select a + {n} from u', 'insert into t select * from t where a = {n}', 'insert into u values ({n}), ({m})',
           'insert into t (c, a) select avg(a), count(*) from u group by a']


def statement():
    pick = dice.random()
    if pick < .5:
        text = dice.choice(INSERTS)
    elif pick < .75:
        text = f'update t set {dice.choice(SETS)}' + (f' where {dice.choice(CONDITIONS)}' if dice.random() < .9 else '')
    else:
        text = f'delete from {dice.choice(["t", "t", "u"])} where a > {{n}} and a < {{m}}' if dice.random() < .5 else \
            f'delete from t where {dice.choice(CONDITIONS[:-1])} and a % 3 = {{n}} % 3'
    while '{' in text:
        text = text.replace('{n}', str(dice.randrange(-5, 12)), 1).replace('{m}', str(dice.randrange(0, 9)), 1).replace('{word}', dice.choice(WORDS), 1)
    return text


def rows_of(rows):
    return collections.Counter(tuple(float(v) if isinstance(v, (int, float)) else v for v in row) for row in rows)


class Tables(CommandLine):
    def sql(self, text):
        return self.must('sql', text)

    def rows(self, text):
        return [tuple(row.values()) for row in json.loads(self.must('sql', '--json', text))]

    def refuse(self, text, *words):
        ended = self.call('sql', text)
        if ended.returncode == 0:
            return f'{text}: it was done'
        missing = [word for word in words if word not in ended.stderr]
        return f'{text}: no {missing} in: {ended.stderr}' if missing else None


def check_random(tables):
    other = sqlite3.connect(':memory:')
    for text in ('create table t (a bigint, b text, c double precision)', 'create table u (a bigint)'):
        tables.sql(text)
        other.execute(text)
    pasts = []
    for number in range(STATEMENTS):
        text = statement()
        done = json.loads(tables.must('sql', '--json', text))
        count = other.execute(text).rowcount
        if done['rows'] != count:
            return f'{number}: {text}: {done["rows"]} rows, {count} expected'
        want = rows_of(other.execute('select * from t').fetchall())
        if number % 5 == 0 and rows_of(tables.rows('select * from t')) != want:
            return f'{number}: {text}: {rows_of(tables.rows("select * from t"))}, {want} expected'
        if done['time'] > 0 and number % 10 == 0:
            pasts.append((done['time'], want))
    for time, want in pasts:
        if rows_of(tables.rows(f'select * from at(t, {time})')) != want:
            return f'at {time}: other rows than there were'
    return None


def check_types(tables):
    columns = 'i smallint, j integer, k bigint, u uinteger, f real, g double precision, d decimal(10, 2), b boolean, s text, day date, at timestamp'
    tables.sql(f'create table kinds ({columns})')
    tables.sql("insert into kinds values (1, 2, 3, 4, 0.5, 0.25, 12.345, true, 'x', '2020-02-29', '2020-02-29 12:00:00'), "
               '(null, null, null, null, null, null, null, null, null, null, null)')
    tables.sql("update kinds set d = 7, day = day + interval '1 day', at = timestamp '2021-01-01 00:00:00', s = i::text || s where i = 1")
    got = tables.rows('select * from kinds where i = 1') + tables.rows('select * from kinds where i is null')
    want = [(1, 2, 3, 4, 0.5, 0.25, got[0][6], True, '1x', '2020-03-01', '2021-01-01T00:00:00'), (None,) * 11]
    if got != want or float(got[0][6]) != 7:
        return f'{got}, {want} expected'
    tables.sql('create table copied as select * from kinds')
    if tables.rows('select * from copied') != tables.rows('select * from kinds'):
        return 'a copy has other rows'
    tables.sql("insert into copied select * from kinds where i = 1")
    return None if tables.rows('select count(*) from copied') == [(3,)] else 'a copy does not take rows'


def check_refusals(tables):
    tables.sql('create table r (a int, b text)')
    tables.sql('insert into r values (1, null)')
    tables.must('table', 'create', 'other', 'a:int64')
    tables.must('tensor', 'create', 'cube', '--shape', '3', '--dtype', 'int64')
    (pathlib.Path(tables.base) / 'file.csv').write_text('a\n1\n')
    tables.must('load', 'loaded', 'file.csv')
    tables.sql('create table sealed (a int)')
    tables.sql("call seal('sealed')")
    cases = [
        ('insert into nobody values (1)', "line 1, column 13: there is no table 'nobody'"),
        ('delete from nobody', "there is no table 'nobody'"),
        ('drop table nobody', "line 1, column 12: there is no table 'nobody'"),
        ('drop table r, /* and, */ "nobody"', "line 1, column 26: there is no table 'nobody'"),
        ('create temp table x (a int)', 'column 19: TEMP or UNLOGGED of a table is not supported'),
        ('create unlogged table x as select 1', 'TEMP or UNLOGGED of a table is not supported'),
        ('create table x (a int) on commit drop', 'ON COMMIT is not supported'),
        ('insert into loaded values (1)', "table 'loaded' does not change"),
        ('update cube set a = 1', "'cube' is a tensor"),
        ('select * from cube', "'cube' is a tensor"),
        ('insert into sealed values (1)', 'it was sealed, as object'),
        ('update sealed set a = 1', 'it was sealed'),
        ("call seal('sealed')", 'it was sealed'),
        ('insert into r (a, c) values (1, 2)', "line 1, column 19: table 'r' has no column 'c'"),
        ('update r set c = 1', "column 14: table 'r' has no column 'c'"),
        ('update r set a = c', "column 18: no column 'c'"),
        ('delete from r where c = 1', "column 21: no column 'c'"),
        ('insert into r values (1, 2, 3)', '2 columns need as many values, and not 3'),
        ('insert into r (a, b) values (1)', '2 columns need as many values, and not 1'),
        ('insert into r (a, a) values (1, 1)', "column 'a' is named twice"),
        ("insert into r values ('x')", "column 23: row 1, column 'a': 'x' is no int32"),
        ('insert into r values (3000000000)', "column 23: row 1, column 'a': 3000000000 is no int32"),
        ("insert into r (b, a) values (null, null), ('x', 1), ('y', 3000000000)", "column 59: row 3, column 'a': 3000000000 is no int32"),
        ("insert into r values (1), ('7'), ('x')", "column 35: row 3, column 'a': 'x' is no int32"),
        ('insert into r values (1), (2 + 3000000000)', "row 2, column 'a': 3000000002 is no int32"),
        ("insert into r (b, a) select 'x', 3000000000 from r", "column 34: column 'a': 3000000000 is no int32"),
        ('update r set a = a + 3000000000', 'is no int32'),
        ('create table r (a int)', "table 'r': the name is taken"),
        ('create table r as select 1 as x', "table 'r': the name is taken"),
        ('create table loaded (a int)', "taken by a graph"),
        ('create table loaded as select 1 as x', "taken by a graph"),
        ('create table x (a int, a int)', "column 'a' is named twice"),
        ('create table x (a nonsense)', "type 'nonsense' is not supported"),
        ('create table x (a int not null)', 'a constraint of a table is not supported'),
        ('create table x ()', 'needs columns'),
        ('create table x (a int) with (durable = soon)', "'soon' is not none, commit, or an interval"),
        ('create table x (a int) with (fillfactor = 70)', 'column 30: a table has one option'),
        ('create table x (a, b) as select 1', '2 names for 1'),
        ('insert into r values (default)', 'column 23'),
        ('insert into r default values', 'DEFAULT VALUES is not supported'),
        ('insert into r values (1) returning a', 'RETURNING is not supported'),
        ('insert into r values (1) on conflict do nothing', 'ON CONFLICT is not supported'),
        ('delete from r using r as q where true', 'USING is not supported'),
        ('update r set a = 1 from loaded', 'FROM in UPDATE is not supported'),
        ('truncate r, r', 'TRUNCATE of several tables'),
        ('vacuum r', 'nothing to vacuum'),
        ('call nothing(1)', "anything but seal('TABLE')"),
        ('drop view r', "'r' is a table or an object, and no view"),
        ('drop index r', 'anything but tables and views'),
        ('insert into r selec 1', 'syntax error'),
        ('select * from at(nobody, 1)', "no mutable table 'nobody'"),
        ('select * from at(loaded, 1)', "no mutable table 'loaded'"),
        ("select * from at(r, 'soon')", 'at() needs a moment'),
        ('select * from at(r)', 'at() needs a table and a moment'),
        ('select * from at(1, 2)', 'at() needs the name of a table'),
        ("select * from at(r, timestamp '2200-01-01 00:00:00')", 'later than the clock'),
    ]
    wrong = [tables.refuse(*case) for case in cases]
    ended = tables.call('load', 'r', 'file.csv')
    wrong.append(None if 'has the name' in ended.stderr else f'load r: {ended.stderr}')
    ended = tables.call('load', '--replace', 'r', 'file.csv')
    wrong.append(None if 'has the name' in ended.stderr else f'load --replace r: {ended.stderr}')
    ended = tables.call('sql', '--keep', 'r', 'select 1 as x')
    wrong.append(None if 'has the name' in ended.stderr else f'sql --keep r: {ended.stderr}')
    ended = tables.call('table', 'create', 'loaded', 'a:int64')
    wrong.append(None if 'taken by a graph' in ended.stderr else f'table create loaded: {ended.stderr}')
    if tables.rows('select * from r') != [(1, None)]:
        wrong.append('a statement that was refused has changed the table')
    tables.sql('drop table r, loaded, sealed, other, cube')
    tables.sql('drop table if exists r')
    wrong.append(tables.refuse('select * from r', "no table 'r'"))
    return '\n'.join(text for text in wrong if text is not None) or None


def check_values(tables):
    """Values become their columns' dtypes one by one, and as many rows as VALUES can have stay in order."""
    tables.sql('create table "Od""d na.me" ("Se lect" int, "q""q" text, day date)')
    tables.sql("""insert into "Od""d na.me" ("q""q", "Se lect", day) values (1, '7', '2020-01-02'), ('it''s', 8, date '2020-01-03'), (null, null, null)""")
    tables.sql("""update "Od""d na.me" set "q""q" = "q""q" || '"' where "Se lect" = 8""")
    got = tables.rows('select * from "Od""d na.me"')
    if got != [(7, '1', '2020-01-02'), (8, 'it\'s"', '2020-01-03'), (None, None, None)]:
        return f'{got} of values of several types'
    tables.sql('delete from "Od""d na.me"')
    tables.sql('insert into "Od""d na.me" values ' + ', '.join(f"({i}, {i}, '2020-01-{i % 28 + 1:02}')" for i in range(1000)))
    got = tables.rows('select * from "Od""d na.me"')
    return None if got == [(i, str(i), f'2020-01-{i % 28 + 1:02}') for i in range(1000)] else f'{len(got)} rows of 1000, or others'


def check_drop(tables):
    """All tables of a statement are dropped, or none."""
    tables.sql('create table one (a int)')
    tables.sql('create table two (a int)')
    wrong = tables.refuse('drop table one, nobody, two', "there is no table 'nobody'")
    if wrong is None and tables.rows('select * from one') + tables.rows('select * from two') == []:
        tables.sql('drop table if exists one, nobody, two, two')
        wrong = tables.refuse('select * from one', "no table 'one'") or tables.refuse('select * from two', "no table 'two'")
    return wrong


def check_meanwhile(tables):
    """DELETE and UPDATE change what they saw: rows that are appended meanwhile stay for the next one."""
    tables.sql('create table m (a bigint, seen bigint)')
    appended, gone = 3 * 20, 0
    threads = [threading.Thread(target=lambda: [tables.sql('insert into m values (1, 0)') for _ in range(20)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        tables.sql('update m set seen = seen + 1')
        gone += json.loads(tables.must('sql', '--json', 'delete from m where seen > 0'))['rows']
    for thread in threads:
        thread.join()
    left = tables.rows('select count(*) from m')[0][0]
    return None if gone + left == appended else f'{appended} rows: {gone} deleted and {left} left'


def check_durable(tables):
    """An instance that went down and came up has what it was promised to have."""
    tables.sql("create table kept (a int) with (durable = commit)")
    tables.sql("create table lost (a int)")
    tables.sql('insert into kept values (1), (2)')
    tables.sql('update kept set a = 3 where a = 2')
    tables.must('down')
    tables.up()
    if sorted(tables.rows('select * from kept')) != [(1,), (3,)]:
        return f'after down and up: {tables.rows("select * from kept")}'
    tables.sql('insert into kept values (4)')
    tables.sql('drop table kept')
    return tables.refuse('select * from lost', "no table 'lost'") or tables.refuse('select * from kept', "no table 'kept'")


def check_turns(tables):
    """Two at a time add to the same number."""
    tables.sql('create table n (a bigint)')
    tables.sql('insert into n values (0)')

    def add():
        for _ in range(10):
            tables.sql('update n set a = a + 1')

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = tables.rows('select a from n')
    return None if rows == [(30,)] else f'30 times 1 are {rows}'


def check_one_moment(tables):
    """A table that grows is the same one wherever a statement reads it."""
    tables.sql('create table grows (a bigint)')
    tables.sql('insert into grows values (0)')
    time = json.loads(tables.must('sql', '--json', 'insert into grows values (0), (0)'))['time']
    stop = threading.Event()

    def grow():
        while not stop.is_set():
            tables.sql('insert into grows values (-1)')

    thread = threading.Thread(target=grow)
    thread.start()
    wrong = None
    for _ in range(8):
        done = json.loads(tables.must('sql', '--json', 'update grows set a = (select count(*) from grows)'))
        counts = tables.rows(f'select a, count(*) from at(grows, {done["time"]}) where a > 0 group by a')
        if (done['rows'], done['rows']) not in counts:
            wrong = f'{done["rows"]} rows were updated; at that time there are {counts}'
    stop.set()
    thread.join()
    tables.sql(f'update grows set a = (select count(*) from at(grows, {time}))')
    return wrong or (None if tables.rows('select distinct a from grows') == [(3,)] else 'the past was not read as it was')


def check_nothing_left(tables):
    kept = tables.must('graphs', '--json')
    return None if json.loads(kept) == [] else f'graphs are left: {kept}'


wrong = 0
with Tables(binaries) as tables:
    for check in (check_random, check_types, check_values, check_refusals, check_drop, check_turns, check_meanwhile, check_one_moment, check_nothing_left, check_durable):
        differs = check(tables)
        if differs is not None:
            print(f'{check.__name__}: {differs}', flush=True)
            wrong += 1
sys.exit(1 if wrong else 0)
