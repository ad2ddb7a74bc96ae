/* What the measurements of a store have in common: objects by number, filled, timed and emptied. */
#include "bench/run.h"

#include <stdlib.h>
#include <string.h>

granary_id
run_id(uint64_t n)
{
    uint64_t words[2] = {(n + 1) * 0x9e3779b97f4a7c15ull, n};
    granary_id id;

    memcpy(id.bytes, words, sizeof id.bytes);
    return id;
}

bool
run_good(struct run *run, granary_err err)
{
    if (err != GRANARY_OK && !run->failed) {
        (void)fprintf(stderr, "granary: bench: %s\n", granary_error_message());
        run->failed = true;
    }
    return err == GRANARY_OK;
}

uint64_t
run_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return *seed >> 33;
}

void
run_fill(struct run *run, uint64_t first, size_t count, uint64_t size)
{
    static const char bytes[1024] = "granary";

    for (size_t i = 0; i < count && !run->failed; i++) {
        (void)run_good(run, granary_object_put(run->client, run_id(first + i), bytes, size, NULL, 0, GRANARY_NOWAIT));
    }
    (void)run_good(run, granary_flush(run->client));
}

void
run_empty(struct run *run, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count && !run->failed; i++) {
        (void)run_good(run, granary_object_delete(run->client, run_id(first + i), GRANARY_NOWAIT));
    }
    (void)run_good(run, granary_flush(run->client));
}

void
run_time_gets(struct run *run, uint64_t first, size_t count, size_t batch, size_t rounds, struct samples *samples)
{
    granary_id *ids = malloc(batch * sizeof *ids);
    uint64_t seed = 1;

    if (ids == NULL) {
        run->failed = true;
    }
    for (size_t i = 0; i < rounds && !run->failed; i++) {
        int64_t began;

        for (size_t j = 0; j < batch; j++) {
            ids[j] = run_id(first + run_random(&seed) % count);
        }
        began = bench_now_ns();
        for (size_t j = 0; j < batch; j++) {
            granary_view view;

            if (!run_good(run, granary_object_get(run->client, ids[j], 0, &view))) {
                break;
            }
            granary_object_release(run->client, &view);
        }
        samples_add(samples, (double)(bench_now_ns() - began) / (double)batch);
    }
    free(ids);
}
