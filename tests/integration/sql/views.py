#!/usr/bin/python3
"""Views, and the statements that tell of tables: what they give, what is refused with which words, and what other processes see.

    views.py BIN_DIRECTORY
"""
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine


class Views(CommandLine):
    def sql(self, text):
        return self.must('sql', text)

    def rows(self, text):
        return [tuple(row.values()) for row in json.loads(self.must('sql', '--json', text))]

    def same(self, text, rows):
        got = self.rows(text)
        assert got == rows, f'{text}: {got}, not {rows}'

    def refuse(self, text, *words):
        ended = self.call('sql', text)
        assert ended.returncode != 0, f'{text}: it was done'
        assert all(word in ended.stderr for word in words), f'{text}: no {words} in: {ended.stderr}'


def views(at):
    at.sql('create table t (id int, name text)')
    at.sql("insert into t values (1, 'ant'), (2, 'bee'), (3, null)")
    at.sql('create view v as select id * 10 as tens, name from t where id > 1 -- to the end')
    at.same('select * from v order by tens', [(20, 'bee'), (30, None)])
    at.sql("insert into t values (4, 'cow')")
    at.same('select count(*) from v', [(3,)])  # it sees the table as it is now
    at.same('select a.tens from v a join v b on a.tens = b.tens and b.name is not null order by 1', [(20,), (40,)])
    at.same('with t as (select 100 as id, 0 as name) select count(*) from v', [(3,)])  # and nothing of the statement around it
    at.sql('create view w (x, "Y y") as with q as (select * from v) select max(tens), count(name) from q;')
    at.same('select "Y y", x from w', [(2, 40)])
    at.same('select x from w where x in (select tens from v)', [(40,)])
    at.sql("create or replace view v as select 1 as tens, $$;'$$ as name")
    at.same('select * from w', [(1, 1)])
    at.sql('create view if_any as select 1 as a')
    at.sql('create table copied as select * from w')
    at.same('select x from copied', [(1,)])
    at.sql('insert into t select tens, name from v')
    at.same("select count(*) from t where name = ';'''", [(1,)])
    at.sql('drop view if_any, w')
    at.refuse('select * from w', "no table 'w'")
    at.sql('drop view if exists w')
    at.same('show tables', [('copied', 'table'), ('t', 'table'), ('v', 'view')])
    at.sql('create temp view temporary as select 2 as two')
    at.same('select * from temporary', [(2,)])
    at.sql('drop view temporary')


def refusals(at):
    at.sql('create or replace view v as select id from t')
    at.sql('create view u as select * from v')
    for text, words in (
            ('create view v as select 1', ["view 'v' is there", 'CREATE OR REPLACE VIEW']),
            ('create view t as select 1', ["'t' is a table or an object, and no view"]),
            ('create table v (a int)', ["'v'", 'taken']),
            ('create or replace table v as select 1', ["'v' is no table"]),
            ('create or replace view v as select * from u', ["view 'v' is a part of itself"]),
            ('create or replace view v as select * from v', ["view 'v' is a part of itself"]),
            ('create view x as select nosuch from t', ['line 1, column 25', "no column 'nosuch'"]),
            ('create view x (a, b) as select 1', ['1 columns, but 2 names']),
            ('create view x (a, a) as select 1', ["column 'a' is named twice"]),
            ('create view x as select 1 with check option', ['CHECK OPTION']),
            ('create view "a/b" as select 1', ['is no name for a view']),
            ('drop view nosuch', ["there is no view 'nosuch'"]),
            ('drop table v', ["'v' is a view: DROP VIEW"]), ('insert into v values (1)', ['no table']), ('delete from v', ['no table']),
            ('select v.id from v, v', ["two tables in FROM are called 'v'"]),
            ('describe', ['of what?']), ('summarize nosuch', ["no table 'nosuch'"]), ('describe select from where', ['syntax error']),
            ('create or replace table if not exists t (a int)', ['write one of them']),
            ('insert into t default values', ['DEFAULT VALUES is not supported']),
            ('rollback', ['each statement is a transaction']), ('SET threads = 4', ['no settings']), ('execute p', ['--param'])):
        at.refuse(text, *words)
    at.sql('drop table t')
    at.refuse('select * from u', "in view 'v': no table 't'", 'select * from u')
    at.sql('create table t (id int, name text)')
    at.sql('drop view u, v')
    at.sql('create view v0 as select 1 as a')
    for i in range(64):
        at.sql(f'create view v{i + 1} as select * from v{i}') if i < 63 else at.refuse('create view v64 as select * from v63', 'more than 64 views')
    at.same('select * from v62', [(1,)])
    at.must('sql', '; '.join(f'drop view v{i}' for i in range(64)))


def told(at):
    at.sql("create or replace table t as select * from (values (1, 'a', true, 1.5), (2, 'b', false, null), (4, 'b', null, 2.5)) v(n, s, b, d)")
    at.same('describe t', [('n', 'int64'), ('s', 'string'), ('b', 'bool'), ('d', 'decimal(1)')])
    at.same('describe select n + 0.5::double as x, s from t;', [('x', 'float64'), ('s', 'string')])
    rows = at.rows('summarize t')
    assert [row[:5] for row in rows] == [('n', 'int64', '1', '4', 3), ('s', 'string', 'a', 'b', 2), ('b', 'bool', None, None, 2),
                                         ('d', 'decimal(1)', '1.5', '2.5', 2)], rows
    assert [row[10] for row in rows] == [3] * 4 and [row[11] for row in rows] == [0.0, 0.0, 33.33, 33.33], rows
    assert rows[0][7:10] == (1.5, 2.0, 3.0) and abs(rows[0][5] - 7 / 3) < 1e-9 and abs(rows[0][6] - (7 / 3) ** .5) < 1e-9, rows
    assert len(at.rows('summarize select ' + ', '.join(f'{i} as c{i}' for i in range(300)))) == 300
    at.refuse('summarize select ' + ', '.join(f'{i} as c{i}' for i in range(1001)), 'at most', '1001')
    at.sql("create or replace table kinds as select * from (values ('b', 1), ('a', 2), ('b', 4)) v(k, x)")
    at.sql('create or replace table pivoted as pivot kinds on k using sum(x)')
    at.same('from pivoted', [(2, 5)])
    at.same('describe pivot kinds on k using sum(x)', [('a', 'int64'), ('b', 'int64')])
    at.refuse('create view found as pivot kinds on k using sum(x)', 'line 1, column 37', 'a view does not depend on data')
    at.refuse('pivot kinds on k using sum(k)', 'line 1, column 24', 'needs numbers')
    at.sql("insert into kinds values ('c', 8)")
    at.same('pivot kinds on k using sum(x)', [(2, 5, 8)])
    at.sql("truncate t")
    assert at.rows('summarize t')[0][10] == 0
    at.sql('create or replace table t (single int)')
    at.same('describe t', [('single', 'int32')])
    explained = at.must('sql', 'explain select * from t')
    assert explained == at.must('sql', '--explain', 'select * from t').replace(' at 1:15', ' at 1:23') or 'subtask' in explained


def together(at):
    """Of many that replace a view and a table at the same time each has its effect as a whole; what is left is of one of them."""
    at.sql('create or replace table many (a int)')
    at.sql('create view one as select 0 as a')
    failed = []

    def change(number):
        for i in range(8):
            for text in (f'create or replace view one as select {number} as a', f'create or replace table many as select {number} as a, {number} as b'):
                ended = at.call('sql', text)
                if ended.returncode != 0 and 'another' not in ended.stderr and 'bound' not in ended.stderr and 'name' not in ended.stderr:
                    failed.append(ended.stderr)
            if at.call('sql', 'select a from one').returncode != 0:
                failed.append('the view was not there')

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[:3]
    assert at.rows('select count(*) from one') == [(1,)] and at.rows('select a - b from many') == [(0,)]
    left = [name for name, _ in at.rows('show tables') if name.endswith(('-new', '-old'))]
    assert not left, left


def main():
    with Views(pathlib.Path(sys.argv[1]).resolve()) as at:
        for part in (views, refusals, told, together):
            part(at)
            print(part.__name__, flush=True)


main()
