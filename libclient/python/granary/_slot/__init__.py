"""A hosted slot: the process in which an executor has Python functions run. `python -m granary._slot` is started by executors."""
