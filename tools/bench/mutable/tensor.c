/* A tensor of chunks of 64 bytes, each written as a whole: what costs is the chunks, not their elements. */
#include "bench/mutable/tensor.h"

#include <stdio.h>

#include "granary/mutable.h"
#include "granary/store.h"

#define CHUNK  8     /* elements */
#define VIEWS  20000 /* that are timed */
#define SAMPLE 100

struct tensor {
    granary_client *client;
    granary_mutable *table;
    struct results *results;
    int64_t chunks;
};

static bool
tensor_good(granary_err err)
{
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "granary: bench: %s\n", granary_error_message());
    }
    return err == GRANARY_OK;
}

static granary_index
chunk_index(int64_t chunk)
{
    return (granary_index){.slice = {chunk * CHUNK, (chunk + 1) * CHUNK, 1}};
}

static bool
measure_writes(struct tensor *tensor)
{
    struct samples samples = {.values = NULL};
    const double values[CHUNK] = {1, 2, 3, 4, 5, 6, 7, 8};
    const granary_tensor from = {.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {CHUNK}, .values = values};
    bool good = true;

    for (int64_t i = 0; good && i < tensor->chunks;) {
        const int64_t began = bench_now_ns();
        int64_t count = 0;

        for (; good && count < SAMPLE && i < tensor->chunks; i++, count++) {
            const granary_index index = chunk_index(i);

            good = tensor_good(granary_mutable_write(tensor->table, &index, 1, &from, NULL, NULL));
        }
        samples_add(&samples, (double)(bench_now_ns() - began) / (double)count);
    }
    if (good) {
        results_add(tensor->results, "write_chunk_ns", "ns", NULL, "a chunk of 64 bytes of a tensor", &samples);
    }
    samples_free(&samples);
    return good;
}

static bool
look(struct tensor *tensor, int64_t chunk)
{
    const granary_index index = chunk_index(chunk);
    granary_mutable_part part;
    bool good = tensor_good(granary_mutable_view(tensor->table, GRANARY_NOW, &index, 1, &part));

    if (good) {
        good = part.mapped && *(const double *)part.tensor.values == 1;
        granary_mutable_release(tensor->client, &part);
    }
    return good;
}

static bool
measure_views(struct tensor *tensor)
{
    struct samples samples = {.values = NULL};
    bool good = look(tensor, 0); /* the handle has learnt what was written */

    for (int64_t i = 0; good && i < VIEWS; i += SAMPLE) {
        const int64_t began = bench_now_ns();

        for (int64_t k = 0; good && k < SAMPLE; k++) {
            good = look(tensor, (i + k) * 7919 % tensor->chunks);
        }
        samples_add(&samples, (double)(bench_now_ns() - began) / SAMPLE);
    }
    if (good) {
        results_add(tensor->results, "view_ns", "ns", NULL, "the newest version of such a chunk, mapped, and let go",
                    &samples);
    }
    samples_free(&samples);
    return good;
}

static bool
measure_seal(struct tensor *tensor)
{
    const int64_t began = bench_now_ns();
    const bool good = tensor_good(granary_mutable_seal(tensor->table, GRANARY_NOW, NULL));

    if (good) {
        results_add_value(tensor->results, "seal_ms", "ms", NULL, "all of them sealed: 10^6, with --quick 10^5",
                          (double)(bench_now_ns() - began) / 1e6);
    }
    return good;
}

bool
tensor_measure(struct results *results, const char *instance, int64_t chunks)
{
    const granary_mutable_tensor shape = {
        .dtype = GRANARY_FLOAT64, .dims = 1, .shape = {chunks * CHUNK}, .chunk = {CHUNK}};
    struct tensor tensor = {.results = results, .chunks = chunks};
    bool good =
        tensor_good(granary_connect(&(granary_connect_options){.instance = instance, .tag = "bench"}, &tensor.client));

    good = good && tensor_good(granary_mutable_create_tensor(tensor.client, "bench", &shape, NULL, &tensor.table)) &&
           measure_writes(&tensor) && measure_views(&tensor) && measure_seal(&tensor);
    granary_mutable_close(tensor.table);
    granary_disconnect(tensor.client);
    return good;
}
