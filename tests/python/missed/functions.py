"""Functions of expressions."""
import granary.frames as gr

COMPLETE = False  # rows are still missing

col = gr.col


def one(value, make):
    """A function of one value, as the one value of a frame."""
    return gr.from_dict({'x': [value]}).select(y=make(col('x')))


# topic, method, call, answer
ROWS = [
    ('string_split', 'Expr.str.string_split', lambda: one('a,b', lambda x: x.str.string_split(',')), {'y': [['a', 'b']]}),
]
