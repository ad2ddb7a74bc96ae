/* granary bench cluster: what fragments cost beside Dask's own tasks, and transfers beside sockets and memory. */
#include "bench/bench.h"
#include "bench/frame/include_file.h"

INCLUDE_FILE(bench_peer_cluster, PEERS_DIRECTORY "/cluster.py");

#define EMPTY(count)                                                                                                   \
    {"dask_nothing_" #count "_ms", "ms", NULL, "Dask, " #count " tasks that do nothing, and one that waits for them"}, \
        {"empty_" #count "_ms", "ms", "dask_nothing_" #count "_ms", "a plan of " #count " empty fragments, and one"},  \
    {                                                                                                                  \
        "more_" #count "_ms", "ms", NULL, "what these cost more, a stage"                                              \
    }

static const struct bench_line lines[] = {
    {"memcpy_ms", "ms", NULL, "memory copied: 256 MiB"},
    {"loopback_ms", "ms", NULL, "the same through a TCP connection of this machine"},
    {"transfer_first_ms", "ms", NULL, "the same from store to store, the first time"},
    {"transfer_ms", "ms", "loopback_ms", "and into memory that was used before"},
    EMPTY(10),
    EMPTY(100),
    EMPTY(300),
    EMPTY(1000),
};

static int
run_cluster(struct cli *cli)
{
    return bench_python_program(cli->self, bench_peer_cluster, lines, sizeof lines / sizeof lines[0],
                                "it needs python3-numpy and python3-distributed, and to be built");
}

const struct command bench_cluster = {
    .options = bench_options, COMMAND_ZERO(struct bench_options), .alone = true, .run = run_cluster};
