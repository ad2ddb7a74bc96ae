/* How things grow: gets among 10 to 10^7 objects, the metadata they take, and how long a store that was killed is away.
 */
#include "bench/run.h"

#define FIRST ((uint64_t)1 << 20)

static void
gets_among(struct run *run, size_t count, const char *key, const char *peer)
{
    struct samples samples = {.values = NULL};

    run_time_gets(run, FIRST, count, 100, 2000, &samples); /* warms up */
    samples_free(&samples);
    run_time_gets(run, FIRST, count, 100, 20000 / run->scale, &samples);
    results_add(run->results, key, "ns", peer, "get + release, random among as many; 100 a sample", &samples);
}

static void
metadata(struct run *run, const char *key, const char *note)
{
    granary_store_stat stat = {0};

    if (run_good(run, granary_store_stat_get(run->client, &stat)) && stat.objects > 0) {
        results_add_value(run->results, key, "B", NULL, note, (double)stat.index_bytes / (double)stat.objects);
    }
}

/* kill -9 and start: from the kill until a client's put is answered again, and every object is there. */
static void
restart(struct run *run, size_t count)
{
    struct samples samples = {.values = NULL};

    for (int i = 0; i < 5 && !run->failed; i++) {
        int64_t began = bench_now_ns();

        spawn_kill(run->daemon);
        if (!spawn_again(run->daemon)) {
            run->failed = true;
            break;
        }
        (void)run_good(run,
                       granary_object_put(run->client, run_id(((uint64_t)6 << 32) + (uint64_t)i), "x", 1, NULL, 0, 0));
        samples_add(&samples, (double)(bench_now_ns() - began) / 1e6);
        for (size_t n = 0; n < count && !run->failed; n++) {
            if (!granary_object_contains(run->client, run_id(FIRST + n))) {
                (void)fprintf(stderr, "granary: bench: an object is missing after a restart\n");
                run->failed = true;
            }
        }
    }
    results_add(run->results, "restart_1e5_ms", "ms", NULL,
                "store killed -9 with 10^5 objects until it answers a put; all are there", &samples);
}

/* In steps, as objects of 1 KiB are put: a pause of the machine spoils one of them, and not the figure. */
static void
put_small(struct run *run, uint64_t first, size_t count)
{
    enum { STEP = 20000 };
    struct samples puts = {.values = NULL};

    for (size_t i = 0; i < count && !run->failed; i += STEP) {
        int64_t began = bench_now_ns();

        run_fill(run, first + i, STEP, 64);
        samples_add(&puts, STEP / ((double)(bench_now_ns() - began) / 1e9));
    }
    results_add_value(run->results, "put_64_pipelined_per_s", "1/s", "put_1k_pipelined_per_s",
                      "20000 puts of 64 bytes and a flush, on the way to 10^6 objects; median",
                      samples_quantile(&puts, 0.5));
    samples_free(&puts);
}

/* The objects stay: the store ends with the run, and to delete 10^7 takes as long as to put them. */
void
bench_growth(struct run *run)
{
    run_fill(run, FIRST, 10, 64);
    gets_among(run, 10, "get_1e1_ns", "lmdb_get_1e1_ns");
    run_fill(run, FIRST + 10, 99990, 64);
    gets_among(run, 100000, "get_1e5_ns", NULL);
    restart(run, 100000);
    put_small(run, FIRST + 100000, 900000);
    gets_among(run, 1000000, "get_1e6_ns", "lmdb_get_1e6_ns");
    metadata(run, "metadata_bytes_per_object", "shared memory beside the objects, of 10^6");
    if (run->scale == 1) {
        run_fill(run, FIRST + 1000000, 9000000, 64);
        gets_among(run, 10000000, "get_1e7_ns", "lmdb_get_1e6_ns");
        metadata(run, "metadata_1e7_bytes_per_object", "shared memory beside the objects, of 10^7");
    }
}
