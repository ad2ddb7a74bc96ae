/* granary bench python: the Python package beside what Python itself has, joblib and Dask, through a program of theirs. */
#include "bench/bench.h"
#include "bench/frame/include_file.h"

INCLUDE_FILE(bench_peer_package, PEERS_DIRECTORY "/python.py");

static const struct bench_line lines[] = {
    {"pool_submit_us", "us", NULL, "ProcessPoolExecutor, submit to result"},
    {"dask_submit_us", "us", NULL, "Dask distributed, submit to result"},
    {"python_submit_us", "us", "pool_submit_us", "Executor, submit to result"},
    {"pool_map_per_s", "1/s", NULL, "ProcessPoolExecutor, calls of a map"},
    {"joblib_map_per_s", "1/s", NULL, "joblib, calls of a Parallel"},
    {"python_map_per_s", "1/s", "pool_map_per_s", "Executor, calls of a map"},
    {"pool_large_ms", "ms", NULL, "ProcessPoolExecutor, an argument of 100 MB"},
    {"joblib_large_ms", "ms", NULL, "joblib, an argument of 100 MB"},
    {"python_large_ms", "ms", "pool_large_ms", "Executor, an argument of 100 MB that is in the store"},
    {"python_shm_us", "us", NULL, "multiprocessing.shared_memory, attach and map"},
    {"python_get_first_us", "us", "python_shm_us", "get of an array of 100 MB, the first of a reference"},
    {"python_get_us", "us", "python_shm_us", "each further one"},
    {"python_pickle_ms", "ms", NULL, "pickle of 100 MB, there and back"},
    {"python_put_ms", "ms", "python_pickle_ms", "put of 100 MB"},
    {"python_graph_ms", "ms", NULL, "a small query as a graph's text"},
    {"python_lazy_ms", "ms", "python_graph_ms", "the same as a lazy frame, with its result"},
};

static int
run_python(struct cli *cli)
{
    return bench_python_program(cli->self, bench_peer_package, lines, sizeof lines / sizeof lines[0],
                                "it needs python3-numpy, python3-pandas and python3-cloudpickle, and to be built");
}

const struct command bench_python = {
    .options = bench_options, COMMAND_ZERO(struct bench_options), .alone = true, .run = run_python};
