#!/usr/bin/python3
"""Files in statements: COPY in both directions, and read_csv() and its kin with each of their options.

    files.py BIN_DIRECTORY
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

binaries = pathlib.Path(sys.argv[1]).resolve()
ROWS = [(1, 'x, "y"', 1.5), (2, '漢字', None), (None, '', -2.0)]
# A value for a parameter of each kind, as a statement has it.
VALUES = {'string': "';'", 'bool': 'false', 'int': '3', 'number': '3', 'value': '3', 'ints': 'array[1]', 'bools': 'array[true]',
          'strings': "array['NA', '']", 'map': "array['n float64']"}


class Files(CommandLine):
    def sql(self, text):
        return self.must('sql', text)

    def rows(self, text):
        return [tuple(row.values()) for row in json.loads(self.must('sql', '--json', text))]

    def ready(self):
        self.sql('create table t (n bigint, s varchar, x double precision)')
        self.sql("insert into t values (1, 'x, \"y\"', 1.5), (2, '漢字', null), (null, '', -2.0)")

    def write(self, name, text):
        with open(os.path.join(self.base, name), 'w', encoding='utf-8') as file:
            file.write(text)

    def refuse(self, text, *words):
        ended = self.call('sql', text)
        assert ended.returncode != 0, f'{text}: it was done'
        missing = [word for word in words if word not in ended.stderr]
        assert not missing, f'{text}: no {missing} in: {ended.stderr}'


def operators():
    """The operators that read and write files of rows: name -> {parameter: kind}."""
    schema = json.loads(subprocess.run([binaries / 'granary', 'operators', '--json'], check=True, capture_output=True, text=True).stdout)
    found = {}
    for name in schema['$defs']:
        if name.startswith(('read_', 'write_')):
            text = subprocess.run([binaries / 'granary', 'operators', name], check=True, capture_output=True, text=True).stdout
            cells = [line.split('|') for line in text.splitlines() if line.startswith('| `')]
            found[name] = ({cell[1].strip(' `'): cell[2].strip(' `') for cell in cells if len(cell) == 6}, 'gives: frame' in text)
    return {name: parameters for name, (parameters, is_frame) in found.items() if is_frame and not name.endswith(('_npy', '_raw'))}


def check_round_trips(files, known):
    """Every format that is written is read again, by its ending and by its name, and COPY tells the rows."""
    formats = [name[len('write_'):] for name in known if name.startswith('write_')]
    assert {'csv', 'ndjson', 'arrow'} <= set(formats), formats
    for name in formats:
        assert files.sql(f"copy t to 'all.{name}'") == 'COPY 3\n'
        assert files.rows(f"select * from 'all.{name}'") == ROWS, name
        assert files.sql(f"copy (select s, n from t where n > 1) to 'some' (format {name})") == 'COPY 1\n'
        assert files.rows(f"select * from read_{name}('some')") == [('漢字', 2)], name
        assert files.sql(f"copy (select * from t where n > 5) to 'none.{name}'") == 'COPY 0\n'
        files.sql('create table u (n bigint, s varchar, x double precision)')
        assert files.sql(f"copy u from 'all.{name}'") == 'INSERT 0 3\n'
        assert files.rows('select * from u') == ROWS, name
        files.sql('drop table u')


def check_options(files, known):
    """Each parameter of each operator is an option; what it means is the operator's."""
    for name, parameters in known.items():
        verb, form = name.split('_')
        for parameter, kind in parameters.items():
            if parameter == 'path':
                continue
            files.sql(f"copy t to 'all.{form}'") if f'write_{form}' in known else None
            text = f"select * from {name}('all.{form}', \"{parameter}\" => {VALUES[kind]})" if verb == 'read' else \
                f"copy t to 'other' (format {form}, {parameter} {VALUES[kind].replace('array', '').replace('[', '(').replace(']', ')')})"
            ended = files.call('sql', text)
            assert 'has no option' not in ended.stderr and 'syntax' not in ended.stderr, f'{text}: {ended.stderr}'


def check_csv(files, known):
    files.write('s.csv', 'n;s\n1;a\n2;NA\n\n3;-\n')
    assert files.rows("select * from read_csv('s.csv', delimiter => ';', null_values => array['NA', '-'])") == [(1, 'a'), (2, None), (3, None)]
    assert files.rows("select n from read_csv('s.csv', delim = ';') as u where s = 'NA'") == [(2,)]
    assert files.rows("select c1, c0 from read_csv('s.csv', sep = ';', header = false)") == [('s', 'n'), ('a', '1'), ('NA', '2'), ('-', '3')]
    assert files.rows("select * from read_csv('s.csv', delimiter => ';', dtypes => array['n float64'])")[0] == (1.0, 'a')
    files.write('d.csv', "made by hand\n# more\nn|s\n1|'a|b'\n2\n")
    assert files.rows("select * from read_csv('d.csv', delim => '|', quote => '''', skip => 1, comment => '#', ragged => 'fill')") == [
        (1, 'a|b'), (2, None)]
    files.write('e.csv', 'n;x\n1;2,5\n2;3,25\n')
    assert files.rows("select sum(x) from read_csv('e.csv', sniff => true)") == [(5.75,)]
    # One file read in two ways is two tables.
    assert files.rows("select n, f from read_csv_auto(['s.csv', 's.csv'], delim = ';', filename => 'f') where s = 'NA'") == [(2, 's.csv')] * 2
    assert files.rows("select n from read_csv(['s.csv'], delim = ';') where n in [1, 0x3]") == [(1,), (3,)]
    files.refuse("select * from read_csv(['s.csv', 'gone.csv'], delim = ';')", 'gone.csv')
    files.refuse('select * from read_csv([])', "read_csv needs names of files: read_csv(['a.csv', 'b.csv'])")
    files.refuse("select * from read_csv_auto(['s.csv', 1])", 'read_csv_auto needs names of files')
    files.refuse("select * from read_csv(['s.csv', 's.csv'], paths => ['s.csv'])", "option 'paths' is given twice")
    assert files.rows("select count(*) from read_csv('s.csv', delim = ';') a, read_csv('s.csv', delim = ';', header = false) b") == [(12,)]
    files.sql("copy t (x, n) to 'x.csv' (delimiter '|', null 'NULL', header off)")
    with open(os.path.join(files.base, 'x.csv'), encoding='utf-8') as file:
        assert file.read() == '1.5|1\nNULL|2\n-2.0|NULL\n'
    files.sql('create table u (x double precision, n bigint)')
    files.write('n.csv', 'n\n1\n2\n3\n')
    assert files.sql("copy u (n) from 'n.csv' where n > 1") == 'INSERT 0 2\n'
    assert files.rows('select * from u') == [(None, 2), (None, 3)]
    assert files.sql("copy u from 'x.csv' delimiter '|' null 'NULL'") == 'INSERT 0 3\n'  # the first line is found to be none
    files.sql('drop table u')


def check_folder(files, known):
    """Files of one folder that are known after different stages: packed, small, large."""
    folder = os.path.join(files.base, 'folder')
    os.mkdir(folder)
    total = 0
    for i, count in enumerate([5, 200000, 3, 7, 90000, 2, 1]):
        packed = i % 3 == 0
        with (gzip.open if packed else open)(f'{folder}/{i}.csv{".gz" if packed else ""}', 'wt', encoding='utf-8') as file:
            file.write('n,s\n' + ''.join(f'{n},{n % 7}\n' for n in range(count)))
        total += count * (count - 1) // 2
    assert files.rows("select sum(n), count(*) from 'folder/*'") == [(total, 290018)]
    assert files.rows("select n, s from 'folder/' where n >= 199999") == [(199999, 199999 % 7)]
    assert files.rows("select count(*) from read_csv('folder/*.csv', filename => 'file') where file like '%/5.csv'") == [(2,)]


def check_names(files, known):
    """Columns without names have those of DuckDB, too; ~ is the user's directory."""
    files.write('bare.csv', '1,x\n2,y\n')
    assert files.rows("select column0, b.column1 from 'bare.csv' as b where column0 > 1") == [(2, 'y')]
    assert files.rows("select max(column0) as m from 'bare.csv' group by column1 order by m") == [(1,), (2,)]
    assert list(json.loads(files.must('sql', '--json', "select * from 'bare.csv'"))[0]) == ['c0', 'c1']
    files.refuse("select column0 from 'bare.csv' as t(a)", "no column 'column0'")
    files.refuse("select column0 from 'all.csv'", "no column 'column0'")
    files.environment['HOME'] = files.base
    files.sql("copy (select 7 as n) to '~/home.csv'")
    assert files.rows("select n from '~/home.csv'") == [(7,)]
    assert files.rows("select count(*) from read_csv(['~/home.csv', '~/hom*.csv'])") == [(2,)]
    assert files.rows("select n from read_csv('~/home.csv', header => true)") == [(7,)]


def check_wide(files, known):
    """Ten thousand columns come and go; of two thousand each is computed, listed by `*` and one by one."""
    for count, value, more in (10000, '*', 0), (2000, 'columns(*) + 1', 1):
        lines = [[f'c{i}' for i in range(count)], list(range(count)), list(range(count, 2 * count))]
        files.write('wide.csv', ''.join(','.join(map(str, line)) + '\n' for line in lines))
        files.sql(f"copy (select {value} from 'wide.csv') to 'plus.csv'")
        with open(os.path.join(files.base, 'plus.csv'), encoding='utf-8') as plus:
            assert [list(map(int, line.split(','))) for line in plus.read().splitlines()[1:]] == [[n + more for n in line] for line in lines[1:]], count
    files.write('sums.sql', f"select {', '.join(f'sum(c{i}) as s{i}' for i in range(count))} from 'wide.csv'")
    rows = json.loads(files.must('sql', '--json', '@sums.sql'))
    assert rows == [{f's{i}': 2 * i + count for i in range(count)}], str(rows)[:200]


def check_parts(files, known):
    """Parts of an object are columns, with the names of tables before them or not; a table's column goes first."""
    files.write('parts.ndjson', '{"s": {"a": 1, "b": {"c": "x"}}, "k": 2}\n{"s": {"a": 5, "b": {"c": "y"}}, "k": 3}\n')
    assert files.rows("select s.a, s.b.c, t.s.a as again, \"s.a\" as quoted from 'parts.ndjson' t where s.a > 1 order by s.b.c") == [(5, 'y', 5, 5)]
    assert files.rows("select max(s.a) from 'parts.ndjson' s") == [(5,)]
    assert files.rows("select s.a from (select 7 as a) s, 'parts.ndjson' t where t.k = 2") == [(7,)]
    files.refuse("select s.a from 'parts.ndjson' a, 'parts.ndjson' b", 'more than one table has a column')
    files.refuse("select s.z from 'parts.ndjson'", "no table in FROM is called 's'")


def check_bad_records(files, known):
    """Another engine's flag leaves bad records out, as the parameter does."""
    files.write('bad.csv', 'a,b\n1,2\n3\n4,5,6\n')
    assert files.rows("select * from read_csv('bad.csv', ignore_errors = true)") == [(1, 2)]
    assert files.rows("select * from read_csv('bad.csv', errors = 'skip')") == [(1, 2)]


def check_refusals(files, known):
    files.refuse("copy t to 'x.what'", 'line 1, column 6', 'x.what', '.csv')
    files.refuse("copy t to 'x' (format what)", "'what' is no format")
    files.refuse("copy t to 'x.csv' (delimitr ';')", "no option 'delimitr'; did you mean 'delimiter'?", 'column 20')
    files.refuse("copy t to 'x.csv' (header maybe)", "'header' needs true or false")
    files.refuse("copy t to 'x.csv' (header true, header false)", 'given twice')
    files.refuse("copy t to 'x.csv' (delimiter (a, b))", "'delimiter' needs a string")
    files.refuse("copy t to 'x.csv' (path 'y.csv')", "no option 'path'")
    files.refuse("copy t to program 'cat'", 'COPY of anything but a file')
    files.refuse('copy t from stdin', 'COPY of anything but a file')
    files.refuse("copy lost to 'x.csv'", "no table 'lost'")
    files.refuse("copy lost from 'all.csv'", "no table 'lost'")
    files.refuse("copy t from 'lost.csv'", 'lost.csv', 'No such file')
    files.write('odd.csv', 'n,s,x\n1,a,2\n3\n')  # lines are no values of a table's columns
    files.refuse("copy t from 'odd.csv'", 'odd.csv:3: record has 1 field, expected 3')
    files.refuse("copy t to 'lost/x.csv'", 'lost', 'No such file')
    files.refuse("copy t (lost) to 'x.csv'", "no column 'lost'")
    files.refuse("select * from read_csv('lost.csv')", 'lost.csv', 'No such file')
    files.refuse("select * from read_csv()", 'read_csv needs the name of a file first')
    files.refuse("select * from read_csv('all.csv', 'x')", 'behind the file')
    files.refuse("select * from read_csv('all.csv', header => n)", "'header' needs a text, a number")
    files.refuse("select * from read_csv('all.csv', dtypes => 'float64')", "ARRAY['COLUMN DTYPE', ...]")
    files.refuse("select * from read_csv('all.csv', dtypes => array['lost int64'])", 'lost')
    files.refuse("select * from read_what('all.csv')", "'what' is no format")
    for name in os.listdir(files.base):
        assert not name.endswith('.part'), name


def check_nothing_left(files, known):
    kept = json.loads(files.must('graphs', '--json'))
    assert kept == [], kept


known = operators()
with Files(binaries) as files:
    for check in (check_round_trips, check_options, check_csv, check_folder, check_names, check_parts, check_bad_records,
                  check_wide, check_refusals, check_nothing_left):
        check(files, known)
