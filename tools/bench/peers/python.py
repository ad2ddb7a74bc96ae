"""granary from Python beside what Python has: says "KEY VALUE" a line. argv: quick or full. Medians; runs of all take turns."""
import multiprocessing
import os
import pickle
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory

import numpy as np

import granary

QUICK = sys.argv[1:] == ["quick"]
RUNS = 3 if QUICK else 7
CALLS = 20000 if QUICK else 100000
LARGE = 100 << 20


def nothing(x):
    return x


def first(x):
    return float(x[0])


def say(key, values):
    print(key, statistics.median(values), flush=True)


def timed(do, count=1):
    begun = time.perf_counter()
    for _ in range(count):
        do()
    return (time.perf_counter() - begun) / count


def objects(session):
    """An array of 100 MB in another process, and once more in this one."""
    array = np.arange(LARGE // 8, dtype="f8")
    block = shared_memory.SharedMemory(create=True, size=array.nbytes)
    np.ndarray(array.shape, array.dtype, block.buf)[:] = array
    named = session.put(array, "large")
    figures = {key: [] for key in ("python_get_first_us", "python_get_us", "python_shm_us", "python_pickle_ms", "python_put_ms")}
    for _ in range(RUNS):
        fresh = pickle.loads(pickle.dumps(named))
        figures["python_get_first_us"].append(timed(fresh.get) * 1e6)
        kept = fresh.get()
        figures["python_get_us"].append(timed(fresh.get, 10000) * 1e6)

        def attach():
            other = shared_memory.SharedMemory(block.name)
            np.ndarray(array.shape, array.dtype, other.buf)
            other.close()

        figures["python_shm_us"].append(timed(attach, 100) * 1e6)
        figures["python_pickle_ms"].append(timed(lambda: pickle.loads(pickle.dumps(array))) * 1e3)
        figures["python_put_ms"].append(timed(lambda: session.put(array)) * 1e3)
        del kept
    block.close()
    block.unlink()
    for key, values in figures.items():
        say(key, values)


def dask_run(function, argument):
    import dask

    return dask.compute(dask.delayed(function)(argument), scheduler="processes")


def pools(session):
    """Calls of functions."""
    pool, other = granary.Executor(2), ProcessPoolExecutor(2)
    shared, large = session.get("large"), np.arange(LARGE // 8, dtype="f8")
    figures = {}

    def note(key, value):
        figures.setdefault(key, []).append(value)

    for one in (pool, other):
        list(one.map(nothing, range(10)))
    for _ in range(RUNS):
        note("python_submit_us", statistics.median([timed(lambda: pool.submit(nothing, 1).result()) for _ in range(200)]) * 1e6)
        note("pool_submit_us", statistics.median([timed(lambda: other.submit(nothing, 1).result()) for _ in range(200)]) * 1e6)
        note("python_map_per_s", CALLS / timed(lambda: list(pool.map(nothing, range(CALLS)))))
        note("python_large_ms", timed(lambda: pool.submit(first, shared).result()) * 1e3)
        note("pool_large_ms", timed(lambda: other.submit(first, large).result()) * 1e3)
    for _ in range(1 if QUICK else 3):
        note("pool_map_per_s", CALLS / timed(lambda: list(other.map(nothing, range(CALLS)))))
    pool.shutdown()
    other.shutdown()
    try:
        import joblib

        with joblib.Parallel(2) as parallel:
            parallel(joblib.delayed(nothing)(i) for i in range(10))
            for _ in range(RUNS):
                note("joblib_map_per_s", CALLS / timed(lambda: parallel(joblib.delayed(nothing)(i) for i in range(CALLS))))
                note("joblib_large_ms", timed(lambda: parallel([joblib.delayed(first)(large)])) * 1e3)
    except ImportError:
        pass
    try:
        from distributed import Client

        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as client:
            client.submit(nothing, 0, pure=False).result()
            for _ in range(RUNS):
                note("dask_submit_us", statistics.median([timed(lambda: client.submit(nothing, 1, pure=False).result()) for _ in range(50)]) * 1e6)
    except ImportError:
        pass
    for key, values in figures.items():
        say(key, values)


def plans(session):
    """A small query, planned and run, beside the same graph as text."""
    import pandas as pd

    frame = granary.from_pandas(pd.DataFrame({"k": ["a", "b"] * 50, "v": np.arange(100.0)}))
    client = session._client
    ids = [one for one in frame._node.parameters["ids"]]
    text = (
        '{"nodes": {"t": {"op": "table", "ids": %s}, "f": {"op": "filter", "input": "t", "where": "`v` > 3"}}, "targets": ["f"]}'
        % str(ids).replace("'", '"')
    )

    def plain():
        key = client.run_json(text, flags=3)
        client.result(key, "f")
        client.delete_graph(key)

    lazy, direct = [], []
    for _ in range(RUNS):
        lazy.append(statistics.median([timed(lambda: frame.filter(granary.col("v") > 3).collect()) for _ in range(50)]) * 1e3)
        direct.append(statistics.median([timed(plain) for _ in range(50)]) * 1e3)
    say("python_lazy_ms", lazy)
    say("python_graph_ms", direct)


def main():
    os.environ["GRANARY_RECALL"] = "off"
    with granary.up(executors=2, memory="2G") as session:
        objects(session)
        pools(session)
        plans(session)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main()
