#!/usr/bin/python3
"""Folders of files in statements: a condition on folders leaves files unopened, by the client, too; and what FROM says of files decides the
columns as it does for the operator.

    folders.py BIN_DIRECTORY
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine
from opened import Opened

binaries = pathlib.Path(sys.argv[1]).resolve()


class Folders(CommandLine):
    def path(self, name):
        return os.path.join(self.base, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(text)

    def rows(self, text):
        return [tuple(row.values()) for row in json.loads(self.must('sql', '--json', text))]

    def columns(self, text):
        return self.must('sql', '--csv', text).split('\n', 1)[0].split(',')

    def opened(self, folder, text):
        """The rows of a statement, and the files that were opened for it."""
        watch = Opened(self.path(folder))
        try:
            rows = self.rows(text)
            return rows, {os.path.relpath(name, self.path(folder)) for name in watch.names()}
        finally:
            watch.close()


def check_thousand(folders):
    """Of a thousand files those of one month are opened, by the client, the scheduler and the executors together."""
    for year in range(2000, 2010):
        for month in range(1, 11):
            for part in range(10):
                folders.write(f't/year={year}/month={month}/{part}.csv', f'a\n{year * month + part}\n')
    month = {f'year=2004/month=3/{part}.csv' for part in range(10)}
    total = sum(2004 * 3 + part for part in range(10))
    for where in ('year = 2004 AND month = 3', '2004 = year AND t.month IN (3)', 'year = 2004 AND (month = 3 AND a > 5 OR month = 3 AND a <= 5)',
                  'NOT (year <> 2004) AND month BETWEEN 3 AND 3 AND a > 0', 'year = 2004 AND month = 3 AND a IN (SELECT a FROM t_all)'):
        with_all = "WITH t_all AS (VALUES (6012), (6013), (6014), (6015), (6016), (6017), (6018), (6019), (6020), (6021)) " if 't_all' in where else ''
        where = where.replace('a FROM t_all', 'column1 FROM t_all')
        rows, opened = folders.opened('t', f"{with_all}SELECT sum(a), count(*) FROM 't/' WHERE {where}")
        assert rows == [(total, 10)] and opened == month, (where, rows, len(opened))
    rows, opened = folders.opened('t', "SELECT * FROM 't/' WHERE year = 1999")
    assert rows == [] and len(opened) == 1, opened
    rows, opened = folders.opened('t', "SELECT count(*), sum(year) FROM 't/*/*/*.csv' WHERE year = 2004 AND month = 3 AND a > 6015")
    assert rows == [(6, 12024)] and opened == month, (rows, opened)
    # Sides of joins: those whose rows stay, and those of inner joins; a table that is named twice is two.
    folders.write('names.csv', 'month,name\n3,March\n4,April\n')
    for join, where, most in (('JOIN', 't.year = 2004 AND t.month = 3', 10), ('LEFT JOIN', 't.year = 2004 AND t.month = 3', 10),
                              ('LEFT JOIN', "t.month = 3 AND year = 2004 AND name = 'March'", 10), ('SEMI JOIN', 'year = 2004 AND t.month = 3', 10)):
        rows, opened = folders.opened('t', f"SELECT count(*) FROM 't/' t {join} 'names.csv' n ON t.month = n.month WHERE {where}")
        assert rows == [(10,)] and len(opened) == most, (join, where, rows, len(opened))
    rows, opened = folders.opened('t', "SELECT count(*) FROM 'names.csv' n LEFT JOIN 't/' t ON t.month = n.month WHERE t.year IS NULL OR t.year = 2004")
    assert rows == [(20,)] and len(opened) == 1000, (rows, len(opened))
    rows, opened = folders.opened('t', "SELECT count(*) FROM 't/' a JOIN 't/' b USING (month) WHERE a.year = 2004 AND b.year = 2005 AND month = 3")
    assert rows == [(100,)] and len(opened) == 20, (rows, len(opened))
    rows, opened = folders.opened('t', "SELECT (SELECT count(*) FROM 't/' WHERE year = 2001 AND month = 1), (SELECT sum(a) FROM 't/' WHERE year = 2004 AND month = 3)")
    assert rows == [(10, total)] and len(opened) == 20, (rows, len(opened))


def check_columns(folders):
    """Columns are those of the files that are left in; a name that none of them has is looked for in the others."""
    folders.write('c/y=1/a.csv', 'a,b\n1,2\n')
    folders.write('c/y=2/a.csv', 'c,a\n3,4\n')
    assert folders.columns("SELECT * FROM 'c/' WHERE y = 1") == ['a', 'b', 'y']
    assert folders.columns("SELECT * FROM 'c/' WHERE y = 2") == ['c', 'a', 'y']
    assert folders.columns("SELECT * FROM 'c/'") == ['a', 'b', 'c', 'y']
    assert folders.rows("SELECT a, b, c FROM 'c/' WHERE y = 1") == [(1, 2, None)]
    assert folders.rows("SELECT p.c, q.b FROM 'c/' p, 'c/' q WHERE p.y = 2 AND q.y = 1") == [(3, 2)]
    assert folders.rows("SELECT p.b, q.c FROM 'c/' p, 'c/' q WHERE p.y = 2 AND q.y = 1") == [(None, None)]
    ended = folders.call('sql', "SELECT nothing FROM 'c/' WHERE y = 1")
    assert "no column 'nothing'" in ended.stderr, ended.stderr
    ended = folders.call('sql', "SELECT a + 'x' FROM 'c/' WHERE y = 1 AND b = 2")
    assert ended.returncode != 0 and 'line 1, column 10' in ended.stderr, ended.stderr
    folders.must('sql', "CREATE TABLE kept (a bigint, c bigint)")
    assert folders.must('sql', "INSERT INTO kept SELECT a, c FROM 'c/' WHERE y = 1") == 'INSERT 0 1\n'
    assert folders.rows('SELECT * FROM kept') == [(1, None)]
    assert folders.must('sql', "COPY (SELECT a, c FROM 'c/' WHERE y = 1) TO 'out.csv'") == 'COPY 1\n'


def check_options(folders):
    """What FROM says of files decides the columns, as it does for the operator."""
    folders.write('o/k=1/a.csv', 'a;k\n1;10\n')
    folders.write('o/k=2/a.csv', 'b;a\n2;20\n')
    folders.write('more.csv', 'z;a\n5;50\n')
    cases = {
        "'o/', delim = ';'": [(1, 1, None), (20, 2, 2)],
        "'o/', delim = ';', hive = false": [(1, 10, None), (20, None, 2)],
        "'o/', delim = ';', hive = 'true', dtypes = ARRAY['k string']": [(1, '1', None), (20, '2', 2)],
        "'o/', delim = ';', align = 'position'": [(1, 1), (2, 2)],
        "'o/', delim = ';', header = false": [('a', 'k', 1), ('1', '10', 1), ('b', 'a', 2), ('2', '20', 2)],
        "'o/', delim = ';', paths = ARRAY['more.csv']": [(1, 10, None, None), (20, None, 2, None), (50, None, None, 5)],
        "'more.csv', delim = ';', paths = ARRAY['o/k=2/a.csv']": [(5, 50, None), (None, 20, 2)],
        "'o/k=1/a.csv', delim = ';', hive = 'true'": [(1, 1)],
        "'o/k=1/a.csv', delim = ';', hive = 'auto'": [(1, 10)],
        "'o/k=1/a.csv', delim = ';', hive_partitioning = false": [(1, 10)],
        "'o/k=1/a.csv', delim = ';'": [(1, 1)],
        "'o/k=1/a.csv', delim = ';', filename = 'f'": [(1, 1, 'o/k=1/a.csv')],
        "'more.csv', delim = ';', also = ARRAY['q', 'a']": [(5, 50, None)],
        "'o/', sniff = true": [(1, 1, None), (20, 2, 2)],
    }
    for options, rows in cases.items():
        assert folders.rows(f'SELECT * FROM read_csv({options})') == rows, (options, folders.rows(f'SELECT * FROM read_csv({options})'))
    assert folders.rows("SELECT * FROM 'o/k=2/a.csv'") == [(2, 20, 2)]
    assert folders.rows("SELECT count(*) FROM read_csv('o/k=1/a.csv', delim = ';') WHERE k = 10") == [(0,)]
    assert folders.rows("SELECT * FROM 'o/' WHERE k > 0") == [(1, 1, None), (20, 2, 2)]
    assert folders.columns("SELECT * FROM read_csv('o/', delim = ';', header = false)") == ['c0', 'c1', 'k']
    ended = folders.call('sql', "SELECT k FROM read_csv('o/', delim = ';', dtypes = ARRAY['k date'])")
    assert "'1' is no date" in ended.stderr, ended.stderr
    ended = folders.call('sql', "SELECT * FROM read_csv('more.csv', paths = ARRAY['none*'])")
    assert 'no file matches' in ended.stderr, ended.stderr


def check_dtypes(folders):
    """What follows a file's strings becomes a string, and numbers become those that hold all, in lists, too."""
    for name, row in (('p1', "1 as a, [1, 2]::int[] as l, 'x' as s"), ('p2', "5000000000 as a, [5000000000] as l, 7 as s"), ('p3', "'4' as a, ['q'] as l, 'y' as s")):
        ended = folders.call('sql', f"copy (select {row}) to '{name}.parquet'")
        assert ended.returncode == 0, ended.stderr
    assert folders.rows("select a, list_sum(l), s from 'p[12].parquet' order by a") == [(1, 3, 'x'), (5000000000, 5000000000, '7')]
    assert folders.rows("select a, s from 'p[12].parquet' where s < '8'") == [(5000000000, '7')]
    assert folders.rows("select a from read_parquet(['p3.parquet', 'p1.parquet']) where a > '3'") == [('4',)]
    for files in ("'p2.parquet', 'p1.parquet'", "'p1.parquet', 'p3.parquet'"):
        ended = folders.call('sql', f'select a from read_parquet([{files}])')
        assert all(name.strip(" '") in ended.stderr for name in files.split(',')) and 'string' in ended.stderr, ended.stderr


def check_written(folders):
    """COPY ... PARTITION_BY, and what it says of a folder that is there."""
    rows = "(SELECT year, year % 2 AS odd, a FROM 't/' WHERE year < 2004)"
    assert folders.must('sql', f"COPY {rows} TO 'w' (FORMAT parquet, PARTITION_BY (year, odd))") == 'COPY 400\n'
    assert sorted(os.listdir(folders.path('w'))) == [f'year={year}' for year in range(2000, 2004)]
    assert os.listdir(folders.path('w/year=2001')) == ['odd=1'] and os.listdir(folders.path('w/year=2001/odd=1')) == ['part-0.parquet']
    total = folders.rows(f'SELECT count(*), sum(a), sum(year), sum(odd) FROM {rows} AS r')
    assert folders.rows("SELECT count(*), sum(a), sum(year), sum(odd) FROM 'w/'") == total
    ended = folders.call('sql', f"COPY {rows} TO 'w' (FORMAT parquet, PARTITION_BY (year))")
    assert "not empty" in ended.stderr and 'line 1' in ended.stderr, ended.stderr
    ended = folders.call('sql', f"COPY {rows} TO 'w' (FORMAT parquet, PARTITION_BY (year), OVERWRITE_OR_IGNORE)")
    assert 'OVERWRITE replaces the folder, APPEND adds' in ended.stderr, ended.stderr
    assert folders.must('sql', f"COPY {rows} TO 'w' (FORMAT parquet, PARTITION_BY (year, odd), APPEND)") == 'COPY 400\n'
    assert folders.rows("SELECT count(*) FROM 'w/'") == [(800,)]
    assert folders.must('sql', f"COPY {rows} TO 'w' (FORMAT csv, PARTITION_BY year, OVERWRITE true)") == 'COPY 400\n'
    assert folders.rows("SELECT count(*), sum(a), sum(year), sum(odd) FROM 'w/'") == total
    assert os.listdir(folders.path('w/year=2001')) == ['part-0.csv']
    assert folders.must('sql', f"COPY {rows} TO 'w' (FORMAT csv, PARTITION_BY (odd), APPEND false, OVERWRITE)") == 'COPY 400\n'
    assert not [name for name in os.listdir(folders.base) if 'granary-' in name]


with Folders(binaries) as folders:
    for check in (check_thousand, check_columns, check_options, check_dtypes, check_written):
        check(folders)
