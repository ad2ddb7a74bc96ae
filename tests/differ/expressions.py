"""Every function and operator of expressions, in graphs and in SQL, over columns and literals, against a model in Python.

A case is one call over a table of 24 rows with columns of all kinds; its value in every row is compared.
"""
import datetime
import decimal
import re

import numpy as np

from compare import same_rows
from draw import US, Draw, to_column
from expression_models import CALLS, EXPECTED_ERRORS, SQL_CALLS
from granary_test import GranaryError
from sql_random import row_values

ROWS = 24
# Columns by kind: what the letters of a call's arguments stand for.
COLUMNS = {
    'i': [('i1', 'int64'), ('i2', 'int64'), ('i3', 'int32')], 'c': [('c1', 'int64'), ('c2', 'int16')], 'f': [('f1', 'float64'), ('f2', 'float64')], 'u': [('u1', 'float64')],
    'q': [('q1', 'decimal(2)'), ('q2', 'decimal(4)')], 's': [('s1', 'string'), ('s2', 'string'), ('s3', 'string')], 'a': [('a1', 'string')], 'd': [('d1', 'date'), ('d2', 'date')],
    'm': [('m1', 'timestamp'), ('m2', 'timestamp')], 'b': [('b1', 'bool'), ('b2', 'bool')], 'w': [('w1', 'int64'), ('w2', 'int64')], 'o': [('o1', 'uint8')], 'y': [('y1', 'int64')],
    'h': [('h1', 'int64')]}
POOLS = {
    'i': [0, 1, 2, 3, -1, -7, 7, 10, 100, -128], 'c': [0, 1, 2, 3, 5, -1, -2], 'f': [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 0.25, 3.75, -7.0, 100.125],
    'u': [0.0, 1.0, -1.0, 0.5, 2.0, float('nan'), float('inf'), float('-inf')], 'q': [0, 125, -310, 5, 15, -25, 99999, 12345678901234567, 12345678901234568],
    's': ['', 'a', 'ab', 'Abc', 'é', 'über', 'a_b', 'x%y', ' pad ', 'hello world', 'aXbXc', '漢字', 'ab12', "it's", 'aaa', 'b,c,d', 'tabs\tand'], 'a': ['12', '-7', '3.5', 'x', '', ' 8 ', '1e3', 'true'],
    'd': [0, -1, 59, 11016, 18321, 18322, 10956, 10957, -719162, 2932896, 15000], 'm': [0, -1, 1, 11016 * US + 1, 18321 * US + 45296789012, -719162 * US, 2932896 * US + US - 1],
    'b': [True, False], 'w': [2**53 + 1, 2**53 - 1, -2**53 - 1, 2**63 - 1, -2**63, 0, 1], 'o': [0, 1, 2, 200, 255], 'y': [1, 1999, 2000, 2020, 9999], 'h': [1, 2, 3, 12, 28]}


def table_of(seed):
    """{column: kept}, {column: Python values}"""
    draw = Draw(f'expressions/{seed}')
    kept = {}
    for kind, columns in COLUMNS.items():
        for name, dtype in columns:
            nulls = 0.15 if name[1] != '2' else 0
            kept[name] = {'dtype': dtype, 'values': [None if draw.random() < nulls else draw.choice(POOLS[kind]) for _ in range(ROWS)]}
    return kept


def python_value(value, dtype):
    if value is None:
        return None
    if dtype.startswith('decimal'):
        return decimal.Decimal(value).scaleb(-int(dtype[8:-1]))
    if dtype == 'date':
        return datetime.date(1970, 1, 1) + datetime.timedelta(value)
    if dtype == 'timestamp':
        return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value)
    return value


def written(value):
    """As a literal of both languages; None where there is none that both have."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, decimal.Decimal):  # beside an integer it would be a float
        return None
    if isinstance(value, int):
        return None if abs(value) > 2**62 else f'({value})' if value < 0 else str(value)
    if isinstance(value, float):
        return None
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return None
    if isinstance(value, datetime.date):
        return f"date '{value.isoformat()}'" if value.year >= 1000 else None
    return None


def calls_of(name, calls):
    """Those that hit expr:NAME or sql:NAME."""
    return [c for c in calls if name in (f'expr:{c.name}', f'sql:{c.alias}')]


class Part:
    name = 'expressions'
    covers = ('expr:', 'sql:')

    @staticmethod
    def aims(name):
        return bool(calls_of(name, CALLS) or calls_of(name, SQL_CALLS))

    def make(self, draw, number, want=None):
        route = 'sql' if draw.chance(0.35) else 'graph'
        if want and not calls_of(want, SQL_CALLS if route == 'sql' else CALLS):
            route = 'graph' if route == 'sql' else 'sql'
        calls = SQL_CALLS if route == 'sql' else CALLS
        call = draw.choice(calls_of(want, calls)) if want else calls[number % len(calls)] if number < 2 * len(calls) else draw.choice(calls)
        seed = number // 2000
        kept = self.table(seed)
        arguments, places = [], []
        kinds = call.kinds if not call.many else call.kinds[:-1] + call.kinds[-1] * draw.randint(1, 3)
        for kind in kinds:
            column, dtype = draw.choice(COLUMNS[draw.choice(kind.split('|')) if '|' in kind else kind])
            text = written(python_value(draw.choice(kept[column]['values']), dtype)) if draw.chance(0.3) else None
            arguments.append(text or column)
            places.append(column if text is None else None)
        if all(p is None for p in places):
            column, _ = draw.choice(COLUMNS[kinds[0]])
            arguments[0] = column
        options = [draw.choice(o) for o in call.options]
        return {'route': route, 'call': call.name, 'form': calls.index(call), 'table': seed, 'arguments': arguments, 'options': options}

    def table(self, seed):
        if getattr(self, 'kept', (None, None))[0] != seed:
            self.kept = (seed, table_of(seed))
        return self.kept[1]

    def hits(self, spec):
        call = self.call(spec)
        return [f'expr:{call.name}'] + ([f'sql:{call.alias}'] if call.alias else [])

    @staticmethod
    def call(spec):
        return (SQL_CALLS if spec['route'] == 'sql' else CALLS)[spec['form']]

    def text(self, spec):
        return self.call(spec).text(spec['arguments'], spec['options'])

    def open(self, engine):
        self.engine = engine
        self.loaded = None
        return True

    def close(self):
        pass

    def load(self, seed):
        if self.loaded != seed:
            self.engine.table('xs', {n: to_column(c) for n, c in table_of(seed).items()}, pieces=2)
            self.loaded = seed

    def judge(self, specs):
        verdicts = [None] * len(specs)
        for seed in dict.fromkeys(s['table'] for s in specs):
            self.load(seed)
            which = [i for i, s in enumerate(specs) if s['table'] == seed]
            graphs = [i for i in which if specs[i]['route'] == 'graph']
            nodes = {'op': 'table', 'name': 'xs'}
            answers = dict(zip(graphs, self.engine.run_cases([({'in': nodes, 'out': {'op': 'project', 'input': 'in', 'columns': {'r': self.text(specs[i])}}}, 'out') for i in graphs])))
            others = [i for i in which if specs[i]['route'] == 'sql']
            answers.update(zip(others, self.engine.sql([f'select {self.text(specs[i])} as r from xs' for i in others])))
            for i in which:
                verdicts[i] = self.compare(specs[i], answers[i])
        return verdicts

    def compare(self, spec, ours):
        call = self.call(spec)
        kept = self.table(spec['table'])
        columns = []
        for argument in spec['arguments']:
            if argument in kept:
                columns.append([python_value(v, kept[argument]['dtype']) for v in kept[argument]['values']])
            else:
                columns.append([literal(argument)] * ROWS)
        theirs = []
        try:
            for row in zip(*columns):
                with np.errstate(all='ignore'):
                    theirs.append([plain(call.value(row, spec['options']))])
        except OverflowError as error:  # beyond the years that Python has
            return ('refused', f'the model: {error}')
        except (ValueError, ZeroDivisionError, decimal.InvalidOperation) as error:  # the whole column has to be refused
            return ('refused', f'the model: {error}') if isinstance(ours, GranaryError) else ('differs', f'{row_values(ours)}, but {error} in one row')
        if isinstance(ours, GranaryError):
            if any(word in str(ours) for word in EXPECTED_ERRORS):
                return ('refused', str(ours))
            return ('differs', f'refused: {ours}')
        differs = same_rows(row_values(ours), theirs, True, call.tolerance)
        if not differs:
            return None
        row = int(re.search(r'row (\d+)', differs).group(1)) - 1
        return ('differs', f'{differs}; of {[column[row] for column in columns]}')

    def smaller(self, spec):
        return iter(())

    def show(self, spec):
        return f'{spec["route"]}: {self.text(spec)}   over the columns of table {spec["table"]}'


def literal(text):
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    if text.startswith('date '):
        return datetime.date.fromisoformat(text[6:-1])
    if text in ('true', 'false'):
        return text == 'true'
    text = text.strip('()')
    return decimal.Decimal(text) if '.' in text else int(text)


def plain(value):
    """As peers.plain() has it."""
    if isinstance(value, datetime.datetime):
        text = f'{value.year:04}-' + value.strftime('%m-%d %H:%M:%S') + (f'.{value.microsecond:06}'.rstrip('0') if value.microsecond else '')
        return text[:-9] if text.endswith(' 00:00:00') else text
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value
