"""SELECTs of other engines' own tests, asked of granary and of DuckDB: suite.py [options] [FOLDER...], or $GRANARY_SQL_SUITES; 77 (skipped) without.

A folder has sqllogictest files (.test, .slt; of DuckDB, SQLite and DataFusion) or scripts of psql (.sql), fetched by hand. Each file is run in a
DuckDB of its own ($GRANARY_PEERS has @duckdb/node-api). For each of its SELECTs that DuckDB answers, granary gets the tables that the SELECT names,
and is asked the same. Nothing is compared with what the file says: other versions and engines print otherwise.

    right      the same rows, in the same order where ORDER BY is the last clause and tells it
    wrong      other rows
    refused    an error with its place in the text, and `failed`: one without
    lacked     not right, and a type takes part that granary has not: named by the statement, the error, a column or the result,
               or by a function of that type; hugeint by numbers of more than 38 digits, and by the bits of those beyond 64
    setup      it needs what DuckDB alone was told: macros, sequences, settings, other schemas
    error      PostgreSQL refuses what we refuse, or answer otherwise than DuckDB. Scripts of its own suite are run in it as well, where it is there (second.py);
               its rows are right as DuckDB's are
"""
import argparse
import collections
import ctypes
import datetime
import decimal
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / 'differ'), str(HERE.parents[1] / 'support' / 'py')]

import numpy as np

import compare
from caretaker import Caretaker
from draw import to_list
from engine import Engine
from granary_test import GranaryError, _check, _GraphOptions, _library
from logic_test import read_logic_test, read_script
from reasons import REASONS
from rows import ROWS
from second import SYNTAX, Second, refuses

SKIPPED = 77
LONGEST_MS = 20000
MOST_ROWS = 2000000
MOST_SHOWN = 50000
# DuckDB's types whose values granary has, perhaps in a wider type.
KNOWN = re.compile(r'(BOOLEAN|(U?(TINY|SMALL|BIG)INT)|U?INTEGER|FLOAT|DOUBLE|VARCHAR|DATE|TIME|TIMESTAMP(_S|_MS)?|TIMESTAMP WITH TIME ZONE|BLOB|DECIMAL\(\d+,\d+\)|"?NULL"?|SQLNULL)(\[\])?$')
LACKED_WORDS = re.compile(r'\b(struct|struct_pack|row|map|map_from_entries|hugeint|uhugeint|int128|enum|uuid|bit|bitstring|union_value|interval|timetz|variant|json|varint|bignum|'
                          r'geometry|inet|money|point|box|polygon|lseg|circle|timestamp_ns|export_state|(list_)?histogram|bitstring_agg|'
                          r'(map|struct|st|enum_range|uuid)_\w+(?=\s*\()|md5_number|uuidv\d)\b|\btime\s*(\(\d\)\s*)?with\s+time\s+zone|\bb\'[01]*\'|\{\s*\'|\{\s*\w+\s*:|'
                          r'\bregexp_extract\b.*\'\s*,\s*\[\'|(?<![\w.\'])[1-9]\d{38,}(?![\w.])|(?<![\w.\'])[1-9]\d{19,}\s*(<<|>>)|\'[+-]?infinity\'\s*(::|as)\s*(date|timestamp)|'
                          r'\b(date|timestamp\w*)\s*\'[+-]?infinity\'', re.I)
SETUP_WORDS = re.compile(r'\b(nextval|currval|getvariable|pragma_\w+|duckdb_\w+|information_schema|pg_catalog|sqlite_master|pg_\w+|current_setting|system\.|test_all_types|test_vector_types|'
                         r'repeat_row|glob|read_text|read_blob|parquet_metadata|parquet_schema|query_table|checkpoint|sql_auto_complete|json_execute\w*|which_secret|'
                         r'enum_range|enum_first|enum_last|rowid|ctid|txid_current|has_\w+_privilege)\b', re.I)
SELECTS = re.compile(r'(\s*--[^\n]*\n)*\s*((select|with|values|from|table)\b|\()', re.I)
TABLES = """select database_name, schema_name, table_name, estimated_size, current_database(), current_schema() from duckdb_tables() where not internal
    union all select database_name, schema_name, view_name, 0, current_database(), current_schema() from duckdb_views() where not internal"""
CHANGES = re.compile(r'\b(insert\s+into|delete\s+from|merge\s+into|update\s+\w+\s+set)\b', re.I)
ORDERS = re.compile(r'\s*(?:set|pragma)\s+(?:global\s+|session\s+)?(?:default_null_order|null_order|default_order)\b', re.I)


class Session:
    """DuckDB, one database after the other."""

    class Ended(Exception):
        pass

    @staticmethod
    def there():
        return os.path.isdir(os.path.join(os.environ.get('GRANARY_PEERS', ''), 'node_modules/@duckdb/node-api')) and shutil.which('node') is not None

    def __init__(self):
        self.begin()

    def begin(self):
        environment = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}
        self.process = subprocess.Popen(['node', str(HERE / 'session.js'), os.path.abspath(os.environ['GRANARY_PEERS'])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True, env=environment)

    def ask(self, **request):
        """Some statements end the process: of that file nothing more is known."""
        try:
            self.process.stdin.write(json.dumps(request) + '\n')
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
            while answer and not answer.startswith('> '):
                answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ''
        if answer == '':
            self.process.wait()
            self.begin()
            raise self.Ended
        return json.loads(answer[2:])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ---- values of both, made alike ----

def moment(text):
    """A date, time or timestamp as text: without zeros that say nothing; in UTC; years before 1 as astronomers count."""
    text = re.sub(r'^-(\d{1,3})-', lambda m: f'-{int(m.group(1)):04}-', str(text).replace('T', ' '))
    if ' (BC)' in text:
        year, rest = text.replace(' (BC)', '').split('-', 1)
        text = f'-{int(year) - 1:04}-{rest}' if int(year) > 1 else f'0000-{rest}'
    zone = re.search(r' ?([+-])(\d\d)(?::?(\d\d))?(?::(\d\d))?$', text) if len(text) > 11 else None
    if zone and zone.group(2) != '00':
        try:
            at = datetime.datetime.fromisoformat(text[:zone.start()])
            shift = datetime.timedelta(hours=int(zone.group(2)), minutes=int(zone.group(3) or 0))
            text = (at - shift if zone.group(1) == '+' else at + shift).isoformat(' ')
        except (ValueError, OverflowError):
            pass
    elif zone:
        text = text[:zone.start()]
    if '.' in text:
        text = text.rstrip('0').rstrip('.')
    return text[:-9] if text.endswith(' 00:00:00') else text


def span(value):
    """DuckDB's interval in microseconds; with months it has none."""
    if not isinstance(value, dict):
        return value
    return value if int(value['months']) else int(value['days']) * 86400000000 + int(value['micros'])


def of_duckdb(value, type):
    if value is None:
        return None
    if type.endswith('[]'):
        return [of_duckdb(item, type[:-2]) for item in value] if isinstance(value, list) else value
    if type.startswith('DECIMAL'):
        return decimal.Decimal(value)
    if type in ('DOUBLE', 'FLOAT'):
        return float(value)
    if type == 'INTERVAL':
        return span(value)
    if type.startswith(('DATE', 'TIME')):
        return moment(value)
    if type == 'BLOB':
        return re.sub(r'\\x([0-9A-Fa-f]{2})', lambda m: chr(int(m.group(1), 16)), value)
    return int(value) if type.endswith(('INT', 'INTEGER')) else value


def of_granary(value, dtype):
    if value is None:
        return None
    if dtype.startswith('list('):
        return [of_granary(item, dtype[5:-1]) for item in value]
    if dtype.startswith('decimal'):
        return decimal.Decimal(value).scaleb(-int(dtype[8:-1]), decimal.Context(prec=50))
    if dtype == 'date':
        return moment(date_of(value))
    if dtype in ('timestamp', 'timestamptz'):
        return moment(str(np.datetime64(int(value), 'us')))
    if dtype == 'time':
        seconds, micros = divmod(int(value), 1000000)
        return moment(f'{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}' + (f'.{micros:06}' if micros else ''))
    return value.decode('latin-1') if isinstance(value, bytes) else value


def date_of(value):
    return str(np.datetime64(int(value), 'D'))


def loose(value):
    """Whole numbers are equal in any type: peers' results are wider or narrower."""
    if isinstance(value, list):
        return [loose(item) for item in value]
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 10**38 else value
    return value


def granary_rows(columns):
    lists = [[loose(of_granary(value, column.dtype)) for value in to_list(column)] for column in columns.values()]
    return [list(row) for row in zip(*lists)]


def peer_rows(answer, dtypes=()):
    """dtypes: ours. A text beside a moment, as a folder's name may be, is compared as one."""
    moments = [type == 'VARCHAR' and dtype in ('date', 'timestamp') for type, dtype in zip(answer['types'], dtypes)] + [False] * len(answer['types'])
    return [[moment(value) if is_moment and value else loose(of_duckdb(value, type)) for value, type, is_moment in zip(row, answer['types'], moments)] for row in answer['rows']]


def like_ours(value):
    """A value of PostgreSQL's."""
    if isinstance(value, list):
        return [like_ours(item) for item in value]
    return moment(value.replace(' BC', ' (BC)')) if isinstance(value, str) and re.match(r'\d{4,6}-\d\d-\d\d', value) else loose(value)


def same_item(a, b, tolerance):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_item(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, (int, float, decimal.Decimal)) and isinstance(b, (int, float, decimal.Decimal)) and not isinstance(a, bool) and not isinstance(b, bool):
        if a == b:
            return True
        if isinstance(a, int) and isinstance(b, int):
            return False
        x, y = float(a), float(b)
        return (math.isnan(x) and math.isnan(y)) or abs(x - y) <= tolerance * max(abs(x), abs(y), 1e-9)
    return a == b


def differs(ours, theirs, ordered, tolerance):
    """None, or what differs."""
    if len(ours) != len(theirs):
        return f'{len(ours)} rows, not {len(theirs)}'
    if not ordered:
        ours, theirs = sorted(ours, key=key_of), sorted(theirs, key=key_of)
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        if len(a) != len(b):
            return f'{len(a)} columns, not {len(b)}'
        for place, (x, y) in enumerate(zip(a, b), 1):
            if not same_item(x, y, tolerance):
                return f'row {number}, column {place}: {x!r}, not {y!r}'
    return None


def sort_keys(sql, names):
    """The places of the columns that ORDER BY names, behind which rows may tie; None: it has expressions."""
    keys = []
    for item in re.search(r'.*\border\s+by\b(.*)', sql.rstrip().rstrip(';'), re.I | re.S).group(1).split(','):
        name = re.sub(r'(?i)\s+(asc|desc|nulls\s+(first|last)|limit\s+.*|offset\s+.*)(?=\s|$)', '', item.strip(), flags=re.S).strip().strip('"')
        lower = [column.lower() for column in names]
        if name.isdigit() and 0 < int(name) <= len(names):
            keys.append(int(name) - 1)
        elif lower.count(name.split('.')[-1].lower()) == 1:
            keys.append(lower.index(name.split('.')[-1].lower()))
        else:
            return None
    return keys


def at(rows, places):
    return rows if places is None else [[row[place] for place in places] for row in rows]


def as_told(rows, answer):
    """Whether rows are those of a file: a row or a value in a line."""
    values = [value for line in answer or [] for value in line.split('\t')]
    ours = [value for row in rows for value in row]
    return len(values) == len(ours) and bool(values) and all(same_text(a, b) for a, b in zip(ours, values))


def same_text(value, text):
    if value is None or isinstance(value, bool):
        return text in ({None: ('NULL',), True: ('true', '1'), False: ('false', '0')}[value])
    if isinstance(value, (int, float, decimal.Decimal)):
        try:
            return same_item(value, float(text) if isinstance(value, float) else decimal.Decimal(text), 1e-7)
        except (ValueError, decimal.InvalidOperation):
            return False
    return str(value) == text or (value == '' and text == '(empty)') or moment(text) == value


def key_of(row):
    return compare.order([str(value) if isinstance(value, list) else value for value in row])


class Asker:
    """Asks granary one SELECT."""

    def __init__(self, engine):
        self.engine = engine

    def ask(self, sql):
        graph, key = ctypes.c_void_p(), ctypes.create_string_buffer(64)
        raw = sql.encode()
        client = self.engine.client
        written = self.engine.optimizer and self.engine.optimizer.submit('sql', raw)

        def told(err):
            """An error in the words of the statement."""
            if err:
                _check(_library.granary_sql_error(client, err, raw, ctypes.c_size_t(len(raw))))

        _check(_library.granary_sql_graph(client, raw, len(raw), ctypes.byref(graph)))
        try:
            if written:
                key = written
            else:
                told(_library.granary_graph_submit(client, graph, ctypes.byref(_GraphOptions()), key))
        finally:
            _library.granary_graph_destroy(graph)
        try:
            told(_library.granary_graph_wait(client, key, LONGEST_MS, None))
            return self.engine.result(key, 'result')
        finally:
            self.engine.drop(key.value.decode())


# ---- one file ----

class File:
    def __init__(self, path, session, engine, limits, second):
        self.path, self.session, self.engine, self.limits = path, session, engine, limits
        self.second = second if path.suffix == '.sql' else None
        self.tables, self.loaded, self.macros, self.settings, self.types = None, {}, [], [], []
        self.version, self.asker, self.collated = 0, Asker(engine), False

    def records(self):
        text = self.path.read_text(errors='replace')
        return list(read_script(text)) if self.path.suffix == '.sql' else read_logic_test(text)

    def results(self):
        try:
            yield from self.run()
        except Session.Ended:
            print(f'{self.path}: DuckDB has ended', flush=True)

    def run(self):
        """(record, outcome, what it says) of each SELECT that DuckDB answers."""
        self.session.ask(open=True)
        if self.second:
            self.second.open()
        for path in self.limits.prelude:
            for record in read_script(path.read_text()):
                self.tell(record.sql)
        asked = 0
        for record in self.records():
            if record.other:
                continue
            sql = record.sql.strip().rstrip(';').replace('{TEST_DIR}', self.limits.written).replace('__TEST_DIR__', self.limits.written).replace('{TEMP_DIR}', self.limits.written)
            if record.kind == 'statement' and ORDERS.match(sql):
                continue  # both keep their own
            if record.kind == 'statement':
                self.note(sql)
                self.tell(sql)
                self.tables, self.version = None, self.version + 1
            elif not SELECTS.match(sql) or CHANGES.search(sql):
                self.tell(sql)
                self.tables, self.version = None, self.version + 1
            elif asked < self.limits.per_file:
                if self.limits.only and not self.limits.only.search(sql):
                    continue
                theirs = self.session.ask(rows=sql)
                if 'error' in theirs:
                    continue
                asked += 1
                yield (record, *self.judge(record, sql, theirs))

    def tell(self, sql):
        self.session.ask(run=sql)
        if self.second:
            self.second.run(sql)

    def note(self, sql):
        if re.search(r'\bcollate\b', sql, re.I):
            self.collated = True
        made = re.match(r'\s*create\s+type\s+"?(\w+)', sql, re.I)
        if made:
            self.types.append(made.group(1).lower())
        home = re.match(r"\s*set\s+home_directory\s*=\s*'([^']*)'", sql, re.I)
        if home:
            os.environ['HOME'] = home.group(1)
        macro = re.match(r'\s*create\s+(?:or\s+replace\s+)?(?:temp\w*\s+)?(?:macro|function)\s+(?:if\s+not\s+exists\s+)?"?([\w.]+)', sql, re.I)
        if macro:
            self.macros.append(macro.group(1).split('.')[-1].lower())
        setting = re.match(r'\s*(?:set|pragma)\s+(?:global\s+|session\s+)?(default_collation|timezone|integer_division|ieee_floating_point_ops|'
                           r'old_implicit_casting|order_by_non_integer_literal|scalar_subquery_error_on_multiple_rows|search_path|schema|use|calendar|binary_as_string|preserve_identifier_case|'
                           r'lambda_syntax|errors_as_json|disabled_\w+|storage_\w+)', sql, re.I)
        if setting:
            self.settings.append(setting.group(1).lower())

    def judge(self, record, sql, theirs):
        words = set(re.findall(r'\w+', sql.lower()))
        told = SETUP_WORDS.search(sql)
        if told or words & set(self.macros) or self.settings or len(theirs['rows']) > MOST_SHOWN:
            return 'setup', told.group(0) if told else 'macro' if words & set(self.macros) else f'set {self.settings}' if self.settings else 'many rows'
        again = self.session.ask(rows=sql)
        if again != theirs:
            return 'setup', 'another answer each time'
        lacked = ['collation'] if self.collated else [] if LACKED_WORDS.search(sql) is None else [LACKED_WORDS.search(sql).group(0)]
        lacked += [type for type in theirs['types'] if not KNOWN.match(type) and type not in ('HUGEINT', 'UHUGEINT')]  # sums are
        lacked += sorted(words & set(self.types))
        lacked += [type for row in theirs['rows'] for value, type in zip(row, theirs['types'])
                   if type in ('HUGEINT', 'UHUGEINT') and value is not None and abs(int(value)) >= 10**38]
        try:
            lacked += self.give(sql)
            ours = self.asker.ask(sql)
        except GranaryError as error:
            text = str(error)
            if "no table or file" in text or 'there is no table' in text or 'file not found' in text:
                return 'setup', text
            whole = re.search(r"no column '(\w+)'", text)
            if whole and re.search(rf'\b(from|join|,|as|\))\s+"?{whole.group(1)}\b', sql, re.I):  # a table's row
                lacked.append('row')
            lacked += ['row'] if 'a row of values is not supported' in text else []
            if self.second and refuses(self.second.answer(sql), text):
                return 'error', text
            return 'lacked' if lacked else 'refused' if text.startswith('line ') else 'failed', text
        except Large as large:
            return 'setup', str(large)
        tolerance = 1e-5 if any('FLOAT' in type for type in theirs['types']) or any(column.dtype == 'float32' for column in ours.values()) else 1e-8
        rows = peer_rows(theirs, [column.dtype for column in ours.values()])
        told = differs(granary_rows(ours), rows, False, tolerance)
        if told is None and re.search(r'\border\s+by\b[^()]*$', sql, re.I):
            keys = sort_keys(sql, theirs['names'])
            told = differs(at(granary_rows(ours), keys), at(rows, keys), True, tolerance)
            told = f'in another order: {told}' if told else None
        if told is None or as_told(granary_rows(ours), record.answer):  # a file may know better than the DuckDB that is there
            return 'right', ''
        if self.second:
            second = self.second.answer(sql)
            if self.as_second(second, granary_rows(ours)):
                return 'right', 'as PostgreSQL'
            if second.get('error') == SYNTAX:
                return 'error', f'{told}: {second["error"]}'
        reason = next((why for pattern, why in REASONS if re.search(pattern, sql, re.I | re.S)), None)
        if reason:
            return 'reason', reason
        return 'lacked' if lacked else 'wrong', told

    @staticmethod
    def as_second(answer, ours):
        return 'rows' in answer and differs(ours, [[like_ours(value) for value in row] for row in answer['rows']], False, 1e-5 if answer['rough'] else 1e-8) is None

    def give(self, sql):
        """granary has the tables that are named, as they are now. What they have of types that it lacks."""
        if self.tables is None:
            listed = self.session.ask(rows=TABLES)
            self.tables = {tuple(row[:3]): (int(row[3] or 0), row[4], row[5]) for row in listed.get('rows', [])}
            names = {name.lower() for table, (_, *here) in self.tables.items() for name in names_of(table, *here)}
            for name in [name for name in self.loaded if name.lower() not in names]:  # dropped, or of another database now
                self.engine.drop(name)
                del self.loaded[name]
        lacked, plain = [], sql.replace('""', '\0').replace('"', '').replace('\0', '"')
        wanted = {}
        for table, (size, *here) in self.tables.items():
            for name in names_in(plain, table, *here):
                if size > MOST_ROWS:
                    raise Large(f'{name} has {size} rows')
                wanted[name] = table
        for name, table in wanted.items():
            if self.loaded.get(name, (None,))[:2] != (self.version, table):
                self.loaded[name] = (self.version, table, self.load(name, table))
            lacked += self.loaded[name][2]
        return lacked

    def load(self, name, table):
        quoted = '.'.join('"' + part.replace('"', '""') + '"' for part in table)
        columns = self.session.ask(rows=f'select column_name, column_type from (describe {quoted})')
        if 'error' in columns:
            return [f'{name}: {columns["error"]}']
        lacked, list_of = [], []
        for column, type in columns['rows']:
            text = '"' + column.replace('"', '""') + '"'
            if not KNOWN.match(type):
                lacked.append(type)
                text = f'{text}::decimal(38, 0) as {text}' if type == 'HUGEINT' else f'{text}::varchar as {text}'
            list_of.append(text)
        for column, type in columns['rows']:
            if type.startswith(('DATE', 'TIMESTAMP')):
                endless = self.session.ask(rows=f'select bool_or(isinf("{column}")) from {quoted}')
                lacked += ['infinity'] if endless.get('rows') == [[True]] else []
        path = os.path.join(self.limits.scratch, f'{len(os.listdir(self.limits.scratch))}.parquet')
        copied = self.session.ask(run=f"copy (select {', '.join(list_of)} from {quoted}) to '{path}' (format parquet)")
        if 'error' in copied:
            return [copied['error']]
        self.engine.drop(name)
        try:
            self.engine.submit({'t': {'op': 'read_parquet', 'path': path}}, ['t'], key=name)
        except GranaryError as error:
            lacked.append(str(error))
        return lacked

    def close(self):
        for name in self.loaded:
            self.engine.drop(name)
        for folder in (self.limits.scratch, self.limits.written):
            shutil.rmtree(folder)
            os.mkdir(folder)


class Large(Exception):
    pass


def names_of(table, database, schema):
    """How a statement may name a table: alone in the database and schema at hand, else behind these."""
    ways = [table]
    if table[0] == 'temp':
        ways.append(table[2:])
    if table[0] == database:
        ways.append(table[1:])
        ways += [table[2:]] if table[1] == schema else []
    if table[1] == 'main':
        ways.append((table[0], table[2]))
    return ['.'.join(way) for way in ways]


def names_in(plain, table, database, schema):
    """Names of a table in a statement without quotes: in lower case, as they are found without quotes, and as they are."""
    for name in names_of(table, database, schema):
        if re.search(r'(?<![\w.])' + re.escape(name) + r'(?!\w)', plain, re.I):
            yield name.lower()
            if name != name.lower() and name in plain:
                yield name


# ---- all files ----

def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folders', nargs='*', metavar='FOLDER', default=os.environ.get('GRANARY_SQL_SUITES', '').split())
    parser.add_argument('--root', metavar='FOLDER', help='where the paths in statements begin')
    parser.add_argument('--per-file', type=int, default=200, metavar='N', help='at most so many SELECTs of a file (default 200)')
    parser.add_argument('--files', type=int, metavar='N', help='so many files, drawn at random')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--match', metavar='WORD', help='only files whose path has it')
    parser.add_argument('--only', type=re.compile, metavar='REGEX', help='only SELECTs that match')
    parser.add_argument('--prelude', type=pathlib.Path, action='append', default=[], metavar='FILE', help='statements that make what all files stand on')
    parser.add_argument('--part', metavar='I/N', help='each N-th file, from the I-th')
    parser.add_argument('--report', metavar='FILE', help='every SELECT and its outcome, as JSON lines')
    parser.add_argument('--show', default='wrong', metavar='OUTCOMES', help='print these: wrong,failed,refused,lacked,reason,setup')
    return parser.parse_args()


def main():
    options = arguments()
    if not Session.there() or not options.folders:
        print('skipped: it needs @duckdb/node-api below $GRANARY_PEERS, and $GRANARY_SQL_SUITES')
        return SKIPPED
    files = sorted(path for folder in options.folders for path in pathlib.Path(folder).resolve().rglob('*') if path.suffix in ('.test', '.slt', '.sql'))
    files = [path for path in files if not options.match or options.match in str(path)]
    if options.files and len(files) > options.files:
        files = sorted(random.Random(options.seed).sample(files, options.files))
    if options.part:
        first, step = map(int, options.part.split('/'))
        files = files[first::step]
    report = open(options.report, 'w') if options.report else None
    shown = options.show.split(',')
    counts, by_row = collections.Counter(), collections.defaultdict(collections.Counter)
    if options.root:
        os.chdir(options.root)
    with Caretaker(), Engine(executors=2) as engine, tempfile.TemporaryDirectory(prefix='granary-suite-') as scratch:
        options.scratch, options.written = os.path.join(scratch, 'tables'), os.path.join(scratch, 'written')
        os.mkdir(options.scratch)
        os.mkdir(options.written)
        session = Session()
        second = Second() if Second.there() and any(path.suffix == '.sql' for path in files) else None
        for path in files:
            file = File(path, session, engine, options, second)
            for record, outcome, told in file.results():
                counts[outcome] += 1
                for row, pattern in ROWS:
                    if re.search(pattern, record.sql, re.I | re.S):
                        by_row[row][outcome] += 1
                if report:
                    report.write(json.dumps({'file': str(path), 'line': record.line, 'outcome': outcome, 'told': told, 'sql': record.sql}) + '\n')
                if outcome in shown:
                    print(f'{path}:{record.line}: {outcome}: {told}\n    {record.sql}', flush=True)
            file.close()
        session.close()
        if second:
            second.close()
    tell('all', counts)
    for row, _ in ROWS:
        if by_row[row]:
            tell(row, by_row[row])
    return 1 if counts['wrong'] else 0


def tell(what, counts):
    judged = counts['right'] + counts['wrong'] + counts['refused'] + counts['failed'] + counts['reason']
    share = f'{100 * counts["right"] / judged:.1f} %' if judged else '-'
    print(f'{what}: {share} of {judged} right; ' + ', '.join(f'{counts[name]} {name}' for name in ('wrong', 'refused', 'failed', 'reason', 'error', 'lacked', 'setup') if counts[name]))


if __name__ == '__main__':
    sys.exit(main())
