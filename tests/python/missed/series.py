"""Frames whose rows have an order: time, windows, ranks."""
import granary.frames as gr

COMPLETE = False  # rows are still missing

col = gr.col


def t(**columns):
    return gr.from_dict(columns)


# topic, method, call, answer: a frame's as a dict of lists
ROWS = [
]
