/*
 * Other schedulers: Dask distributed and ProcessPoolExecutor through a Python program, StarPU through one of ours
 * (starpu.c). Each does the same null tasks on two processes or threads, and says "KEY VALUE" a line; what is not
 * installed says nothing.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"

static const char program[] =
    "import sys, time, statistics\n"
    "quick = sys.argv[1] == 'quick'\n"
    "def null(*args): return None\n"
    "def median(run, count):\n"
    "    times = []\n"
    "    for _ in range(count):\n"
    "        began = time.perf_counter(); run(); times.append(time.perf_counter() - began)\n"
    "    return statistics.median(times)\n"
    "def say(key, value): print(key, value, flush=True)\n"
    "def pool():\n"
    "    from concurrent.futures import ProcessPoolExecutor\n"
    "    with ProcessPoolExecutor(2) as executor:\n"
    "        executor.submit(null).result()\n"
    "        one = 500 if quick else 2000\n"
    "        say('pool_null_per_s', one / median(lambda: [f.result() for f in [executor.submit(null) for _ in "
    "range(one)]], 3))\n"
    "        many = 50000 if quick else 200000\n"
    "        say('pool_map_per_s', many / median(lambda: list(executor.map(null, range(many), chunksize=256)), 3))\n"
    "        say('pool_submit_us', 1e6 * median(lambda: executor.submit(null).result(), 200))\n"
    "def dask():\n"
    "    import logging\n"
    "    from distributed import Client, LocalCluster\n"
    "    logging.disable(logging.CRITICAL)\n"
    "    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=60) as cluster:\n"
    "        with Client(cluster) as client:\n"
    "            client.submit(null, pure=False).result()\n"
    "            count = 500 if quick else 2000\n"
    "            say('dask_null_per_s', count / median(lambda: client.gather(client.map(null, range(count), "
    "pure=False)), 3))\n"
    "            say('dask_submit_us', 1e6 * median(lambda: client.submit(null, pure=False).result(), 50))\n"
    "            def chain(links):\n"
    "                last = None\n"
    "                for _ in range(links): last = client.submit(null, last, pure=False)\n"
    "                last.result()\n"
    "            links = 50 if quick else 200\n"
    "            say('dask_chain_us', 1e6 * median(lambda: chain(links), 3) / links)\n"
    "            def tree():\n"
    "                level = client.map(null, range(1024), pure=False)\n"
    "                while len(level) > 1:\n"
    "                    level = [client.submit(null, a, b, pure=False) for a, b in zip(level[::2], level[1::2])]\n"
    "                level[0].result()\n"
    "            say('dask_tree_ms', 1e3 * median(tree, 1 if quick else 3))\n"
    "if __name__ == '__main__':\n"
    "    for peer in (pool, dask):\n"
    "        try: peer()\n"
    "        except ImportError: pass\n";

static const struct line {
    const char *key;
    const char *unit;
    const char *note;
} lines[] = {
    {"pool_null_per_s", "1/s", "ProcessPoolExecutor, one by one"},
    {"pool_map_per_s", "1/s", "ProcessPoolExecutor, map in chunks of 256"},
    {"pool_submit_us", "us", "ProcessPoolExecutor, submit to result"},
    {"dask_null_per_s", "1/s", "Dask distributed, 2 worker processes"},
    {"dask_submit_us", "us", "Dask, submit to result"},
    {"dask_chain_us", "us", "Dask, a task of a chain"},
    {"dask_tree_ms", "ms", "Dask, the tree of 1024 leaves"},
    {"starpu_null_per_s", "1/s", "StarPU, 2 threads of one process"},
    {"starpu_submit_us", "us", "StarPU, submit to done"},
    {"starpu_chain_us", "us", "StarPU, a task of a chain of 1000"},
    {"starpu_tree_ms", "ms", "StarPU, the tree of 1024 leaves"},
};

/* The program is a file: worker processes import it again. */
static bool
write_program(const char *path)
{
    FILE *file = fopen(path, "we");
    bool good = file != NULL && fwrite(program, 1, sizeof program - 1, file) == sizeof program - 1;

    return (file == NULL || fclose(file) == 0) && good;
}

/* Run a command and take what it says. */
static void
take_lines(struct results *results, const char *command)
{
    char said[128];
    FILE *peer = popen(command, "re"); /* NOLINT(cert-env33-c): a program this file has written */

    while (peer != NULL && fgets(said, sizeof said, peer) != NULL) {
        char *value = strchr(said, ' ');

        if (value == NULL) {
            continue;
        }
        *value++ = '\0';
        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
            if (strcmp(lines[i].key, said) == 0) {
                results_add_value(results, lines[i].key, lines[i].unit, NULL, lines[i].note, strtod(value, NULL));
            }
        }
    }
    if (peer != NULL) {
        (void)pclose(peer);
    }
}

static void
run_python(struct results *results, const char *scale)
{
    char directory[] = "/tmp/granary-bench-python-XXXXXX";
    char path[64];
    char command[192];

    if (mkdtemp(directory) == NULL) {
        return;
    }
    (void)snprintf(path, sizeof path, "%s/pools.py", directory);
    (void)snprintf(command, sizeof command, "cd %s && exec /usr/bin/python3 pools.py %s 2>/dev/null", directory, scale);
    if (write_program(path)) {
        take_lines(results, command);
    }
    spawn_remove_directory(directory);
}

/* It lies beside this program, when StarPU was there to build it. */
static void
run_starpu(struct results *results, const char *scale)
{
    char program_path[PATH_MAX];
    char command[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", program_path, sizeof program_path - 1);
    char *name = NULL;

    if (length > 0) {
        program_path[length] = '\0';
        name = strrchr(program_path, '/');
    }
    if (name != NULL) {
        *name = '\0';
        (void)snprintf(command, sizeof command, "exec '%s/granary-peer-starpu' %s 2>/dev/null", program_path, scale);
        take_lines(results, command);
    }
}

void
bench_pools(struct results *results, bool quick)
{
    const char *scale = quick ? "quick" : "full";

    run_python(results, scale);
    run_starpu(results, scale);
}
