"""Null tasks on two processes of ProcessPoolExecutor and of Dask: a line "KEY VALUE" for each figure; nothing of what is not installed."""
import sys, time, statistics
quick = sys.argv[1] == 'quick'
def null(*args): return None
def median(run, count):
    times = []
    for _ in range(count):
        began = time.perf_counter(); run(); times.append(time.perf_counter() - began)
    return statistics.median(times)
def say(key, value): print(key, value, flush=True)
def pool():
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(2) as executor:
        executor.submit(null).result()
        one = 500 if quick else 2000
        say('pool_null_per_s', one / median(lambda: [f.result() for f in [executor.submit(null) for _ in range(one)]], 3))
        many = 50000 if quick else 200000
        say('pool_map_per_s', many / median(lambda: list(executor.map(null, range(many), chunksize=256)), 3))
        say('pool_submit_us', 1e6 * median(lambda: executor.submit(null).result(), 200))
def dask():
    import logging
    from distributed import Client, LocalCluster
    logging.disable(logging.CRITICAL)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=60) as cluster:
        with Client(cluster) as client:
            client.submit(null, pure=False).result()
            count = 500 if quick else 2000
            say('dask_null_per_s', count / median(lambda: client.gather(client.map(null, range(count), pure=False)), 3))
            say('dask_submit_us', 1e6 * median(lambda: client.submit(null, pure=False).result(), 50))
            def chain(links):
                last = None
                for _ in range(links): last = client.submit(null, last, pure=False)
                last.result()
            links = 50 if quick else 200
            say('dask_chain_us', 1e6 * median(lambda: chain(links), 3) / links)
            def tree():
                level = client.map(null, range(1024), pure=False)
                while len(level) > 1:
                    level = [client.submit(null, a, b, pure=False) for a, b in zip(level[::2], level[1::2])]
                level[0].result()
            say('dask_tree_ms', 1e3 * median(tree, 1 if quick else 3))
if __name__ == '__main__':
    for peer in (pool, dask):
        try: peer()
        except ImportError: pass
