"""SQL's functions by a table with PostgreSQL's documented values (sql_cases.tsv), which PostgreSQL and DuckDB are asked about, too, where they are installed; and every
aggregate over random groups, against the model of frames."""
import decimal
import pathlib
import re

import numpy as np

import frame_model as m
from compare import same_rows, same_value
from draw import column, to_column
from frame_ops import calm
from granary_test import GranaryError
from peers import DuckDb, Postgres, plain
from sql_random import row_values

CASES = [(line.split('\t') + ['', '', ''])[:4] for line in (pathlib.Path(__file__).parent / 'sql_cases.tsv').read_text().splitlines() if line and not line.startswith('#')]
# SQL's name, the model's call, the dtypes
AGGREGATES = [('count', 'count({})', None), ('sum', 'sum({})', 'n'), ('avg', 'mean({})', 'n'), ('mean', 'mean({})', 'n'), ('min', 'min({})', None), ('max', 'max({})', None),
              ('stddev', 'std({})', 'n'), ('stddev_samp', 'std({})', 'n'), ('variance', 'var({})', 'n'), ('var_samp', 'var({})', 'n'), ('median', 'median({})', 'n'),
              ('stddev_pop', 'std({}, 0)', 'n'), ('var_pop', 'var({}, 0)', 'n'), ('sem', 'sem({}, 0)', 'n'), ('mad', 'mad({})', 'n'), ('bit_and', 'bit_and({})', 'i'), ('bit_or', 'bit_or({})', 'i'), ('bit_xor', 'bit_xor({})', 'i'), ('skewness', 'skew({})', 'n'), ('kurtosis', 'kurtosis({})', 'n'),
              ('mode', 'mode({})', None), ('corr', 'corr({}, c1)', 'n'), ('covar_samp', 'cov({}, c1)', 'n'), ('product', 'prod({})', 'n'), ('first', 'first({})', None),
              ('any_value', 'first({})', None), ('last', 'last({})', None), ('bool_and', 'all({})', 'b'), ('every', 'all({})', 'b'), ('bool_or', 'any({})', 'b'),
              ('quantile_cont', 'quantile({}, 0.25)', 'n'), ('percentile_cont', 'quantile({}, 0.25)', 'n')]
DTYPES = {'i': ('int64', 'int16'), 'n': ('int64', 'float64', 'int16'), 'b': ('bool',), None: ('int64', 'string', 'float64', 'date')}
CONTEXTS = ['select {}', 'select (select {} limit 1)', 'select {} from one', 'select * from (select {} as x) q', 'select case when 1 = 1 then {} end']


def calls(expression):
    return [f'{kind}:{name}' for name in re.findall(r'(\w+)\(', expression) for kind in ('sql', 'sqlagg')]


# The cases that hit a name.
HIT_BY = {}
for _place, _case in enumerate(CASES):
    for _name in calls(f'{_case[0]} {_case[3]}'):
        HIT_BY.setdefault(_name, []).append(_place)


class Part:
    name = 'sql_cases'
    covers = ('sql:', 'sqlagg:')

    @staticmethod
    def aims(name):
        return name in HIT_BY or any(name == f'sqlagg:{aggregate[0]}' for aggregate in AGGREGATES)

    def make(self, draw, number, want=None):
        if want in HIT_BY or not want and number % 2 == 0:
            place = draw.choice(HIT_BY[want]) if want else number // 2 % len(CASES)
            expression, want, ours, source = CASES[place]
            context = 'select {} from ' + source if source else draw.choice(CONTEXTS)
            return {'expression': expression, 'want': want, 'ours': ours, 'sql': context.replace('{}', expression)}
        name, call, kind = draw.choice([a for a in AGGREGATES if want == f'sqlagg:{a[0]}']) if want else AGGREGATES[number // 2 % len(AGGREGATES)]
        count = draw.choice([0, 1, 4, 12, 30])
        frame = {'k': column(draw, 'int64', count, 0.1, 0), 'c0': calm(column(draw, draw.choice(DTYPES[kind]), count, wild=0)), 'c1': calm(column(draw, 'float64', count, wild=0))}
        return {'aggregate': name, 'model': call.format('c0'), 'frame': frame, 'grouped': draw.chance(0.7), 'within': draw.chance(0.3)}

    def hits(self, spec):
        if 'aggregate' in spec:
            return [f'sqlagg:{spec["aggregate"]}']
        return calls(spec['sql'])

    def open(self, engine):
        self.engine = engine
        self.postgres = Postgres() if Postgres.there() else None
        self.duckdb = DuckDb() if DuckDb.there() else None
        one = {'y': to_column({'dtype': 'int64', 'values': [1]})}
        engine.table('one', one)
        if self.postgres:
            self.postgres.run('create table one (y bigint)')
            self.postgres.run('insert into one values (1)')
        if self.duckdb:
            self.duckdb.rows('create table one as select 1::bigint as y')
        return True

    def close(self):
        if self.postgres:
            self.postgres.close()
        if self.duckdb:
            self.duckdb.close()

    def text(self, spec, table='groups'):
        if 'sql' in spec:
            return spec['sql']
        name = spec['aggregate']
        call = f'{name}(0.25) within group (order by c0)' if name == 'percentile_cont' else f'{name}(c0, 0.25)' if name == 'quantile_cont' else f'{name}(c0, c1)' if name in ('corr', 'covar_samp') else f'{name}(c0)'
        within = ' filter (where k > 1)' if spec['within'] else ''
        return f'select k, {call}{within} as a from {table} group by k' if spec['grouped'] else f'select {call}{within} as a from {table}'

    def judge(self, specs):
        texts = []
        for i, spec in enumerate(specs):
            if 'frame' in spec:
                self.engine.table(f'groups{i}', {n: to_column(c) for n, c in spec['frame'].items()}, 2 if len(spec['frame']['k']['values']) > 2 else 1)
            texts.append(self.text(spec, f'groups{i}'))
        return [self.compare(spec, ours) for spec, ours in zip(specs, self.engine.sql(texts))]

    def compare(self, spec, ours):
        if 'frame' in spec:
            return self.compare_groups(spec, ours)
        if self.postgres and 'ours' not in spec['ours']:
            try:
                theirs = self.postgres.rows(spec['sql'])[0][0]
            except self.postgres.error as error:
                return ('differs', f'PostgreSQL refuses a case of the table: {error}')
            if not as_told(theirs, spec['want']):
                return ('differs', f'PostgreSQL gives {theirs!r}, the table says {spec["want"]}')
        if self.duckdb and 'not duckdb' not in spec['ours']:
            try:
                theirs = self.duckdb.rows(spec['sql'])[0][0]
            except self.duckdb.error as error:
                return ('differs', f'DuckDB refuses a case of the table: {error}')
            if not as_told(theirs, spec['want']):
                return ('differs', f'DuckDB gives {theirs!r}, the table says {spec["want"]}')
        if isinstance(ours, GranaryError):
            return ('differs', f'refused: {ours}')
        if len(row_values(ours)) != 1:
            return ('differs', f'{len(row_values(ours))} rows')
        value = row_values(ours)[0][0]
        return None if as_told(value, spec['want']) else ('differs', f'{value!r}, not {spec["want"]}')

    def compare_groups(self, spec, ours):
        if isinstance(ours, GranaryError):
            return ('differs', f'refused: {ours}')
        frame = m.model(spec['frame'])
        keys = ['k'] if spec['grouped'] else []
        found = m.groups(frame, keys, False) or ([] if keys else [[]])
        theirs = []
        for places in found:
            chosen = [p for p in places if not spec['within'] or (frame['k'].values[p] or 0) > 1]
            value = m.aggregate(spec['model'], frame, chosen)
            if spec['aggregate'] != 'count' and all(m.missing(frame['c0'].values[p]) for p in chosen):
                value = None  # of nothing every other aggregate is null
            theirs.append(([frame['k'].values[places[0]]] if keys else []) + [value])
        if frame['c0'].dtype == 'date' and spec['aggregate'] != 'count':
            theirs = [row[:-1] + [None if row[-1] is None else str(np.datetime64(row[-1], 'D'))] for row in theirs]
        differs = same_rows(row_values(ours), theirs, False, 1e-7)
        return ('differs', differs) if differs else None

    def smaller(self, spec):
        if 'frame' not in spec:
            return
        for name in ('grouped', 'within'):
            if spec[name]:
                yield {**spec, name: False}
        count = len(spec['frame']['k']['values'])
        size = count // 2
        while size:
            for start in range(0, count, size):
                yield {**spec, 'frame': {n: {**c, 'values': c['values'][:start] + c['values'][start + size:]} for n, c in spec['frame'].items()}}
            size //= 2

    def show(self, spec):
        return self.text(spec) + ''.join(f'\n  {n}: {c["dtype"]} {c["values"]}' for n, c in spec.get('frame', {}).items())


def as_told(value, want):
    if value is None:
        return want == 'null'
    if isinstance(value, bool):
        return want == ('true' if value else 'false')
    if isinstance(value, str):
        return value == want or plain(want) == value
    try:
        wanted = decimal.Decimal(want)
    except decimal.InvalidOperation:
        return False
    if isinstance(value, int):
        return value == wanted
    return same_value(float(value), float(wanted), 1e-12) if isinstance(value, float) or abs(value - wanted) < decimal.Decimal('1e-15') else value == wanted
