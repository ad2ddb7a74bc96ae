"""Every operator of frames: how a case of it is drawn, and what pandas, or the model, gives for it.

OPERATORS[name] = (draw -> (inputs, parameters), (frames, parameters) -> {column: values}). Inputs are kept frames.
"""
import decimal
import math
import re

import numpy as np
import pandas as pd

import frame_model as m
from draw import DAY_ENDS, INTEGERS, US, column, rows, tensor, to_array
from frame_model import FLOATING, Values, height, missing, pick, same_key, sorted_places, tuples

OPERATORS = {}
DTYPES = INTEGERS + ('float32', 'float64', 'float64', 'string', 'string', 'bool', 'date', 'timestamp', 'duration', 'decimal(2)', 'decimal(4)')
KEYS = ('int64', 'string', 'int8', 'date', 'bool', 'float64', 'decimal(2)', 'uint16')


def add(name, maker, oracle):
    OPERATORS[name] = (maker, oracle)


def calm(kept):
    """Floats that sums and moments can bear; nan stays."""
    if kept['dtype'] in FLOATING:
        kept['values'] = [v if v is None or v != v or abs(v) < 1e6 and (abs(v) > 1e-3 or v == 0) else 2.5 for v in kept['values']]
    return kept


def frame(draw, count=None, dtypes=DTYPES, least=2, most=5, keys=0, wild=None, tame=True):
    """A kept frame: key columns k0 ... of few values, others c0 ..."""
    count = rows(draw) if count is None else count
    made = {}
    for i in range(keys):
        made[f'k{i}'] = calm(column(draw, draw.choice(KEYS), count, draw.choice([0, 0.2]), 0))
        pool = made[f'k{i}']['values'][:draw.randint(1, 4)] or [None]
        made[f'k{i}']['values'] = [draw.choice(pool) for _ in range(count)]
    for i in range(draw.randint(least, most)):
        one = column(draw, draw.choice(dtypes), count, wild=wild)
        made[f'c{i}'] = calm(one) if tame else one
    return made


def names(kept, test=lambda dtype: True):
    return [n for n, c in kept.items() if test(c['dtype'])]


def some(draw, among, most=3):
    return draw.some(among, most)


def optional(draw, parameters, **choices):
    for name, value in choices.items():
        if draw.likely(0.55, name):
            parameters[name] = value() if callable(value) else value
    return parameters


def lists(frame):
    return {n: c.values for n, c in frame.items()}


def rows_of(frame, places):
    return lists(pick(frame, places))


# ---- rows and columns ----

add('table', lambda d: ([frame(d, tame=False)], {}), lambda f, p: lists(f[0]))


def make_encode(draw):
    kept = frame(draw)
    kept['s'] = column(draw, 'string', len(next(iter(kept.values()))['values']))
    return [kept], optional(draw, {}, columns=['s'])


add('encode', make_encode, lambda f, p: lists(f[0]))
add('select', lambda d: (lambda x: ([x], {'columns': some(d, x, 4)}))(frame(d, tame=False)), lambda f, p: {n: f[0][n].values for n in p['columns']})
add('drop', lambda d: (lambda x: ([x], {'columns': some(d, x, len(x) - 1)}))(frame(d)), lambda f, p: {n: c.values for n, c in f[0].items() if n not in p['columns']})
add('rename', lambda d: (lambda x: ([x], {'columns': dict(zip(some(d, x, 2), ['new', 'other']))}))(frame(d)),
    lambda f, p: {p['columns'].get(n, n): c.values for n, c in f[0].items()})
add('rebalance', lambda d: ([frame(d)], {'rows': d.randint(1, 9)}), lambda f, p: lists(f[0]))
add('head', lambda d: ([frame(d)], {'rows': d.choice([0, 1, 3, 10, 100])}), lambda f, p: {n: c.values[:p['rows']] for n, c in f[0].items()})
add('tail', lambda d: ([frame(d)], {'rows': d.choice([0, 1, 3, 10, 100])}), lambda f, p: {n: c.values[max(0, len(c.values) - p['rows']):] for n, c in f[0].items()})
add('slice', lambda d: ([frame(d)], optional(d, {}, start=lambda: d.randint(-12, 12), stop=lambda: d.randint(-12, 12), step=lambda: d.choice([1, 2, -1, -3, 7]))),
    lambda f, p: {n: c.values[p.get('start'):p.get('stop'):p.get('step')] for n, c in f[0].items()})
add('reset_index', lambda d: ([frame(d)], optional(d, {}, name='place')), lambda f, p: {**lists(f[0]), p.get('name', 'index'): list(range(height(f[0])))})
def moved(frame, parameters):
    """pandas' shift: by itself in each group of equal keys; a row with a null key is in none."""
    keys, periods = parameters.get('keys', []), parameters.get('periods', 1)
    groups = {}
    for i in range(height(frame)):
        if any(frame[k].values[i] is None for k in keys):
            continue
        groups.setdefault(tuple(repr(frame[k].values[i]) for k in keys), []).append(i)
    result = lists(frame)
    for name in parameters.get('columns', [c for c in frame if c not in keys]):
        values = [None] * height(frame)
        for places in groups.values():
            for at, i in enumerate(places):
                if 0 <= at - periods < len(places):
                    values[i] = frame[name].values[places[at - periods]]
        result[name] = values
    return result


def make_shift(draw):
    kept = frame(draw, keys=1)
    return [kept], optional(draw, {}, keys=['k0'], columns=lambda: some(draw, kept), periods=lambda: draw.choice([0, 1, 2, -1, -3, 100]))


add('shift_columns', make_shift, lambda f, p: moved(f[0], p))
add('count_rows', lambda d: ([frame(d)], optional(d, {}, name='n')), lambda f, p: {p.get('name', 'rows'): [height(f[0])]})
add('filter', lambda d: (lambda x: ([x], {'where': m.condition(d, x)}))(frame(d)), lambda f, p: rows_of(f[0], [i for i in range(height(f[0])) if m.truth(p['where'], f[0], i)]))


def make_expressions(draw):
    kept = frame(draw)
    made = {}
    for name in some(draw, ['n0', 'n1', 'c0']):
        made[name] = draw.choice([m.condition(draw, kept), draw.choice(list(kept)), '7', "'text'"])
    return [kept], {'columns': made}


def computed(frame, text):
    count = height(frame)
    if text in frame:
        return frame[text].values
    if text in ('7', "'text'"):
        return [m.literal(text)] * count
    return [m.truth(text, frame, i) for i in range(count)]


add('assign', make_expressions, lambda f, p: {**lists(f[0]), **{n: computed(f[0], e) for n, e in p['columns'].items()}})
add('project', make_expressions, lambda f, p: {n: computed(f[0], e) for n, e in p['columns'].items()})


def make_sort(draw):
    kept = frame(draw, keys=draw.randint(0, 2), tame=False)
    by = some(draw, kept)
    p = {'by': by}
    if draw.chance(0.6):
        p['descending'] = [draw.chance(0.5) for _ in (by if draw.chance(0.6) else by[:1])]
    if draw.chance(0.5):
        p['nulls'] = [draw.choice(['first', 'last']) for _ in (by if draw.chance(0.6) else by[:1])]
    if draw.chance(0.3):
        p['nan_largest'] = draw.chance(0.8)
    return [kept], p


add('sort', make_sort, lambda f, p: rows_of(f[0], sorted_places(f[0], p['by'], p.get('descending', False), p.get('nulls', 'last'), None, p.get('nan_largest', False))))
for name, down in (('nlargest', True), ('nsmallest', False)):
    add(name, lambda d: (lambda x: ([x], {'rows': d.choice([0, 1, 3, 10]), 'columns': some(d, names(x, lambda t: t not in ('bool',)) or ['c0'], 2)}))(frame(d, keys=1)),
        lambda f, p, down=down: rows_of(f[0], sorted_places(f[0], p['columns'], down)[:p['rows']]))


# ---- missing values ----

def make_dropna(draw):
    kept = frame(draw)
    return [kept], optional(draw, {}, how=lambda: draw.choice(['any', 'all']), thresh=lambda: draw.randint(0, 4), subset=lambda: some(draw, kept))


def dropna(f, p):
    subset = p.get('subset', list(f[0]))
    there = [[not missing(f[0][n].values[i]) for n in subset] for i in range(height(f[0]))]
    if 'thresh' in p:
        return rows_of(f[0], [i for i, row in enumerate(there) if sum(row) >= p['thresh']])
    return rows_of(f[0], [i for i, row in enumerate(there) if (any(row) if p.get('how') == 'all' else all(row))])


add('dropna', make_dropna, dropna)


def make_fillna(draw):
    kept = frame(draw)
    form = {'limit': 0, 'method': 0, 'values': 1, 'value': 2}.get(draw.want, draw.randrange(3))
    if form == 0:
        p = optional(draw, {'method': draw.choice(['ffill', 'bfill'])}, limit=lambda: draw.randint(1, 3))
        return [kept], optional(draw, p, columns=lambda: some(draw, kept))
    fits = {n: fitting(draw, c['dtype']) for n, c in kept.items() if fitting(draw, c['dtype'])}
    if not fits:
        return [kept], {'method': 'ffill'}
    if form == 1:
        return [kept], {'values': {n: fits[n] for n in some(draw, fits)}}
    name = draw.choice(list(fits))
    return [kept], {'value': fits[name], 'columns': [n for n in fits if kept[n]['dtype'] == kept[name]['dtype']]}


def fitting(draw, dtype):
    """A literal that a column of this dtype holds."""
    return "'none'" if dtype == 'string' else '3' if m.number(dtype) else 'true' if dtype == 'bool' else None


def as_of(dtype, text):
    value = m.literal(text)
    return float(value) if dtype in FLOATING else decimal.Decimal(value) if dtype.startswith('decimal') else value


def fillna(f, p):
    made = lists(f[0])
    if 'method' in p:
        function = m.WINDOWS[p['method']]
        for n in p.get('columns', list(f[0])):
            made[n] = function(f[0][n].values, f[0][n].dtype, *([p['limit']] if 'limit' in p else []))
        return made
    values = p['values'] if 'values' in p else {n: p['value'] for n in p['columns']}
    for n, text in values.items():
        made[n] = [as_of(f[0][n].dtype, text) if missing(v) else v for v in made[n]]
    return made


add('fillna', make_fillna, fillna)


def make_replace(draw):
    kept = frame(draw, dtypes=('int64', 'int32', 'string', 'string'))
    dtype = draw.choice(('int64', 'string'))
    values = {'1': '5', '2': 'null'} if dtype == 'int64' else {"'a'": "'zz'", "'ab'": 'null', "''": "'a'"}
    chosen = [n for n in kept if (kept[n]['dtype'] == 'string') == (dtype == 'string')]
    if not chosen:
        return [kept], {'values': {"'a'": "'b'"} if dtype == 'int64' else {'1': '2'}}
    return [kept], optional(draw, {'values': dict(draw.some(values.items(), 3))}, columns=lambda: some(draw, chosen))


def replace(f, p):
    pairs = {m.literal(a): None if b == 'null' else m.literal(b) for a, b in p['values'].items()}
    texts = isinstance(next(iter(pairs)), str)
    made = {}
    for n, c in f[0].items():
        fits = (c.dtype == 'string') == texts and n in p.get('columns', [n])
        made[n] = [pairs.get(v, v) if fits and v is not None else v for v in c.values]
    return made


add('replace', make_replace, replace)


def make_clip(draw):
    kept = frame(draw, dtypes=('int64', 'int8', 'float64', 'float32', 'string', 'decimal(2)'))
    kept['n'] = column(draw, 'int64', len(kept['c0']['values']))
    numbers = names(kept, m.number)
    p = {n: v for n, v in draw.some((('lower', draw.choice([0, -1])), ('upper', draw.choice([2, 3]))), 2)}
    return [kept], optional(draw, p, columns=lambda: some(draw, numbers))


def clip(f, p):
    made = lists(f[0])
    for n in p.get('columns', [n for n, c in f[0].items() if m.number(c.dtype)]):
        kind = float if f[0][n].dtype in FLOATING else decimal.Decimal if f[0][n].dtype.startswith('decimal') else int
        made[n] = [v if missing(v) else max(kind(p['lower']), v) if 'lower' in p and v < p['lower'] else min(kind(p['upper']), v) if 'upper' in p else v for v in made[n]]
    return made


add('clip_columns', make_clip, clip)


def make_masked(draw):
    kept = frame(draw)
    p = {'condition': m.condition(draw, kept)}
    fits = {n: fitting(draw, c['dtype']) for n, c in kept.items() if fitting(draw, c['dtype'])}
    if fits and draw.chance(0.6):
        name = draw.choice(list(fits))
        return [kept], {**p, 'other': fits[name], 'columns': [n for n in fits if kept[n]['dtype'] == kept[name]['dtype']]}
    return [kept], optional(draw, p, columns=lambda: some(draw, kept))


def masked(keep):
    def oracle(f, p):
        made = lists(f[0])
        for n in p.get('columns', list(made)):
            other = as_of(f[0][n].dtype, p['other']) if 'other' in p else None
            made[n] = [v if (m.truth(p['condition'], f[0], i) is True) == keep else other for i, v in enumerate(made[n])]
        return made
    return oracle


add('where_columns', make_masked, masked(True))
add('mask_columns', make_masked, masked(False))


# ---- dtypes ----

CASTS = {'int64': ('float64', 'string', 'int32', 'decimal(2)', 'bool'), 'int32': ('int64', 'float64', 'string'), 'float64': ('float32', 'int64', 'bool'), 'bool': ('int64', 'string'),
         'string': ('int64', 'float64'), 'date': ('timestamp', 'string'), 'decimal(2)': ('float64', 'string', 'decimal(4)', 'int64')}


def make_astype(draw):
    kept = frame(draw, dtypes=tuple(CASTS), wild=0)
    coerce = draw.chance(0.6)
    for c in kept.values():
        if c['dtype'] == 'string' and not coerce:
            c['values'] = [None if v is None else draw.choice(['1', '-7', ' 12 ', '3']) for v in c['values']]
        c['values'] = [0.5 if isinstance(v, float) and v != v else v for v in c['values']]
    chosen = some(draw, kept)
    p = {'columns': {n: draw.choice(CASTS[kept[n]['dtype']]) for n in chosen}}
    return [kept], {**p, 'errors': 'coerce'} if coerce else optional(draw, p, errors='raise')


def cast(value, dtype, to):
    if value is None:
        return None
    if dtype == 'string':
        try:
            return float(value.strip()) if to == 'float64' else int(value.strip())
        except ValueError:
            rounded = to == 'int64' and re.fullmatch(r'[+-]?(\d+\.\d*|\.\d+)', value.strip())  # half away from 0, as in SQL
            return int(decimal.Decimal(rounded[0]).quantize(0, decimal.ROUND_HALF_UP)) if rounded else None
    if to == 'string':
        if dtype == 'bool':
            return 'true' if value else 'false'
        if dtype == 'date':
            return str(np.datetime64(value, 'D'))
        return format(value, 'f') if isinstance(value, decimal.Decimal) else str(value)
    if to == 'bool':
        return value != 0
    if to in FLOATING:
        return float(np.float32(value)) if to == 'float32' else float(value)
    if to.startswith('decimal'):
        return decimal.Decimal(value)
    if to == 'timestamp':
        return value * US
    if isinstance(value, decimal.Decimal):
        return int(value.quantize(0, decimal.ROUND_HALF_UP))
    return int(np.rint(value)) if isinstance(value, float) else int(value)


add('astype_columns', make_astype, lambda f, p: {n: [cast(v, c.dtype, p['columns'][n]) if n in p['columns'] else v for v in c.values] for n, c in f[0].items()})


def texts(draw, good, bad):
    count = rows(draw)
    p = optional(draw, {'columns': ['s']}, errors=lambda: draw.choice(['raise', 'coerce']))
    pool = good + (bad if p.get('errors') == 'coerce' else [])
    return {'s': {'dtype': 'string', 'values': [None if draw.chance(0.2) else draw.choice(pool) for _ in range(count)]}, 'c': column(draw, 'int64', count)}, p


def make_to_datetime(draw):
    if draw.chance(0.4):
        kept, p = texts(draw, ['31.01.2020 10:30', '01.12.1969 00:00', '29.02.2000 23:59'], ['30.02.2001 00:00', 'x'])
        return [kept], {**p, 'format': '%d.%m.%Y %H:%M'}
    kept, p = texts(draw, ['2020-01-31', '2020-01-31 12:00:00.5', '1969-12-31 23:59:59', '0001-01-01', '9999-12-31'], ['2001-02-29', 'x', ''])
    return [kept], p


def to_datetime(f, p):
    def one(text):
        try:
            if 'format' in p:
                import datetime
                return int(np.datetime64(datetime.datetime.strptime(text, p['format']), 'us').astype('i8'))
            return int(np.datetime64(text.replace(' ', 'T'), 'us').astype('i8')) if text else None
        except ValueError:
            return None
    return {'s': [None if v is None else one(v) for v in f[0]['s'].values], 'c': f[0]['c'].values}


add('to_datetime', make_to_datetime, to_datetime)


def make_to_numeric(draw):
    kept, p = texts(draw, ['1', '-2.5', '1e3', ' 7 ', '0.1'], ['x', '', '1,5'])
    return [kept], p


def to_float(text):
    try:
        return float(text)
    except ValueError:
        return None


add('to_numeric', make_to_numeric, lambda f, p: {'s': [None if v is None else to_float(v) for v in f[0]['s'].values], 'c': f[0]['c'].values})


# ---- groups ----

def make_groupby(draw):
    kept = frame(draw, keys=draw.randint(0, 2), wild=draw.choice([0, 0.05]))
    keys = names(kept)[:sum(n[0] == 'k' for n in kept)]
    others = {n: c for n, c in kept.items() if n not in keys}
    numbers = names(others, m.number)
    if numbers and draw.likely(0.1, 'largest', 'smallest'):
        p = {'keys': keys, 'aggregate': {'a': f'{draw.prefer(["largest", "smallest"])}({draw.choice(numbers)}, {draw.randint(1, 3)})'}}
    else:
        p = {'keys': keys, 'aggregate': {f'a{i}': m.aggregate_text(draw, others) for i in range(draw.randint(1, 4))}}
    return [kept], optional(draw, p, dropna=lambda: draw.chance(0.5), sort=lambda: draw.chance(0.5))


def groupby(f, p):
    found = m.groups(f[0], p['keys'], p.get('dropna', True))
    if not p['keys'] and not found:
        found = [[]]
    made = {n: [] for n in p['keys'] + list(p['aggregate'])}
    for places in found:
        text = next(iter(p['aggregate'].values()))
        if text.startswith(('largest', 'smallest')):
            name, n = text[text.index('(') + 1:-1].split(', ')
            values = sorted([f[0][name].values[i] for i in places if not missing(f[0][name].values[i])], key=m.sort_key, reverse=text.startswith('largest'))[:int(n)]
            made['a'] += values
            for key in p['keys']:
                made[key] += [f[0][key].values[places[0]]] * len(values)
            continue
        for key in p['keys']:
            made[key].append(f[0][key].values[places[0]])
        for n, text in p['aggregate'].items():
            made[n].append(m.aggregate(text, f[0], places))
    return made


add('groupby', make_groupby, groupby)
add('aggregate', lambda d: (lambda x: ([x], {'aggregate': {f'a{i}': m.aggregate_text(d, x) for i in range(d.randint(1, 4))}}))(frame(d, wild=0)),
    lambda f, p: {n: [m.aggregate(t, f[0], range(height(f[0])))] for n, t in p['aggregate'].items()})


def first_places(f, p):
    seen = {}
    for i, key in enumerate(tuples(f, p.get('subset', list(f)))):
        seen.setdefault(key, []).append(i)
    keep = p.get('keep', 'first')
    return sorted(places[0 if keep == 'first' else -1] for places in seen.values() if keep != 'none' or len(places) == 1)


def make_distinct(draw):
    kept = frame(draw, keys=2, least=0, most=1)
    return [kept], optional(draw, {}, subset=lambda: some(draw, kept), keep=lambda: draw.choice(['first', 'last', 'none']))


add('distinct', make_distinct, lambda f, p: rows_of(f[0], first_places(f[0], p)))
add('duplicated', make_distinct, lambda f, p: {'duplicated': [i not in first_places(f[0], p) for i in range(height(f[0]))]})


def make_value_counts(draw):
    kept = frame(draw, keys=2, least=0, most=1)
    return [kept], optional(draw, {}, columns=lambda: some(draw, kept, 2), normalize=lambda: draw.chance(0.6), sort=lambda: draw.chance(0.5), ascending=lambda: draw.chance(0.6),
                            dropna=lambda: draw.chance(0.4))


def value_counts(f, p):
    columns = p.get('columns', list(f[0]))
    found = m.groups(f[0], columns, p.get('dropna', True))
    if p.get('sort', True):
        found = sorted(found, key=lambda x: len(x) if p.get('ascending') else -len(x))
    counted = sum(len(x) for x in found)
    made = rows_of({n: f[0][n] for n in columns}, [x[0] for x in found])
    return {**made, 'proportion': [len(x) / counted for x in found]} if p.get('normalize') else {**made, 'count': [len(x) for x in found]}


add('value_counts', make_value_counts, value_counts)
NUMBERS = ('int64', 'int16', 'float64', 'uint8')


def make_numbers(draw, **more):
    kept = frame(draw, dtypes=NUMBERS, wild=0)
    return [kept], optional(draw, dict(more), columns=lambda: some(draw, kept))


def describe(f, p):
    made = {'statistic': ['count', 'mean', 'std', 'min', '25%', '50%', '75%', 'max']}
    for n in p.get('columns', list(f[0])):
        series = m.as_series(f[0][n].values).dropna()
        made[n] = [float(len(series))] + [m.or_null(x) for x in (series.mean(), series.std(), series.min(), series.quantile(0.25), series.quantile(0.5), series.quantile(0.75), series.max())]
    return made


add('describe', make_numbers, describe)
add('quantile', lambda d: (lambda c: (c[0], optional(d, c[1], q=lambda: d.choice([0, 0.1, 0.75, 1]))))(make_numbers(d)),
    lambda f, p: {n: [m.or_null(m.as_series(f[0][n].values).dropna().quantile(p.get('q', 0.5)))] for n in p.get('columns', list(f[0]))})


def matrix(function):
    def oracle(f, p):
        return {p.get('name', 'column'): p['columns'], **{a: [m.aggregate(f'{function}({b}, {a})', f[0], range(height(f[0]))) for b in p['columns']] for a in p['columns']}}
    return oracle


def kendall(a, b):
    """Of pairs of values, all of them compared with one another."""
    sign = lambda x: (x > 0) - (x < 0)
    pairs = [(sign(a[i] - a[k]), sign(b[i] - b[k])) for i in range(len(a)) for k in range(i)]
    first, second = sum(x != 0 for x, _ in pairs), sum(y != 0 for _, y in pairs)
    return sum(x * y for x, y in pairs) / math.sqrt(first) / math.sqrt(second) if first and second else None


def ranked_corr(f, a, b, method):
    """Of rows where both are there."""
    rows = [i for i in range(height(f)) if not missing(f[a].values[i]) and not missing(f[b].values[i])]
    left, right = [float(f[a].values[i]) for i in rows], [float(f[b].values[i]) for i in rows]
    if len(rows) < 2 or len(set(left)) < 2 or len(set(right)) < 2:
        return None
    return kendall(left, right) if method == 'kendall' else m.or_null(pd.Series(left).rank().corr(pd.Series(right).rank()))


def corr(f, p):
    if p.get('method', 'pearson') == 'pearson':
        return matrix('corr')(f, p)
    return {p.get('name', 'column'): p['columns'], **{a: [ranked_corr(f[0], b, a, p['method']) for b in p['columns']] for a in p['columns']}}


add('corr', lambda d: (lambda x: ([x], optional(d, {'columns': some(d, x, 4)}, name='of', method=lambda: d.choice(['pearson', 'spearman', 'kendall']))))(frame(d, dtypes=NUMBERS, wild=0)), corr)
for name in ('cov',):
    add(name, lambda d: (lambda x: ([x], optional(d, {'columns': some(d, x, 4)}, name='of')))(frame(d, dtypes=NUMBERS, wild=0)), matrix(name))


def grouped(draw):
    kept = frame(draw, keys=draw.randint(1, 2))
    return kept, [n for n in kept if n[0] == 'k']


def of_groups(choose):
    def oracle(f, p):
        places = sorted(i for found in m.groups(f[0], p['keys']) for i in choose(found, p))
        return rows_of(f[0], places)
    return oracle


def make_group(draw):
    kept, keys = grouped(draw)
    return [kept], {'keys': keys, 'rows': draw.randint(-2, 4)}


add('group_head', make_group, of_groups(lambda x, p: x[:p['rows']]))
add('group_tail', make_group, of_groups(lambda x, p: x[max(0, len(x) - p['rows']):] if p['rows'] >= 0 else x[-p['rows']:]))
add('group_nth', lambda d: (lambda g: ([g[0]], {'keys': g[1], 'n': d.some([0, 1, 2, -1, -2], 3)}))(grouped(d)),
    of_groups(lambda x, p: {x[n] for n in p['n'] if -len(x) <= n < len(x)}))


def make_idx(draw):
    kept = frame(draw, dtypes=NUMBERS, keys=1)
    return [kept], optional(draw, {'columns': some(draw, [n for n in kept if n[0] == 'c'])}, keys=['k0'])


def extreme(sign):
    def oracle(f, p):
        keys = p.get('keys', [])
        found = m.groups(f[0], keys) or ([] if keys else [[]])
        made = {k: [f[0][k].values[x[0]] for x in found] for k in keys}
        for n in p['columns']:
            v = f[0][n].values
            made[n] = [max((i for i in x if not missing(v[i])), key=lambda i: (sign * v[i], -i), default=None) for x in found]
        return made
    return oracle


add('idxmax', make_idx, extreme(1))
add('idxmin', make_idx, extreme(-1))


def make_factorize(draw):
    kept = frame(draw, keys=1)
    return [kept], optional(draw, {'column': draw.choice(list(kept))}, name='f', sort=lambda: draw.chance(0.7))


def factorize(f, p):
    values = f[0][p['column']].values
    places = {}
    order = sorted_places(f[0], [p['column']]) if p.get('sort') else range(len(values))
    for i in order:
        if not missing(values[i]):
            places.setdefault(same_key(values[i]), len(places))
    return {**lists(f[0]), p.get('name', 'code'): [-1 if missing(v) else places[same_key(v)] for v in values]}


add('factorize', make_factorize, factorize)


def make_window(draw):
    kept = frame(draw, keys=1, most=5, wild=0)
    p = {}
    for column in kept.values():
        if column['dtype'] == 'float64' and column['values'] and draw.chance(0.3):
            column['values'][0] = draw.choice([1e20, -1e15, 1e30])  # far from the rest, which must not suffer when it has gone
    if draw.chance(0.5):
        p['partition'] = ['k0']
    if draw.likely(0.5, 'descending', 'nulls', 'nan_largest'):
        p['by'] = some(draw, kept, 2)
        if draw.likely(0.5, 'descending'):
            p['descending'] = [draw.chance(0.5) for _ in p['by']]
        if draw.likely(0.5, 'nulls'):
            p['nulls'] = [draw.choice(['first', 'last']) for _ in p['by']]
        if draw.likely(0.3, 'nan_largest'):
            p['nan_largest'] = draw.chance(0.8)
    if draw.likely(0.3, 'dropna'):
        p['dropna'] = draw.chance(0.3)
    among = list(m.WINDOWS) + list(m.BY_ORDER)
    columns = {}
    for i in range(draw.randint(1, 3)):
        text = m.framed_text(draw, kept, p.get('by', [])) if draw.chance(0.3) else m.window_text(draw, kept, p.get('by', []), draw.prefer(among))
        if text:
            columns[f'w{i}'] = text
    return [kept], {**p, 'columns': columns or {'w': 'row_number()'}}


add('window', make_window, lambda f, p: {**lists(f[0]), **{n: m.window(t, f[0], p) for n, t in p['columns'].items()}})


# ---- categories and bins ----

def make_cut(draw):
    kept = frame(draw, dtypes=('float64', 'int64'), wild=0)
    bins = draw.choice([['0', '2', '5'], ['-10', '0', '0.5', '100'], ['1', '3']])
    p = {'column': draw.choice(list(kept)), 'bins': bins}
    return [kept], optional(draw, p, labels=lambda: [f'l{i}' for i in range(len(bins) - 1)], right=lambda: draw.chance(0.5), include_lowest=lambda: draw.chance(0.7), name='bin')


def cut(f, p):
    right = p.get('right', True)
    edges = [float(b) for b in p['bins']]
    labels = p.get('labels') or [(f'({a}, {b}]' if right else f'[{a}, {b})') for a, b in zip(p['bins'], p['bins'][1:])]
    made = pd.cut(m.as_series(f[0][p['column']].values), edges, right=right, include_lowest=p.get('include_lowest', False) and right, labels=labels)
    return {**lists(f[0]), p.get('name', p['column']): [None if isinstance(v, float) else v for v in made.astype(object)]}


add('cut', make_cut, cut)


def make_qcut(draw):
    count = draw.choice([3, 8, 20])
    values = draw.sample(range(100), count)
    kept = {'c0': {'dtype': draw.choice(['int64', 'float64']), 'values': [None if draw.chance(0.1) else v for v in values]}, 'c1': column(draw, 'string', count)}
    if kept['c0']['dtype'] == 'float64':
        kept['c0']['values'] = [None if v is None else float(v) for v in kept['c0']['values']]
    if draw.chance(0.5):
        p, bins = {'q': draw.randint(1, 3)}, None
        bins = p['q']
    else:
        p, bins = {'quantiles': ['0', '0.25', '0.9']}, 2
    return [kept], optional(draw, {'column': 'c0', **p}, labels=lambda: [f'l{i}' for i in range(bins)], name='bin')


def qcut(f, p):
    q = p.get('q') or [float(x) for x in p['quantiles']]
    made = pd.qcut(m.as_series(f[0]['c0'].values), q, labels=p.get('labels', False))
    if 'labels' in p:
        values = [None if isinstance(v, float) else v for v in made.astype(object)]
    else:
        values = [None if v != v else int(v) for v in made]
    return {**lists(f[0]), p.get('name', 'c0'): values}


add('qcut', make_qcut, qcut)


def make_dummies(draw):
    kept = frame(draw)
    dtype = draw.choice(['string', 'string', 'int64', 'bool', 'date'])
    kept['s'] = column(draw, dtype, len(kept['c0']['values']), wild=0)
    pool = {'string': ['a', 'ab', 'b', 'zz'], 'int64': ['1', '2', '-3'], 'bool': ['true', 'false'], 'date': ['1970-01-01', '2020-02-29']}[dtype]
    return [kept], optional(draw, {'column': 's', 'categories': draw.some(pool, 3)}, prefix=lambda: draw.choice(['p', '']))


def dummies(f, p):
    prefix = p.get('prefix', p['column'])
    made = {n: c.values for n, c in f[0].items() if n != p['column']}
    dtype = f[0][p['column']].dtype
    meant = {x: x if dtype == 'string' else int(np.datetime64(x).astype(int)) if dtype == 'date' else m.literal(x) for x in p['categories']}
    return {**made, **{f'{prefix}_{x}' if prefix else x: [v == meant[x] for v in f[0][p['column']].values] for x in p['categories']}}


add('get_dummies', make_dummies, dummies)


def make_pivot(draw):
    count = rows(draw)
    kept = {'k0': column(draw, draw.choice(['int64', 'string']), count, 0.1, 0), 'cat': {'dtype': 'string', 'values': [draw.choice(['a', 'b', 'c', None]) for _ in range(count)]},
            'v': calm(column(draw, draw.choice(['int64', 'float64']), count, wild=0))}
    p = {'index': ['k0'], 'columns': 'cat', 'values': 'v', 'categories': draw.some(['a', 'b', 'x'], 3)}
    return [kept], optional(draw, p, aggregate=lambda: draw.choice(['mean', 'sum', 'size', 'max', 'count', 'first']), fill_value=lambda: '0' if p.get('aggregate') in ('sum', 'size', 'count') else '7')


def pivot(f, p):
    found = m.groups(f[0], p['index'])
    how = {'only': 'first'}.get(p.get('aggregate', 'mean'), p.get('aggregate', 'mean'))
    made = {k: [f[0][k].values[x[0]] for x in found] for k in p['index']}
    kind = float if how == 'mean' or f[0]['v'].dtype == 'float64' and how in ('sum', 'max', 'first') else int
    fill = kind(p['fill_value']) if 'fill_value' in p else None
    for category in p['categories']:
        values = []
        for places in found:
            mine = [i for i in places if f[0]['cat'].values[i] == category]
            value = m.aggregate('size' if how == 'size' else f'{how}(v)', f[0], mine) if mine else None
            values.append(fill if value is None and not mine else value)
        made[category] = values
    return made


add('pivot_table', make_pivot, pivot)


# ---- shapes ----

def make_melt(draw):
    count = rows(draw)
    dtype = draw.choice(DTYPES)
    kept = {'id': column(draw, 'int64', count), 'other': column(draw, 'string', count), **{f'v{i}': column(draw, dtype, count) for i in range(draw.randint(1, 3))}}
    values = [n for n in kept if n[0] == 'v']
    if draw.chance(0.3):
        return [{n: kept[n] for n in values}], optional(draw, {}, var_name='which', value_name='what')
    p = {'id_vars': draw.choice([['id', 'other'], ['other', 'id'], ['id']]), 'value_vars': values}
    if len(p['id_vars']) == 2 and draw.chance(0.5):
        del p['value_vars']
    return [kept], optional(draw, p, var_name='which', value_name='what')


def melt(f, p):
    ids = p.get('id_vars', [])
    values = p.get('value_vars', [n for n in f[0] if n not in ids])
    made = {n: f[0][n].values * len(values) for n in ids}
    made[p.get('var_name', 'variable')] = [n for n in values for _ in range(height(f[0]))]
    made[p.get('value_name', 'value')] = [v for n in values for v in f[0][n].values]
    return made


add('melt', make_melt, melt)


def make_explode(draw):
    kept = frame(draw)
    kept['s'] = {'dtype': 'string', 'values': [None if draw.chance(0.1) else draw.choice(['a,b', '', 'x', ',', 'a,,b', 'é, ü', 'a::b', '::']) for _ in kept['c0']['values']]}
    return [kept], {'column': 's', 'separator': draw.choice([',', '::', ', '])}


def explode(f, p):
    places, parts = [], []
    for i, v in enumerate(f[0]['s'].values):
        for part in [None] if v is None else v.split(p['separator']):
            places.append(i)
            parts.append(part)
    return {**rows_of(f[0], places), 's': parts}


add('explode', make_explode, explode)
RANGES = {'D': 'D', 'h': 'H', 'min': 'T', 's': 'S', 'ms': 'L', 'us': 'U', 'MS': 'MS'}


def date_range(f, p):
    freq = p.get('freq', 'D')
    unit = freq.lstrip('0123456789')
    made = pd.date_range(p['start'], periods=p['periods'], freq=freq[:len(freq) - len(unit)] + RANGES[unit])
    if unit == 'MS':
        made = made.normalize()
    return {p.get('name', 'date'): [int(x.value // 1000) for x in made]}


add('date_range', lambda d: ([], optional(d, {'start': d.choice(['2020-01-31', '1999-12-31 23:59:59', '2000-02-01']), 'periods': d.randint(0, 9)},
                                          freq=lambda: d.choice(['D', 'h', 'min', '15min', '2D', 's', 'ms', 'us', 'MS', '3MS', '7h']), name='t')), date_range)


# ---- two frames ----

def make_join(draw):
    how = {'null_aware': 'anti', 'order': 'inner'}.get(draw.want) or draw.choice(['inner', 'left', 'right', 'outer', 'semi', 'anti', 'cross'][:4 if draw.want in ('validate', 'indicator') else 7])
    kinds = [draw.choice(KEYS) for _ in range(1 if draw.want == 'null_aware' else draw.randint(1, 2))]
    sides = []
    for side in range(2):
        count = draw.choice([0, 1, 4, 9, 20])
        kept = {f'k{i}': calm(column(draw, kind, count, draw.choice([0, 0.2]), 0)) for i, kind in enumerate(kinds)}
        kept.update({'same': column(draw, 'int64', count, wild=0), f'own{side}': column(draw, draw.choice(DTYPES), count)})
        sides.append(kept)
    p = {'how': how} if how != 'inner' or draw.chance(0.5) else {}
    keys = [f'k{i}' for i in range(len(kinds))]
    if how == 'cross':
        sides[1] = {n if n[0] != 'k' else 'r' + n: c for n, c in sides[1].items()}
    elif draw.chance(0.6):
        p['on'] = keys
    else:
        sides[1] = {n if n[0] != 'k' else 'r' + n: c for n, c in sides[1].items()}
        p['left_on'], p['right_on'] = keys, ['r' + k for k in keys]
    if how not in ('semi', 'anti'):
        optional(draw, p, suffixes=['_l', '_r'])
    if how not in ('semi', 'anti', 'cross') and draw.likely(0.3, 'indicator'):
        p['indicator'] = 'side'
    if how != 'cross' and draw.likely(0.25 * (draw.want not in ('null_aware', 'order', 'validate')), 'where'):
        p['where'] = draw.choice(['same_x', 'same_y'] if 'suffixes' not in p else ['same_l', 'same_r']) + draw.choice([' > 1', ' is null', ' < 3'])
    elif how == 'anti' and draw.likely(0.5, 'null_aware') and len(keys) == 1:
        p['null_aware'] = draw.chance(0.8)
    elif how == 'inner' and draw.likely(0.3 * (draw.want != 'validate'), 'order'):
        p['order'] = draw.choice(['left', 'any'])
    elif draw.likely(0.3, 'validate') and how not in ('cross', 'semi', 'anti'):
        p['validate'] = draw.choice(['1:1', '1:m', 'm:1'])
    return sides, p


def join(f, p):
    left, right = f
    how = p.get('how', 'inner')
    lk, rk = (p['on'], p['on']) if 'on' in p else (p.get('left_on', []), p.get('right_on', []))
    a, b = tuples(left, lk), tuples(right, rk)
    suffixes = p.get('suffixes', ['_x', '_y'])
    shared = [n for n in left if n in right and n not in (lk if lk == rk else [])]
    left_names = {n: n + suffixes[0] if n in shared else n for n in left}
    right_names = {n: n + suffixes[1] if n in shared else n for n in right if not (lk == rk and n in rk)}
    if 'validate' in p:
        for side, keys in (('1', a), ('1', b)):
            known = [k for k in keys if None not in k]
            if (p['validate'].split(':')[0 if keys is a else 1] == '1') and len(set(known)) < len(known):
                raise ValueError('a key repeats')

    def match(i, j):
        if how != 'cross' and (a[i] != b[j] or None in a[i]):
            return False
        if 'where' not in p:
            return True
        row = {left_names[n]: Values(c.dtype, [c.values[i]]) for n, c in left.items()}
        row.update({right_names[n]: Values(right[n].dtype, [right[n].values[j]]) for n in right_names})
        return m.truth(p['where'], row, 0) is True

    n, k = height(left), height(right)
    table = [[j for j in range(k) if match(i, j)] for i in range(n)]
    if how in ('semi', 'anti'):
        keep = [i for i in range(n) if bool(table[i]) == (how == 'semi')]
        if p.get('null_aware') and k:
            keep = [] if any(None in x for x in b) else [i for i in keep if None not in a[i]]
        return rows_of(left, keep)
    pairs = [(i, j) for i in range(n) for j in table[i]]
    if how in ('left', 'outer'):
        pairs = [(i, j) for i in range(n) for j in (table[i] or [None])]
    matched = {j for i, j in pairs if j is not None}
    if how == 'outer':
        pairs += [(None, j) for j in range(k) if j not in matched]
    if how == 'right':
        pairs = [(i, j) for j in range(k) for i in ([x for x in range(n) if j in table[x]] or [None])]
    made = {}
    for name, c in left.items():
        values = [None if i is None else c.values[i] for i, _ in pairs]
        if lk == rk and name in lk:
            values = [right[name].values[j] if i is None or how == 'right' else v for v, (i, j) in zip(values, pairs)]
        made[left_names[name]] = values
    for name, to in right_names.items():
        made[to] = [None if j is None else right[name].values[j] for _, j in pairs]
    if 'indicator' in p:
        made[p['indicator']] = ['left_only' if j is None else 'right_only' if i is None else 'both' for i, j in pairs]
    return made


add('join', make_join, join)


def make_concat(draw):
    if draw.chance(0.3):
        count = rows(draw)
        parts = [{f'{i}{n}': c for n, c in frame(draw, count, most=3).items()} for i in range(draw.randint(1, 3))]
        return [{f'n{n}': c for n, c in part.items()} for part in parts], {'axis': 1}
    kinds = {f'c{i}': draw.choice(DTYPES) for i in range(4)}
    inputs = []
    for _ in range(draw.randint(1, 3)):
        count = rows(draw)
        inputs.append({n: column(draw, kinds[n], count) for n in ['c0'] + draw.some(['c1', 'c2', 'c3'], 3, 0)})
    p = optional(draw, {}, axis=0, join=lambda: draw.choice(['inner', 'outer']))
    if draw.chance(0.3):
        p['convert'] = True
        for part in inputs:
            part['mixed'] = column(draw, draw.choice(['bool', 'int64']), len(part['c0']['values']))
    return inputs, p


def concat(f, p):
    if p.get('axis') == 1:
        return {n: c.values for x in f for n, c in x.items()}
    columns = list(dict.fromkeys(n for x in f for n in x))
    if p.get('join') == 'inner':
        columns = [n for n in columns if all(n in x for x in f)]
    values = {n: [v for x in f for v in (x[n].values if n in x else [None] * height(x))] for n in columns}
    if p.get('convert') and len({x['mixed'].dtype for x in f}) > 1:
        values['mixed'] = [None if v is None else int(v) for v in values['mixed']]
    return values


add('concat', make_concat, concat)


def make_asof(draw):
    kind = draw.choice(['int64', 'float64', 'timestamp', 'date'])
    sides = []
    for side in range(2):
        count = draw.choice([0, 1, 5, 12])
        kept = {('k' if side == 0 else 'k'): calm(column(draw, kind, count, 0.1, 0)), 'g': column(draw, 'string', count, 0.1, 0), 'same': column(draw, 'int64', count), f'own{side}': column(draw, 'string', count)}
        sides.append(kept)
    p = optional(draw, {}, by=['g'], direction=lambda: draw.choice(['backward', 'forward', 'nearest']), allow_exact_matches=lambda: draw.chance(0.3), suffixes=['_l', '_r'])
    if draw.chance(0.4):
        p['tolerance'] = {'int64': '2', 'float64': '1.5', 'timestamp': "interval '2' hour", 'date': "interval '3' day"}[kind]
    if draw.chance(0.6):
        p['on'] = 'k'
    else:
        sides[1] = {('rk' if n == 'k' else n): c for n, c in sides[1].items()}
        p['left_on'], p['right_on'] = 'k', 'rk'
    return sides, p


def asof(f, p):
    left, right = f
    lk, rk = (p['on'], p['on']) if 'on' in p else (p['left_on'], p['right_on'])
    by = p.get('by', [])
    limit = {'2': 2, '1.5': 1.5, "interval '2' hour": 2 * 3600 * 10**6, "interval '3' day": 3}.get(p.get('tolerance'))
    exact, direction = p.get('allow_exact_matches', True), p.get('direction', 'backward')
    a, b = tuples(left, by), tuples(right, by)

    def find(i):
        x = left[lk].values[i]
        if missing(x) or None in a[i]:
            return None
        best = None
        for j in range(height(right)):
            y = right[rk].values[j]
            if missing(y) or a[i] != b[j] or (not exact and y == x) or (limit is not None and abs(x - y) > limit):
                continue
            if y <= x and direction != 'forward':
                rank = (-abs(x - y), 1, j)
            elif y >= x and direction != 'backward':
                rank = (-abs(x - y), 0, -j)
            else:
                continue
            best = max(best, (rank, j)) if best else (rank, j)
        return best and best[1]

    places = [find(i) for i in range(height(left))]
    suffixes = p.get('suffixes', ['_x', '_y'])
    gone = set(by) | ({rk} if lk == rk else set())
    made = {n + suffixes[0] if n in right and n not in gone else n: c.values for n, c in left.items()}
    for n, c in right.items():
        if n not in gone:
            made[n + suffixes[1] if n in left else n] = [None if j is None else c.values[j] for j in places]
    return made


add('merge_asof', make_asof, asof)


def make_keyed(draw):
    sides = []
    kinds = {'v': draw.choice(DTYPES), 'w': draw.choice(DTYPES)}
    for _ in range(2):
        keys = draw.sample(range(12), draw.choice([0, 1, 5, 9]))
        sides.append({'k': {'dtype': 'int64', 'values': keys}, **{n: column(draw, t, len(keys)) for n, t in kinds.items()}})
    return sides, {'on': ['k'], 'columns': draw.choice([['v'], ['w', 'v'], ['v', 'w']])}


def update(f, p):
    right = {k: i for i, k in enumerate(f[1]['k'].values)}
    made = lists(f[0])
    for n in p['columns']:
        new = [f[1][n].values[right[k]] if k in right else None for k in f[0]['k'].values]
        made[n] = [old if missing(v) else v for old, v in zip(made[n], new)]
    return made


def combine(f, p):
    left, right = ({k: i for i, k in enumerate(x['k'].values)} for x in f)
    keys = sorted(set(left) | set(right))
    made = {'k': keys}
    for n in f[0]:  # what is not to be combined stays the left one's
        def value(k, n=n):
            if n not in p['columns']:
                return f[0][n].values[left[k]] if k in left else None
            mine = f[0][n].values[left[k]] if k in left else None
            other = f[1][n].values[right[k]] if k in right else None
            return mine if not missing(mine) else other
        made[n] = keys if n == 'k' else [value(k) for k in keys]
    return made


add('update', make_keyed, update)
add('combine_first', make_keyed, combine)


# ---- between frames and tensors: inputs are tensors for from_tensor; to_tensor gives one ----

def make_from_tensor(draw):
    count, width = rows(draw), draw.randint(1, 3)
    return [tensor(draw, [count, width] if width > 1 or draw.chance(0.5) else [count])], {'columns': [f'c{i}' for i in range(width)]}


add('from_tensor', make_from_tensor, lambda f, p: {n: (f[0] if f[0].ndim == 1 else f[0][:, i]).tolist() for i, n in enumerate(p['columns'])})


def make_to_tensor(draw):
    kept = frame(draw, dtypes=('int64', 'int8', 'float32', 'float64', 'bool', 'uint8'))
    for c in kept.values():
        if c['dtype'] not in FLOATING:
            c['values'] = [0 if v is None else v for v in c['values']]
            c['values'] = [bool(v) for v in c['values']] if c['dtype'] == 'bool' else c['values']
    p = optional(draw, {}, columns=lambda: some(draw, kept), rows=len(kept['c0']['values']))
    if draw.likely(0.3, 'flat'):
        p['columns'], p['flat'] = [draw.choice(list(kept))], draw.chance(0.8)
    return [kept], p


def to_tensor(f, p):
    chosen = p.get('columns', list(f[0]))
    arrays = [np.array([math.nan if v is None else v for v in f[0][n].values], dtype=f[0][n].dtype) for n in chosen]
    made = np.stack([x.astype(np.result_type(*arrays)) for x in arrays], axis=1)
    return made[:, 0] if p.get('flat') else made


add('to_tensor', make_to_tensor, to_tensor)

import frame_shapes  # noqa: E402,F401  more cases, which stand on these
import frame_time  # noqa: E402,F401  operators that go by time
