"""Cases of operators of frames, as in frame_ops.py: what columns have, numbers of groups, columns one below the other, pivots with margins."""
import pandas as pd

import frame_model as m
from draw import INTEGERS, column, rows
from frame_model import FLOATING, height, missing, same_key
from frame_ops import DTYPES, NUMBERS, add, calm, fitting, frame, lists, moved, optional, some

# ---- what columns have ----

add('n_unique', lambda d: (lambda x: ([x], optional(d, {}, columns=lambda: some(d, x))))(frame(d, keys=1)),
    lambda f, p: {n: [len({same_key(v) for v in f[0][n].values if not missing(v)})] for n in f[0] if n in p.get('columns', f[0])})


def null_counts(f, p):
    gone = missing if p.get('nans') else lambda v: v is None
    return {n: [sum(1 for v in f[0][n].values if gone(v))] for n in f[0] if n in p.get('columns', f[0])}


add('null_count', lambda d: (lambda x: ([x], optional(d, {}, columns=lambda: some(d, x), nans=lambda: d.chance(0.8))))(frame(d)), null_counts)


# ---- columns by dtype ----

WORDS = {'number': lambda t: m.number(t), 'integer': lambda t: t in INTEGERS, 'float': lambda t: t in FLOATING, 'decimal': lambda t: t.startswith('decimal'),
         'temporal': lambda t: t in ('date', 'timestamp', 'duration'), 'list': lambda t: False}


def of_dtypes(words, dtype):
    return any(WORDS[w](dtype) if w in WORDS else w == dtype for w in words)


def by_dtypes(schema, p):
    return [n for n, t in schema.items() if ('include' not in p or of_dtypes(p['include'], t)) and not of_dtypes(p.get('exclude', []), t)]


def make_select_dtypes(draw):
    kept = frame(draw)
    schema = {n: c['dtype'] for n, c in kept.items()}
    p = {}
    for name in draw.choice([['include'], ['exclude'], ['include', 'exclude']]):
        p[name] = draw.some(list(WORDS) + list(schema.values()), 3)
    if draw.likely(0, 'include', 'exclude') and draw.want not in p:
        p[draw.want] = ['list']
    return [kept], p if by_dtypes(schema, p) else {'exclude': ['list']}


add('select_dtypes', make_select_dtypes, lambda f, p: {n: f[0][n].values for n in by_dtypes({n: c.dtype for n, c in f[0].items()}, p)})


# ---- numbers of groups ----

def make_ngroup(draw):
    kept = frame(draw, keys=draw.randint(1, 2))
    return [kept], optional(draw, {'keys': [n for n in kept if n[0] == 'k']}, ascending=lambda: draw.chance(0.3), name=lambda: draw.choice(['g', 'c0']))


def ngroup(f, p):
    found = m.groups(f[0], p['keys'])
    numbers = [None] * height(f[0])
    for g, places in enumerate(found):
        for i in places:
            numbers[i] = g if p.get('ascending', True) else len(found) - 1 - g
    return {**lists(f[0]), p.get('name', 'ngroup'): numbers}


add('ngroup', make_ngroup, ngroup)


# ---- columns one below the other, row by row ----

def make_stack(draw):
    count = rows(draw)
    dtype = draw.choice(DTYPES)
    kept = {'id': column(draw, 'int64', count), 'other': column(draw, 'string', count), **{f'v{i}': column(draw, dtype, count) for i in range(draw.randint(1, 3))}}
    values = [n for n in kept if n[0] == 'v']
    p = optional(draw, {}, var_name='which', value_name='what', dropna=lambda: draw.chance(0.2))
    if draw.chance(0.3) and draw.want not in ('id_vars', 'value_vars'):
        return [{n: kept[n] for n in values}], p
    p.update({'id_vars': draw.choice([['id', 'other'], ['other', 'id'], ['id']]), 'value_vars': values})
    if len(p['id_vars']) == 2 and draw.chance(0.5) and draw.want != 'value_vars':
        del p['value_vars']
    return [kept], p


def stack(f, p):
    ids = p.get('id_vars', [])
    values = [n for n in f[0] if n in p.get('value_vars', [n for n in f[0] if n not in ids])]
    places = [(i, n) for i in range(height(f[0])) for n in values if not (p.get('dropna', True) and missing(f[0][n].values[i]))]
    made = {n: [f[0][n].values[i] for i, _ in places] for n in ids}
    made[p.get('var_name', 'variable')] = [n for _, n in places]
    made[p.get('value_name', 'value')] = [f[0][n].values[i] for i, n in places]
    return made


add('stack_columns', make_stack, stack)


# ---- options of operators that frame_ops.py has ----

def plain(name):
    """The case as it was before the option, and its answer."""
    from frame_ops import OPERATORS
    return OPERATORS[name]


def extend(name, option, make, oracle):
    """Some of the cases are of an option, most when it is wanted."""
    before_make, before_oracle = plain(name)

    def made(draw):
        return make(draw) if draw.likely(0.3, option) else before_make(draw)

    add(name, made, lambda f, p: oracle(f, p) if option in p else before_oracle(f, p))


def make_describe(draw):
    include = draw.choice(['text', 'text', 'all', 'numbers'])
    numbers, texts = NUMBERS, ('string', 'string', 'bool')
    kept = frame(draw, dtypes=numbers if include == 'numbers' else texts if include == 'text' and draw.chance(0.5) else numbers + texts, wild=0)
    fits = [n for n, c in kept.items() if include == 'all' or (c['dtype'] in numbers) == (include == 'numbers')]
    if not fits:
        kept['s'] = column(draw, 'string', len(kept['c0']['values']))
        fits = ['s']
    return [kept], optional(draw, {'include': include}, columns=lambda: some(draw, fits))


def shown(value):
    return ('true' if value else 'false') if isinstance(value, bool) else value


def described(f, p):
    if p['include'] == 'numbers':
        columns = p.get('columns', [n for n, c in f[0].items() if c.dtype in NUMBERS])
        return DESCRIBE(f, {'columns': columns})
    statistics = ['count', 'unique', 'top', 'freq'] + ['mean', 'std', 'min', '25%', '50%', '75%', 'max'] * (p['include'] == 'all')
    made = {'statistic': statistics}
    for n, c in f[0].items():
        number = c.dtype in NUMBERS
        if n not in p.get('columns', [n]) or number and p['include'] == 'text':
            continue
        if number:
            told = DESCRIBE([{n: c}], {})[n]
            made[n] = told[:1] + [None] * 3 + told[1:]
            continue
        values = [v for v in c.values if not missing(v)]
        top = m.mode(values) if values else None
        told = [str(len(values)), str(len(set(values))), shown(top), str(values.count(top))] if values else ['0', None, None, None]
        made[n] = told + [None] * (len(statistics) - 4)
    return made


DESCRIBE = plain('describe')[1]
extend('describe', 'include', make_describe, described)


def make_count(draw):
    kept = frame(draw, dtypes=('float64', 'int64', 'int8'), wild=0)
    bins = draw.choice([1, 2, 3, 7])
    return [kept], optional(draw, {'column': draw.choice(list(kept)), 'count': bins}, labels=lambda: [f'l{i}' for i in range(bins)], right=lambda: draw.chance(0.5), name='bin')


def cut_evenly(f, p):
    values = [None if missing(v) else float(v) for v in f[0][p['column']].values]
    if any(v is not None for v in values):
        made = pd.cut(pd.Series(values, dtype='float64'), p['count'], right=p.get('right', True), labels=p.get('labels', False))
        values = [None if missing(v) else v if 'labels' in p else int(v) for v in made.astype(object)]
    return {**lists(f[0]), p.get('name', p['column']): values}


extend('cut', 'count', make_count, cut_evenly)


def make_filled(draw):
    kept = frame(draw, keys=1, dtypes=('int64', 'string', 'float64', 'bool', 'int64'))
    name = draw.choice([n for n in kept if n != 'k0'])
    p = {'fill_value': fitting(draw, kept[name]['dtype']), 'columns': [n for n in kept if n != 'k0' and kept[n]['dtype'] == kept[name]['dtype']]}
    return [kept], optional(draw, p, keys=['k0'], periods=lambda: draw.choice([0, 1, 2, -1, -3, 100]))


def filled(f, p):
    """Where nothing is moved to, which a column of true tells."""
    told = moved({**f[0], '#there': m.Values('bool', [True] * height(f[0]))}, {**p, 'columns': p['columns'] + ['#there']})
    there = told.pop('#there')
    for n in p['columns']:
        fill = float(m.literal(p['fill_value'])) if f[0][n].dtype in FLOATING else m.literal(p['fill_value'])
        told[n] = [v if t else fill for v, t in zip(told[n], there)]
    return told


extend('shift_columns', 'fill_value', make_filled, filled)


def make_margins(draw):
    count = rows(draw)
    only = draw.chance(0.3) and draw.want != 'margins'
    kept = {'k0': column(draw, draw.choice(['int64', 'string']), count, 0.1, 0),
            'cat': {'dtype': 'string', 'values': [draw.choice(['a', 'b', 'c', None]) for _ in range(count)]},
            'v': calm(column(draw, draw.choice(['int64', 'float64']), count, wild=0))}
    if only:
        pairs = list(zip(kept['k0']['values'], kept['cat']['values']))
        places = [i for i, pair in enumerate(pairs) if pair not in pairs[:i]]
        kept = {n: {**c, 'values': [c['values'][i] for i in places]} for n, c in kept.items()}
    p = {'index': ['k0'], 'columns': 'cat', 'values': 'v', 'categories': draw.some(['a', 'b', 'x'], 3)}
    if only:
        return [kept], {**p, 'aggregate': 'only'}
    return [kept], {**p, 'margins': 'All', 'aggregate': draw.choice(['mean', 'sum', 'size', 'max', 'count']), **optional(draw, {}, fill_value='0')}


def with_margins(f, p):
    """The same pivot over frames with a category more, and an index of one value."""
    before = plain_pivot
    rest = {n: v for n, v in p.items() if n != 'margins'}
    there = [i for i, k in enumerate(f[0]['k0'].values) if k is not None]
    mine = m.pick(f[0], there)
    whole = {**f[0], 'cat': m.Values('string', ['all' if c in p['categories'] else None for c in f[0]['cat'].values])}
    across = before([whole], {**rest, 'categories': ['all']})
    one = {**mine, 'k0': m.Values('string', ['one'] * height(mine))}
    total = before([one], rest)
    corner = before([{**m.pick(whole, there), 'k0': one['k0']}], {**rest, 'categories': ['all']})
    made = before(f, rest)
    empty = [0] if p['aggregate'] in ('size', 'count', 'sum') and False else [float(p['fill_value']) if 'fill_value' in p else None]
    result = {'k0': [str(k) for k in made['k0']] + [p['margins']]}
    for n in p['categories']:
        result[n] = made[n] + (total[n] or empty)
    return {**result, p['margins']: across['all'] + (corner['all'] or empty)}


plain_pivot = plain('pivot_table')[1]
extend('pivot_table', 'margins', make_margins, with_margins)
