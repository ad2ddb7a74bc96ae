#!/usr/bin/env python3
"""Random graphs, right and wrong ones, over random frames: whatever the cut and the optimiser do, the same bytes; nothing dies.

Each graph runs with its table in one piece, in pieces with small chunks and with dictionaries, and with every node as a target
(which keeps the optimiser from going through them). All must fail, or give the same. Objects with damage done to them may be
refused. A run that differs, an executor that dies or a graph that does not end is printed with its seed.

    random_graphs.py [SEED]             GRANARY_RANDOM_GRAPHS=COUNT: so many graphs instead of the few of the test
"""
import ctypes
import json
import os
import sys

import numpy as np

from granary_test import Column, GranaryError, Instance, _check, _Id, _library, _View

COUNT = int(os.environ.get('GRANARY_RANDOM_GRAPHS', '24'))
WORDS = ['', 'a', 'ab', 'é', 'ü€', '🐦 bird', 'longer than seven', 'b', '12', '-3.5', '2020-02-29', 'true', 'NaN', '%_', 'a,b', 'x' * 300]
EXTREMES = {'int8': [-128, 127], 'int16': [-2**15, 2**15 - 1], 'int32': [-2**31, 2**31 - 1], 'int64': [-2**63, 2**63 - 1, -1],
            'uint8': [255], 'uint16': [65535], 'uint32': [2**32 - 1], 'uint64': [2**64 - 1, 2**63], 'duration': [-2**63, 2**63 - 1],
            'date': [-2**31, 2**31 - 1], 'timestamp': [-2**63, 2**63 - 1]}
CODES = {'int8': 'i1', 'int16': 'i2', 'int32': 'i4', 'int64': 'i8', 'uint8': 'u1', 'uint16': 'u2', 'uint32': 'u4', 'uint64': 'u8',
         'duration': 'i8', 'date': 'i4', 'timestamp': 'i8'}
NAMES = ['i', 'f', 's', 'b', 'd', 'k', 'Ü', 'a b', 'case', 'x`y', 'sum', 'é,"', 't', 'm']
NUMBERS = ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64', 'decimal(2)', 'decimal(18)')
DTYPES = NUMBERS + ('bool', 'string', 'string', 'string', 'date', 'timestamp', 'duration', 'null')


class Random:
    """Draws; all of a campaign follows from the seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def below(self, n):
        return int(self.rng.integers(0, n))

    def chance(self, p):
        return self.rng.random() < p

    def one(self, among):
        among = list(among)
        return among[self.below(len(among))]

    def some(self, among, most=3, least=1):
        among = list(among)
        count = min(len(among), least + self.below(most - least + 1))
        return [among[i] for i in self.rng.permutation(len(among))[:count]]


# ---- frames ----

def random_column(draw, dtype, rows):
    rng = draw.rng
    valid = None if draw.chance(0.4) else rng.random(rows) > draw.one([0.1, 0.5, 1.0])
    few = draw.chance(0.6)
    if dtype == 'string':
        words = WORDS[:5] if few else WORDS
        return Column('string', [words[i] for i in rng.integers(0, len(words), rows)], valid)
    if dtype == 'bool':
        return Column('bool', rng.integers(0, 2, rows).astype(bool), valid)
    if dtype == 'null':
        return Column('null', np.zeros(rows, 'i8'), np.zeros(rows, bool))
    if dtype.startswith('decimal'):
        values = [int(v) for v in rng.integers(-500, 500, rows)]
        if draw.chance(0.2) and rows:
            values[0] = 10**38 - 1
        return Column(dtype, values, valid)
    if dtype.startswith('float'):
        values = rng.choice([0.0, -0.0, 1.5, -2.25, 3.0, 1e300, -1e300, 0.1, np.inf, -np.inf, np.nan], rows) if draw.chance(0.3) else np.round(rng.normal(0, 5, rows), 0 if few else 2)
        with np.errstate(over='ignore'):
            return Column(dtype, values.astype('f4' if dtype == 'float32' else 'f8'), valid)
    code = CODES[dtype]
    low = 0 if dtype.startswith('u') else -4
    values = rng.integers(low, 5 if few else 120, rows).astype(code)
    if draw.chance(0.25) and rows:
        values[rng.random(rows) < 0.2] = np.array(draw.one(EXTREMES[dtype])).astype(code)
    return Column(dtype, values, valid)


def random_frame(draw):
    rows = draw.one([0, 1, 2, 7, 64, 65, 300, 1500])
    names = draw.some(NAMES, 8, 2)
    return {name: random_column(draw, draw.one(DTYPES), rows) for name in names}


def encoded(columns):
    return {n: Column(c.dtype, c.values, c.valid, True) if c.dtype == 'string' else c for n, c in columns.items()}


# ---- expressions ----

def quoted(name):
    return '`' + name.replace('`', '``') + '`'


def of_kind(schema, kind):
    def fits(dtype):
        if kind == 'number':
            return dtype in NUMBERS or dtype.startswith('decimal')
        if kind == 'date':
            return dtype in ('date', 'timestamp')
        return dtype == kind

    return [n for n, d in schema.items() if fits(d)]


def number(draw, schema, depth=2):
    names = of_kind(schema, 'number')
    if depth == 0 or draw.chance(0.3):
        if names and draw.chance(0.75):
            return quoted(draw.one(names))
        return draw.one(['0', '1', '-1', '2', '3.5', '0.1', '1e300', '127', '-128', '9223372036854775807', '(-9223372036854775807 - 1)', '18446744073709551615', '1e-300'])
    a, b = number(draw, schema, depth - 1), number(draw, schema, depth - 1)
    form = draw.one(['({a} + {b})', '({a} - {b})', '({a} * {b})', '({a} / {b})', '({a} // {b})', '({a} % {b})', '-({a})', 'abs({a})',
                     'case when {c} then {a} else {b} end', 'coalesce({a}, {b})', 'nullif({a}, {b})', 'greatest({a}, {b})',
                     'least({a}, {b})', 'round({a}, {n})', 'floor({a})', 'sqrt({a})', 'sign({a})', 'mod({a}, {b})', 'div({a}, {b})',
                     'pow({a}, {b})', 'if({c}, {a}, {b})', 'length({s})', 'try_cast({s} as {d})', 'try_cast({a} as {d})', 'cast({a} as {d})', 'year({t})',
                     'hash({a}, {s})', 'position({s}, {s})', 'ceil({a})', 'trunc({a})', 'epoch({t})', 'dayofweek({t})', 'week({t})'])
    return form.format(a=a, b=b, c=condition(draw, schema, depth - 1), s=text(draw, schema, depth - 1), t=day(draw, schema),
                       n=draw.one([0, 1, 2, -1, 18, -400, 400]), d=draw.one(NUMBERS))


def text(draw, schema, depth=1):
    names = of_kind(schema, 'string')
    if depth <= 0 or draw.chance(0.4):
        if names and draw.chance(0.8):
            return quoted(draw.one(names))
        return draw.one(["''", "'a'", "'é'", "'12'"])
    a = text(draw, schema, depth - 1)
    form = draw.one(['lower({a})', 'upper({a})', 'trim({a})', 'reverse({a})', 'left({a}, {n})', 'right({a}, {n})', 'substring({a}, {n}, 2)',
                     "replace({a}, 'a', 'bb')", "concat({a}, 'z')", '({a} || {a})', 'lpad({a}, 5)', "split_part({a}, ',', {m})", 'repeat({a}, 2)',
                     'repeat({a}, {n})', 'lpad({a}, {n})', 'zfill({a}, {n})', 'substring({a}, {n}, {n})', 'title({a})', 'cast({x} as string)',
                     "case when {c} then {a} else 'o' end", 'coalesce({a}, {a})'])
    return form.format(a=a, n=draw.one([0, 1, 3, -1, -9223372036854775807, 9223372036854775807]), m=draw.one([1, 2, -1]),
                       c=condition(draw, schema, depth - 1), x=number(draw, schema, 0))


def day(draw, schema):
    names = of_kind(schema, 'date')
    return quoted(draw.one(names)) if names and draw.chance(0.8) else draw.one(["date '2020-02-29'", "timestamp '1969-12-31 23:59:59'"])


def condition(draw, schema, depth=2):
    names = of_kind(schema, 'bool')
    if depth <= 0:
        if names and draw.chance(0.3):
            return quoted(draw.one(names))
        if draw.chance(0.4):
            return f'{quoted(draw.one(schema))} is {draw.one(["", "not "])}null'
        return f'{number(draw, schema, 0)} {draw.one(["<", "<=", "=", "<>", ">", ">="])} {number(draw, schema, 0)}'
    a, b = condition(draw, schema, depth - 1), condition(draw, schema, depth - 1)
    x, y = number(draw, schema, depth - 1), number(draw, schema, depth - 1)
    form = draw.one(['({a} and {b})', '({a} or {b})', 'not ({a})', '({x} < {y})', '({x} = {y})', '({x} >= {y})', '{x} between {y} and {x}',
                     '{x} in (1, 2, {y})', '{s} in ({l}, {l})', '{s} = {l}', '{s} < {l}', "{s} like {p}", '{s} not like {p}', 'contains({s}, {l})',
                     'startswith({s}, {l})', 'isnan(cast({x} as float64))', "{t} >= date '2020-01-01'", '{s} in ({l}, null)', '{t} < {t} + 3'])
    return form.format(a=a, b=b, x=x, y=y, s=text(draw, schema, depth - 1), l=draw.one(["'a'", "''", "'é'", "'ab'"]),
                       p=draw.one(["'a%'", "'%b'", "'_'", "'%'", "'%a%b%'", "''"]), t=day(draw, schema))


def any_expression(draw, schema):
    """With the dtype it is thought to have; None: who knows."""
    kind = draw.below(6)
    if kind < 2:
        return number(draw, schema), 'float64'
    if kind == 2:
        return text(draw, schema), 'string'
    if kind == 3:
        return condition(draw, schema), 'bool'
    name = draw.one(schema)
    return quoted(name), schema[name]


# ---- operators: (draw, schema) -> parameters, schema behind it ----

def fresh(draw, schema, count):
    return [draw.one(schema) if draw.chance(0.2) else f'n{draw.below(1000)}' for _ in range(count)]


def op_filter(draw, schema):
    return {'where': condition(draw, schema, 1 + draw.below(2))}, schema


def op_assign(draw, schema):
    made = {name: any_expression(draw, schema) for name in fresh(draw, schema, 1 + draw.below(3))}
    return {'columns': {n: e for n, (e, _) in made.items()}}, {**schema, **{n: d for n, (_, d) in made.items()}}


def op_project(draw, schema):
    made = {name: any_expression(draw, schema) for name in fresh(draw, schema, 1 + draw.below(4))}
    return {'columns': {n: e for n, (e, _) in made.items()}}, {n: d for n, (_, d) in made.items()}


def op_select(draw, schema):
    names = draw.some(schema, 6)
    return {'columns': names}, {n: schema[n] for n in names}


def op_sort(draw, schema):
    by = draw.some(schema, 3)
    parameters = {'by': by, 'descending': [draw.chance(0.5) for _ in by]}
    if draw.chance(0.4):
        parameters['nulls'] = [draw.one(['first', 'last']) for _ in by]
    return parameters, schema


def size(draw):
    return draw.one([0, 1, 2, 5, 40, 1000, 10**6, 2**31, 2**63 - 1, -1 if draw.chance(0.2) else 3])


def op_head(draw, schema):
    return {'rows': size(draw)}, schema


def op_slice(draw, schema):
    parameters = {}
    for name in ('start', 'stop', 'step'):
        if draw.chance(0.5):
            parameters[name] = draw.one([1, 2, -1, 3, -5, 100, -100, 2**63 - 1, -2**63, -2**63 + 1, 7] + ([0] if name != 'step' else []))
    return parameters, schema


def aggregates(draw, schema):
    made = {}
    for i in range(1 + draw.below(4)):
        function = draw.one(['size', 'count', 'sum', 'mean', 'min', 'max', 'first', 'last', 'nunique', 'mode', 'var', 'std', 'median', 'any', 'all',
                             'quantile', 'prod', 'skew', 'kurtosis', 'corr', 'sem'])
        name = draw.one(schema)
        argument = number(draw, schema, 1) if draw.chance(0.3) else quoted(name)
        if function == 'size':
            call = 'size'
        elif function == 'quantile':
            call = f'quantile({argument}, {draw.one([0, 0.5, 1, 0.3])})'
        elif function == 'corr':
            call = f'corr({argument}, {number(draw, schema, 0)})'
        else:
            call = f'{function}({argument})'
        made[f'g{i}'] = call
    return made, {n: 'int64' if c == 'size' or c.startswith(('count', 'nunique')) else 'float64' for n, c in made.items()}


def op_groupby(draw, schema):
    keys = draw.some(schema, 3, 0)
    made, types = aggregates(draw, schema)
    parameters = {'keys': keys, 'aggregate': made, 'dropna': draw.chance(0.5), 'sort': draw.chance(0.6)}
    return parameters, {**{k: schema[k] for k in keys}, **types}


def op_aggregate(draw, schema):
    made, types = aggregates(draw, schema)
    return {'aggregate': made}, types


def op_distinct(draw, schema):
    parameters = {'keep': draw.one(['first', 'last', 'none'])}
    if draw.chance(0.5):
        parameters['subset'] = draw.some(schema, 3)
    return parameters, schema


def op_value_counts(draw, schema):
    columns = draw.some(schema, 2)
    share = draw.chance(0.3)
    parameters = {'columns': columns, 'normalize': share, 'sort': draw.chance(0.5), 'ascending': draw.chance(0.5), 'dropna': draw.chance(0.5)}
    return parameters, {**{c: schema[c] for c in columns}, 'proportion' if share else 'count': 'float64' if share else 'int64'}


def op_window(draw, schema):
    columns = {}
    for i in range(1 + draw.below(3)):
        x = number(draw, schema, 1) if draw.chance(0.2) else quoted(draw.one(schema))
        n = draw.one([1, 2, 3, 10, 10**6] if draw.chance(0.9) else [0, -1, 2**63 - 1, -2**63, 10**6, 2**30])
        columns[f'w{i}'] = draw.one([
            f'cumsum({x})', f'cumprod({x})', f'cummax({x})', f'cummin({x})', 'cumcount()', 'row_number()', f'shift({x}, {n})', f'lag({x}, {n})',
            f'lead({x}, {n})', f'diff({x}, {n})', f'pct_change({x}, {n})', f'ffill({x})', f'bfill({x}, {n})', f"rank({x}, '{draw.one(['average', 'min', 'max', 'first', 'dense'])}')",
            'rank()', 'dense_rank()', f'ntile({n})', f'dense_rank({x})', f'first({x})', f'last({x})', f'min({x})', f'max({x})', f'sum({x})', f'mean({x})',
            f'std({x})', f'count({x})', 'size()', f'rolling_sum({x}, {n})', f'rolling_mean({x}, {n}, 1)', f'rolling_min({x}, {n}, 1, true)',
            f'rolling_median({x}, {n}, 1)', f'rolling_std({x}, {n})', f'rolling_count({x}, {n})', f'expanding_sum({x})', f'expanding_max({x}, {n})',
            f'expanding_var({x})', f'sum({x}) rows between {n} preceding and 1 following', f'median({x}) rows between 3 preceding and {n} following exclude current row',
            f'max({x}) groups between 1 preceding and current row exclude ties', f'std({x}) range between unbounded preceding and current row', f'nth({x}, 2) ignore nulls rows 3 preceding',
            f'list({x}) rows between 2 preceding and 1 preceding', f'count({x}) range between {n} preceding and {n} following', f'percent_rank()', f'ewm_mean({x}, 0.3)', f'ewm_mean({x}, 0.5, false, true)'])
    parameters = {'columns': columns}
    if draw.chance(0.5):
        parameters['partition'] = draw.some(schema, 2)
    if draw.chance(0.5):
        parameters['by'] = draw.some(schema, 2)
        parameters['descending'] = draw.chance(0.5)
    return parameters, {**schema, **{n: 'float64' for n in columns}}


def op_sample(draw, schema):
    return {**draw.one([{'rows': size(draw)}, {'fraction': draw.one([0.0, 0.5, 1.0, 0.01, 1e300])}]), 'seed': draw.below(100), 'replace': draw.chance(0.3)}, schema


def op_fillna(draw, schema):
    if draw.chance(0.4):
        return {'method': draw.one(['ffill', 'bfill']), **({'limit': draw.one([1, 2, 2**63 - 1])} if draw.chance(0.5) else {})}, schema
    return {'value': draw.one(['0', "'none'", '1.5', 'true', number(draw, schema, 0)])}, schema


def op_melt(draw, schema):
    dtype = draw.one(schema.values())
    values = [n for n, d in schema.items() if d == dtype]
    ids = [n for n in schema if n not in values][:2]
    return {'id_vars': ids, 'value_vars': values}, {**{n: schema[n] for n in ids}, 'variable': 'string', 'value': dtype}


def op_cast(draw, schema):
    name, dtype = draw.one(schema), draw.one(DTYPES[:-1])
    return {'columns': {name: dtype}, 'errors': draw.one(['coerce', 'coerce', 'raise'])}, {**schema, name: dtype}


def op_simple(draw, schema):
    return {}, schema


def op_dropna(draw, schema):
    return draw.one([{}, {'how': 'all'}, {'thresh': draw.one([0, 1, 2, 100])}, {'subset': draw.some(schema, 2)}]), schema


def op_explode(draw, schema):
    return {'column': draw.one(of_kind(schema, 'string') or list(schema)), 'separator': draw.one(['a', ',', 'é', ''] if draw.chance(0.1) else ['a', ','])}, schema


def op_rebalance(draw, schema):
    return {'rows': max(size(draw), 1 if draw.chance(0.9) else 0)}, schema


def op_n(draw, schema):
    return {'rows': size(draw), 'columns': draw.some(schema, 2)}, schema


def op_describe(draw, schema):
    return {}, {'statistic': 'string'}


def op_rename(draw, schema):
    names = draw.some(schema, 2)
    new = dict(zip(names, names[1:] + [f'r{draw.below(50)}']))
    return {'columns': new}, {new.get(n, n): d for n, d in schema.items()}


def op_index(draw, schema):
    return {}, {**schema, 'index': 'int64'}


def op_quantile(draw, schema):
    return {'q': draw.one([0, 0.5, 1, 0.25])}, {n: 'float64' for n in of_kind(schema, 'number')}


def op_where(draw, schema):
    return {'condition': condition(draw, schema, 1), 'other': any_expression(draw, schema)[0]}, schema


def op_drop(draw, schema):
    names = draw.some(schema, 2)
    return {'columns': names}, {n: d for n, d in schema.items() if n not in names} or schema


OPERATORS = {'filter': op_filter, 'assign': op_assign, 'project': op_project, 'select': op_select, 'sort': op_sort, 'head': op_head, 'tail': op_head,
             'slice': op_slice, 'groupby': op_groupby, 'aggregate': op_aggregate, 'distinct': op_distinct, 'duplicated': lambda d, s: (op_distinct(d, s)[0], {'duplicated': 'bool'}),
             'value_counts': op_value_counts, 'window': op_window, 'sample': op_sample, 'fillna': op_fillna, 'melt': op_melt, 'astype_columns': op_cast,
             'encode': op_simple, 'dropna': op_dropna, 'explode': op_explode, 'rebalance': op_rebalance, 'nlargest': op_n, 'nsmallest': op_n,
             'describe': op_describe, 'rename': op_rename, 'reset_index': op_index, 'quantile': op_quantile, 'where_columns': op_where,
             'mask_columns': op_where, 'drop': op_drop, 'count_rows': lambda d, s: ({}, {'rows': 'int64'})}
OFTEN = ['filter', 'assign', 'sort', 'groupby', 'window', 'distinct', 'slice', 'head'] * 3


def comparable(schema, other):
    pairs = [(a, b) for a in schema for b in other if schema[a] == other[b] or schema[a] in NUMBERS and other[b] in NUMBERS]
    return pairs or [(a, b) for a in schema for b in other]


def join_node(draw, schema, other):
    how = draw.one(['inner', 'left', 'right', 'outer', 'semi', 'anti', 'cross'] if draw.chance(0.5) else ['inner', 'left', 'semi', 'anti', 'outer'])
    node = {'op': 'join', 'how': how}
    pairs = draw.some(comparable(schema, other), 2)
    if how != 'cross':
        node.update(left_on=[a for a, _ in pairs], right_on=[b for _, b in pairs])
    if draw.chance(0.2):
        node['validate'] = draw.one(['1:1', '1:m', 'm:1'])
    if draw.chance(0.2) and how not in ('semi', 'anti', 'cross'):
        node['indicator'] = 'side'
    if how == 'anti' and draw.chance(0.5):
        node['null_aware'] = True
    if draw.chance(0.2):
        node['where'] = condition(draw, {**{n: d for n, d in other.items() if n not in schema}, **{n: d for n, d in schema.items() if n not in other}} or schema, 1)
    if draw.chance(0.2) and how == 'inner':
        node['order'] = 'any'
    keys = {a for a, b in pairs if a == b}
    both = {n for n in schema if n in other and n not in keys} if how not in ('semi', 'anti') else set()
    result = {n + '_x' if n in both else n: d for n, d in schema.items()}
    if how not in ('semi', 'anti'):
        result.update({n + '_y' if n in both else n: d for n, d in other.items() if n not in keys})
    return node, result


def random_graph(draw, left, right):
    """Nodes over the tables 'x' and 'y', and the last one's name."""
    schemas = {'x': {n: c.dtype for n, c in left.items()}, 'y': {n: c.dtype for n, c in right.items()}}
    nodes = {}
    last = 'x'
    for step in range(1 + draw.below(5)):
        name = f'v{step}'
        if not schemas[last]:
            break
        if draw.chance(0.15):
            other = draw.one(schemas)
            nodes[name], schemas[name] = join_node(draw, schemas[last], schemas[other])
            nodes[name]['inputs'] = [last, other]
        elif draw.chance(0.07):
            nodes[name], schemas[name] = {'op': 'concat', 'inputs': [last, draw.one(schemas)], **draw.one([{}, {'join': 'inner'}, {'axis': 1}])}, schemas[last]
        else:
            op = draw.one(OFTEN + list(OPERATORS))
            parameters, schemas[name] = OPERATORS[op](draw, schemas[last])
            nodes[name] = {'op': op, 'input': last, **parameters}
        last = name
    return nodes, last


# ---- runs ----

ALL = 'every node a target'


class Died(Exception):
    pass


def check_alive(error):
    """Executors that died, a daemon that is gone."""
    if any(word in str(error) for word in ('executors died', 'is not running', 'went away', 'timed out')):
        raise Died(str(error)) from error


def outcome(granary, nodes, targets, chunk_bytes=0):
    """The last target's columns, or the error. Whoever dies or does not end is no outcome."""
    try:
        return granary.run(nodes, targets, chunk_bytes)[-1]
    except GranaryError as error:
        check_alive(error)
        return str(error)


def difference(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return None if isinstance(a, str) and isinstance(b, str) else f'{a if isinstance(a, str) else "a result"}, but {b if isinstance(b, str) else "a result"}'
    if list(a) != list(b):
        return f'columns {list(a)}, but {list(b)}'
    return next((f'column {n}: {a[n]}, but {b[n]}' for n in a if not a[n] == b[n]), None)


def check_graph(granary, seed, counts):
    draw = Random(seed)
    left, right = random_frame(draw), random_frame(draw)
    nodes, last = random_graph(draw, left, right)
    many = draw.one([3, 5, 11])
    small = draw.one([1, 100, 1000, 4000])
    try:
        whole = {'x': granary.put(left), 'y': granary.put(right)}
        cut = {'x': granary.put(left, many), 'y': granary.put(right, 4)}
        coded = {'x': granary.put(encoded(left), 2), 'y': granary.put(encoded(right), 3)}
        want = outcome(granary, {**whole, **nodes}, [last])
        counts['failed' if isinstance(want, str) else 'ran'] += 1
        if os.environ.get('GRANARY_RANDOM_GRAPHS_SHOW'):
            print(seed, want if isinstance(want, str) else 'ran')
        others = {'in pieces': outcome(granary, {**cut, **nodes}, [last], small), ALL: outcome(granary, {**cut, **nodes}, list(nodes), small),
                  'encoded': outcome(granary, {**coded, **nodes}, [last])}
        for how, got in others.items():
            if how == ALL and isinstance(got, str):
                continue  # a target that the last one does not need
            wrong = difference(want, got)
            assert wrong is None, f'{how} ({many} pieces, chunk bytes {small}): {wrong}'
    except (AssertionError, Died) as error:
        print(f'seed {seed}: {type(error).__name__}: {str(error)[:1500]}\n  x = {left}\n  y = {right}\n  {json.dumps(nodes, ensure_ascii=False)}', flush=True)
        return False
    return True


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    bad, counts = [], {'ran': 0, 'failed': 0}
    with Instance(executors=2) as granary:
        for seed in range(first, first + COUNT):
            if not check_graph(granary, seed, counts):
                bad.append(seed)
    print(counts)
    assert not bad, f'seeds {bad}'


if __name__ == '__main__':
    main()
