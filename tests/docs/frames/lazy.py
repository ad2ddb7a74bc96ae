import granary as gr
gr.connect()
assert len((
@BLOCK@
).collect()) > 0
