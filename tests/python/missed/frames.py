"""Frames: shapes, groups, columns."""
import io

import granary.frames as gr

COMPLETE = True

col = gr.col


def t(**columns):
    return gr.from_dict(columns)


cs = gr.selectors
NESTED = b'{"a": {"b": 1}, "z": 2}\n'


def sales():
    return t(k=['a', 'b', 'a', 'b'], c=['x', 'y', 'y', 'y'], v=[1, 2, 3, 4])


# topic, method, call, answer: a frame's as a dict of lists
ROWS = [
    ('pivot with found columns', 'LazyFrame.pivot_table', lambda: sales().pivot_table('k', 'c', 'v', aggfunc='sum', fill_value=0), {'k': ['a', 'b'], 'x': [1, 0], 'y': [3, 6]}),
    ('pivot with found columns', 'LazyFrame.pivot', lambda: sales().head(2).pivot(on='c', index='k', values='v'), {'k': ['a', 'b'], 'x': [1, None], 'y': [None, 2]}),
    ('dummies of found categories', 'LazyFrame.get_dummies', lambda: t(c=['x', None, 'y']).get_dummies(), {'c_x': [True, False, False], 'c_y': [False, False, True]}),
    ('dummies of found categories', 'LazyFrame.to_dummies', lambda: t(n=[7, 5]).to_dummies('n', drop_first=True), {'n_7': [True, False]}),
    ('list aggregation', 'Expr.implode', lambda: t(k=[1, 1, 2], v=[3, None, 5]).group_by('k').agg(col('v').implode()), {'k': [1, 2], 'v': [[3.0], [5.0]]}),
    ('list aggregation', 'GroupBy.agg', lambda: sales().group_by('k').agg(v=('v', list), c=('c', set)), {'k': ['a', 'b'], 'v': [[1, 3], [2, 4]], 'c': [['x', 'y'], ['y']]}),
    ('string aggregation', 'Expr.str.join', lambda: t(k=[1, 1, 2], v=['a', 'b', None]).group_by('k').agg(col('v').str.join('-')), {'k': [1, 2], 'v': ['a-b', None]}),
    ('describe of text', 'LazyFrame.describe', lambda: t(c=['x', 'y', 'y', None]).describe(include=object), {'statistic': ['count', 'unique', 'top', 'freq'], 'c': ['3', '2', 'y', '2']}),
    ('different values by column', 'LazyFrame.n_unique', lambda: t(a=[1, 1, 2], b=['x', None, None]).n_unique(), {'a': [2], 'b': [1]}),
    ('nulls by column', 'LazyFrame.null_count', lambda: t(a=[1, 1, 2], b=['x', None, None]).null_count(), {'a': [0], 'b': [2]}),
    ('lists', 'Expr.list.sum', lambda: t(v=[[1, 2], [], None]).select(col('v').list.sum()), {'v': [3, None, None]}),
    ('structs', 'Expr.struct.field', lambda: gr.scan_ndjson(io.BytesIO(NESTED)).select(col('a').struct.field('b') + 1), {'b': [2]}),
    ('structs', 'LazyFrame.unnest', lambda: gr.scan_ndjson(io.BytesIO(NESTED)).unnest('a'), {'b': [1], 'z': [2]}),
    ('stack, unstack', 'LazyFrame.stack', lambda: t(k=['p', 'q'], a=[1.0, 2.0], b=[None, 4.0]).stack(id_vars='k'), {'k': ['p', 'q', 'q'], 'variable': ['a', 'a', 'b'], 'value': [1.0, 2.0, 4.0]}),
    ('stack, unstack', 'LazyFrame.unstack', lambda: sales().head(3).unstack('k', 'c', 'v', fill_value=0), {'k': ['a', 'b'], 'x': [1, 0], 'y': [3, 2]}),
    ('transpose', 'LazyFrame.transpose', lambda: t(n=['p', 'q'], a=[1, 2], b=[3, 4]).transpose(column_names='n', include_header=True), {'column': ['a', 'b'], 'p': [1, 3], 'q': [2, 4]}),
    ('crosstab, margins', 'LazyFrame.crosstab', lambda: sales().crosstab('k', 'c', margins=True), {'k': ['a', 'b', 'All'], 'x': [1, 0, 1], 'y': [1, 2, 3], 'All': [2, 2, 4]}),
    ('crosstab, margins', 'LazyFrame.pivot_table', lambda: sales().pivot_table('k', 'c', 'v', margins=True), {'k': ['a', 'b', 'All'], 'x': [1.0, None, 1.0], 'y': [3.0, 3.0, 3.0], 'All': [2.0, 3.0, 2.5]}),
    ('sample by weight', 'LazyFrame.sample', lambda: t(v=[1, 2, 3], w=[0.0, 1.0, 0.0]).sample(n=1, weights='w'), {'v': [2], 'w': [1.0]}),
    ('sample by group', 'GroupBy.sample', lambda: t(k=[2, 1, 2], v=[5, 6, 5]).group_by('k').sample(n=1), {'k': [1, 2], 'v': [6, 5]}),
    ('cut by a number of bins', 'LazyFrame.cut', lambda: t(v=[1, 2, 4]).cut('v', 3), {'v': ['(0.997, 2.0]', '(0.997, 2.0]', '(3.0, 4.0]']}),
    ('numbers of groups', 'GroupBy.ngroup', lambda: t(k=['b', 'a', 'b', None]).group_by('k').ngroup(), {'k': ['b', 'a', 'b', None], 'ngroup': [1, 0, 1, None]}),
    ('numbers of groups', 'GroupBy.cumcount', lambda: t(k=['b', 'a', 'b']).group_by('k').cumcount(), {'k': ['b', 'a', 'b'], 'cumcount': [0, 0, 1]}),
    ('shift with fill', 'LazyFrame.shift', lambda: t(v=[1, 2, 3]).shift(1, fill_value=0), {'v': [0, 1, 2]}),
    ('shift with fill', 'GroupBy.shift', lambda: t(k=[1, 2, 1], v=[1, 2, 3]).group_by('k').shift(1, fill_value=0), {'k': [1, 2, 1], 'v': [0, 0, 1]}),
    ('shift with fill', 'Expr.shift', lambda: t(v=[1, 2, 3]).select(col('v').shift(-1, fill_value=9)), {'v': [2, 3, 9]}),
    ('select by dtype', 'LazyFrame.select_dtypes', lambda: sales().head(1).select_dtypes('number'), {'v': [1]}),
    ('select by dtype', 'gr.selectors.numeric', lambda: sales().head(2).select(cs.numeric() * 10), {'v': [10, 20]}),
    ('select by regular expression', 'LazyFrame.filter', lambda: sales().head(1).filter(regex='^[kv]$'), {'k': ['a'], 'v': [1]}),
    ('select by regular expression', 'gr.selectors.matches', lambda: sales().head(1).drop(cs.matches('^[kc]')), {'v': [1]}),
    ('approximate distinct', 'Expr.approx_n_unique', lambda: sales().select(col('v').approx_n_unique()), {'v': [4]}),
]
