/*
 * Other schedulers: Dask distributed and ProcessPoolExecutor through a Python program, StarPU through one of ours
 * (starpu.c). Each does the same null tasks on two processes or threads, and says "KEY VALUE" a line; what is not
 * installed says nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/frame/include_file.h"

INCLUDE_FILE(bench_peer_pools, PEERS_DIRECTORY "/pools.py");

static const struct bench_line lines[] = {
    {"pool_null_per_s", "1/s", NULL, "ProcessPoolExecutor, one by one"},
    {"pool_map_per_s", "1/s", NULL, "ProcessPoolExecutor, map in chunks of 256"},
    {"pool_submit_us", "us", NULL, "ProcessPoolExecutor, submit to result"},
    {"dask_null_per_s", "1/s", NULL, "Dask distributed, 2 worker processes"},
    {"dask_submit_us", "us", NULL, "Dask, submit to result"},
    {"dask_chain_us", "us", NULL, "Dask, a task of a chain"},
    {"dask_tree_ms", "ms", NULL, "Dask, the tree of 1024 leaves"},
    {"starpu_null_per_s", "1/s", NULL, "StarPU, 2 threads of one process"},
    {"starpu_submit_us", "us", NULL, "StarPU, submit to done"},
    {"starpu_chain_us", "us", NULL, "StarPU, a task of a chain of 1000"},
    {"starpu_tree_ms", "ms", NULL, "StarPU, the tree of 1024 leaves"},
};

/* The program is a file: worker processes import it again. */
static bool
write_program(const char *path)
{
    FILE *file = fopen(path, "we");
    bool good = file != NULL && fputs(bench_peer_pools, file) >= 0;

    return (file == NULL || fclose(file) == 0) && good;
}

void
bench_take_lines(struct results *results, const char *command, const struct bench_line *wanted, size_t count)
{
    char said[128];
    FILE *peer = popen(command, "re"); /* NOLINT(cert-env33-c): a program of ours, as a file */

    while (peer != NULL && fgets(said, sizeof said, peer) != NULL) {
        char *value = strchr(said, ' ');

        if (value == NULL) {
            continue;
        }
        *value++ = '\0';
        for (size_t i = 0; i < count; i++) {
            if (strcmp(wanted[i].key, said) == 0) {
                results_add_value(results, wanted[i].key, wanted[i].unit, wanted[i].peer, wanted[i].note,
                                  strtod(value, NULL));
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
        bench_take_lines(results, command, lines, sizeof lines / sizeof lines[0]);
    }
    spawn_remove_directory(directory);
}

bool
bench_programs(char ret_directory[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", ret_directory, PATH_MAX - 1);
    char *name = NULL;

    if (length > 0) {
        ret_directory[length] = '\0';
        name = strrchr(ret_directory, '/');
    }
    if (name != NULL) {
        *name = '\0';
    }
    return name != NULL;
}

/* It is there when StarPU was there to build it. */
static void
run_starpu(struct results *results, const char *scale)
{
    char programs[PATH_MAX];
    char command[PATH_MAX + 64];

    if (bench_programs(programs)) {
        (void)snprintf(command, sizeof command, "exec '%s/granary-peer-starpu' %s 2>/dev/null", programs, scale);
        bench_take_lines(results, command, lines, sizeof lines / sizeof lines[0]);
    }
}

void
bench_pools(struct results *results, bool quick)
{
    const char *scale = quick ? "quick" : "full";

    run_python(results, scale);
    run_starpu(results, scale);
}
