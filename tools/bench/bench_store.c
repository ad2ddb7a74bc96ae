/* `granary bench store`: the hot paths of the store, on an instance of its own. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/run.h"

#define MIB ((uint64_t)1 << 20)

/* ---- get ---- */

static void
bench_get_warm(struct run *run)
{
    struct samples samples = {.values = NULL};

    run_fill(run, 0, 10000, 64);
    run_time_gets(run, 0, 10000, 100, 1000 / run->scale, &samples); /* warms up */
    samples_free(&samples);
    run_time_gets(run, 0, 10000, 100, 20000 / run->scale, &samples);
    results_add(run->results, "get_warm_ns", "ns", "lmdb_get_ns", "get + release, random among 10000; 100 a sample",
                &samples);
    for (size_t i = 0; i < 20000 / run->scale; i++) {
        uint64_t first = i * 100 % 10000;
        int64_t began = bench_now_ns();
        size_t there = 0;

        for (size_t j = 0; j < 100; j++) {
            there += granary_object_contains(run->client, run_id(first + j));
        }
        samples_add(&samples, (double)(bench_now_ns() - began) / 100);
        if (there != 100) {
            run->failed = true;
        }
    }
    results_add(run->results, "contains_ns", "ns", "lmdb_get_ns", "10000 objects; 100 a sample", &samples);
}

static void
bench_get_batch(struct run *run)
{
    enum { BATCH = 1000 };
    granary_view *views = malloc(BATCH * sizeof *views);
    granary_id *ids = malloc(BATCH * sizeof *ids);
    struct samples samples = {.values = NULL};
    uint64_t seed = 2;

    run->failed = run->failed || views == NULL || ids == NULL;
    for (size_t i = 0; i < 2000 / run->scale && !run->failed; i++) {
        int64_t began;

        for (size_t j = 0; j < BATCH; j++) {
            ids[j] = run_id(run_random(&seed) % 10000);
        }
        began = bench_now_ns();
        if (run_good(run, granary_object_get_many(run->client, ids, BATCH, 0, views, NULL))) {
            granary_object_release_many(run->client, views, BATCH);
        }
        samples_add(&samples, (double)(bench_now_ns() - began) / 1000);
    }
    results_add(run->results, "get_batch_1000_us", "us", "unix_rtt_ns", "get + release of 1000 in one call", &samples);
    free(views);
    free(ids);
}

/* ---- put and delete ---- */

static void
bench_put_small(struct run *run)
{
    static const char bytes[1024] = "granary";
    struct samples puts = {.values = NULL};
    struct samples deletes = {.values = NULL};

    for (size_t i = 0; i < 50000 / run->scale && !run->failed; i++) {
        granary_id id = run_id(((uint64_t)1 << 32) + i);
        int64_t began = bench_now_ns();
        int64_t between;

        (void)run_good(run, granary_object_put(run->client, id, bytes, sizeof bytes, NULL, 0, 0));
        between = bench_now_ns();
        (void)run_good(run, granary_object_delete(run->client, id, 0));
        samples_add(&puts, (double)(between - began));
        samples_add(&deletes, (double)(bench_now_ns() - between));
    }
    results_add(run->results, "put_1k_sync_ns", "ns", "unix_rtt_ns", "1 KiB, visible to all on return", &puts);
    results_add(run->results, "delete_sync_ns", "ns", "unix_rtt_ns", "each waited for", &deletes);
}

/* The store sleeps: nothing was sent for a while. */
static void
bench_put_asleep(struct run *run)
{
    static const char bytes[1024] = "granary";
    struct samples samples = {.values = NULL};

    for (size_t i = 0; i < 2000 / run->scale && !run->failed; i++) {
        granary_id id = run_id(((uint64_t)5 << 32) + i);
        int64_t began;

        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        began = bench_now_ns();
        (void)run_good(run, granary_object_put(run->client, id, bytes, sizeof bytes, NULL, 0, 0));
        samples_add(&samples, (double)(bench_now_ns() - began));
        (void)run_good(run, granary_object_delete(run->client, id, 0));
    }
    results_add(run->results, "put_1k_asleep_ns", "ns", "futex_rtt_ns", "the same after 1 ms of silence", &samples);
}

static void
bench_put_pipelined(struct run *run)
{
    struct samples puts = {.values = NULL};
    struct samples deletes = {.values = NULL};

    for (size_t i = 0; i < 50 / (run->scale > 1 ? 5 : 1) && !run->failed; i++) {
        enum { COUNT = 20000 };
        int64_t began = bench_now_ns();
        int64_t between;

        run_fill(run, (uint64_t)2 << 32, COUNT, 1024);
        between = bench_now_ns();
        run_empty(run, (uint64_t)2 << 32, COUNT);
        samples_add(&puts, COUNT / ((double)(between - began) / 1e9));
        samples_add(&deletes, (double)(bench_now_ns() - between) / COUNT);
    }
    results_add_value(run->results, "put_1k_pipelined_per_s", "1/s", NULL, "20000 puts of 1 KiB and a flush; median",
                      samples_quantile(&puts, 0.5));
    results_add(run->results, "delete_ns", "ns", "unix_rtt_ns", "20000 deletes and a flush a sample, one after another",
                &deletes);
    samples_free(&puts);
}

static void
bench_create_seal(struct run *run)
{
    struct samples samples = {.values = NULL};

    /* The first round through the pool writes pages for the first time; what is measured is the steady state. */
    for (size_t i = 0; i < 6000 / (run->scale > 1 ? 2 : 1) && !run->failed; i++) {
        granary_id id = run_id(((uint64_t)3 << 32) + i);
        granary_buffer buffer;
        int64_t began = bench_now_ns();

        if (run_good(run, granary_object_create(run->client, id, MIB, 0, 10000, &buffer))) {
            (void)run_good(run, granary_object_seal(run->client, &buffer));
        }
        if (i >= 1000) {
            samples_add(&samples, (double)(bench_now_ns() - began));
        }
        (void)run_good(run, granary_object_delete(run->client, id, 0));
    }
    results_add(run->results, "create_seal_1m_ns", "ns", "unix_rtt_ns", "1 MiB built in place, steady state", &samples);
}

static void
bench_put_large(struct run *run, double memcpy_gib_s)
{
    const uint64_t size = 256 * MIB;
    struct samples samples = {.values = NULL};
    char *bytes = malloc(size);
    size_t rounds = run->scale > 1 ? 5 : 10;

    if (bytes == NULL) {
        run->failed = true;
        return;
    }
    memset(bytes, 1, size);
    for (size_t i = 0; i < rounds + 2 && !run->failed; i++) {
        granary_id id = run_id(((uint64_t)4 << 32) + i);
        int64_t began = bench_now_ns();

        (void)run_good(run, granary_object_put(run->client, id, bytes, size, NULL, 0, 0));
        if (i >= 2) {
            samples_add(&samples, 0.25 / ((double)(bench_now_ns() - began) / 1e9));
        }
        (void)run_good(run, granary_object_delete(run->client, id, 0));
    }
    results_add_value(run->results, "put_256m_gib_s", "GiB/s", "memcpy_gib_s", "put with copy, steady state; median",
                      samples_quantile(&samples, 0.5));
    results_add_value(run->results, "put_256m_memcpy_ratio", "ratio", NULL, "of memcpy_gib_s",
                      samples_quantile(&samples, 0.5) / memcpy_gib_s);
    samples_free(&samples);
    free(bytes);
}

/* ---- all of it ---- */

static void
run_all(struct run *run, const char *directory)
{
    double memcpy_gib_s;

    bench_unix_rtt(run->results, 20000 / run->scale);
    bench_futex_rtt(run->results, 20000 / run->scale);
    memcpy_gib_s = bench_memcpy(run->results, 256 * MIB, run->scale > 1 ? 5 : 10);
    bench_lmdb(run->results, directory, "lmdb_get_1e1_ns", 10);
    bench_lmdb(run->results, directory, "lmdb_get_ns", 10000);
    bench_lmdb(run->results, directory, "lmdb_get_1e6_ns", run->scale > 1 ? 100000 : 1000000);
    bench_redis(run->results, directory, 20000 / run->scale);
    bench_get_warm(run);
    bench_get_batch(run);
    bench_put_small(run);
    bench_put_asleep(run);
    bench_put_pipelined(run);
    bench_create_seal(run);
    bench_put_large(run, memcpy_gib_s);
    bench_spill(run, "/var/tmp");
    bench_stall(run);
    bench_growth(run);
}

static int
run_store(struct cli *cli)
{
    const struct bench_options *options = cli->self;
    struct results results = {.count = 0};
    struct run run = {.results = &results, .scale = options->quick ? 10 : 1};
    struct spawned daemon;
    granary_err err;

    if (!spawn_start(&daemon, NULL)) {
        return 3;
    }
    err = granary_connect(&(granary_connect_options){.instance = daemon.directory, .tag = "bench"}, &run.client);
    if (run_good(&run, err)) {
        run.daemon = &daemon;
        run_all(&run, daemon.directory);
        granary_disconnect(run.client);
    }
    (void)spawn_stop(&daemon);
    if (run.failed) {
        return err != GRANARY_OK ? granary_error_exit_status(err) : 1;
    }
    results_print(&results, options->json, stdout);
    return 0;
}

const struct command bench_store = {
    .options = bench_options, COMMAND_ZERO(struct bench_options), .alone = true, .run = run_store};
