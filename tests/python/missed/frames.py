"""Frames: shapes, groups, columns."""
import granary.frames as gr

COMPLETE = False  # rows are still missing

col = gr.col


def t(**columns):
    return gr.from_dict(columns)


# topic, method, call, answer: a frame's as a dict of lists
ROWS = [
    ('list aggregation', 'Expr.implode', lambda: t(k=[1, 1, 2], v=[3, None, 5]).group_by('k').agg(col('v').implode()), {'k': [1, 2], 'v': [[3.0], [5.0]]}),
    ('different values by column', 'LazyFrame.n_unique', lambda: t(a=[1, 1, 2], b=['x', None, None]).n_unique(), {'a': [2], 'b': [1]}),
    ('nulls by column', 'LazyFrame.null_count', lambda: t(a=[1, 1, 2], b=['x', None, None]).null_count(), {'a': [0], 'b': [2]}),
    ('lists', 'Expr.list.sum', lambda: t(v=[[1, 2], [], None]).select(col('v').list.sum()), {'v': [3, None, None]}),
]
