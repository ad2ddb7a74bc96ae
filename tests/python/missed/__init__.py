"""What users of pandas, Polars and NumPy miss most, as calls with known answers: test_missed.py runs them.

topics.tsv lists what they call it. Each file beside it has ROWS: the topic, the method's name, the call, and its answer.
A new row is one line. The name of a method is looked up: LazyFrame.x, GroupBy.x, Expr.x, Expr.str.x, gr.x (functions of
granary.frames), xp.x (of granary.array). A table is COMPLETE when each of its topics has a row.
"""
