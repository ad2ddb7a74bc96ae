/* Counts by hash of session and function, in a sorted array that is searched by halves. */

#include "sched/history/function_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/memory/grow.h"
#include "graph/graph.h"

/* One of user_code.function, in a session. Programs, which are no functions of a library, are entries without names. */
struct entry {
    uint64_t hash;
    uint64_t named; /* hash of session, library, version and name; 0: no function of a library */
    struct function_count count;
};

struct function_stats {
    struct entry *items; /* by hash */
    size_t count, room;
};

struct function_stats *
function_stats_create(void)
{
    return calloc(1, sizeof(struct function_stats));
}

void
function_stats_destroy(struct function_stats *stats)
{
    if (stats != NULL) {
        free(stats->items);
        free(stats);
    }
}

static uint64_t
hash_of(const char *session, const char *library, const char *version, const char *function)
{
    uint64_t hash = gr_hash64(session, strlen(session));

    hash = gr_hash64_seeded(library, strlen(library), hash);
    hash = gr_hash64_seeded(version, strlen(version), hash);
    return gr_hash64_seeded(function, strlen(function), hash) | 1;
}

/* What its operator calls; found out once a function. */
static uint64_t
name_of(const char *session, const struct subtask *subtask)
{
    Granary__Subtask *message = granary__subtask__unpack(NULL, subtask->packed_size, subtask->packed);
    uint64_t named = 0;

    for (size_t i = 0; message != NULL && i < message->n_ops && named == 0; i++) {
        const Granary__ChunkOp *op = message->ops[i];
        const char *library = gr_attr_string(op->attrs, op->n_attrs, "library", NULL);
        const char *version = gr_attr_string(op->attrs, op->n_attrs, "version", "");
        const char *function = gr_attr_string(op->attrs, op->n_attrs, "function", NULL);

        named = library != NULL && function != NULL ? hash_of(session, library, version, function) : 0;
    }
    granary__subtask__free_unpacked(message, NULL);
    return named;
}

/* The first entry that is not below a hash. */
static size_t
position_of(const struct function_stats *stats, uint64_t hash)
{
    size_t low = 0;
    size_t high = stats->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (stats->items[middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void
function_stats_note(struct function_stats *stats, const char *session, const struct subtask *subtask,
                    const struct user_code *code, granary_err err, uint64_t nanoseconds)
{
    uint64_t hash = gr_hash64_seeded(session, strlen(session), code->function);
    size_t at = position_of(stats, hash);
    struct entry *entry;
    uint64_t weight;

    if (at == stats->count || stats->items[at].hash != hash) {
        if (!gr_grow(&stats->items, &stats->room, stats->count, sizeof *stats->items)) {
            return;
        }
        memmove(stats->items + at + 1, stats->items + at, (stats->count++ - at) * sizeof *stats->items);
        stats->items[at] = (struct entry){.hash = hash, .named = name_of(session, subtask)};
    }
    entry = &stats->items[at];
    weight = ++entry->count.calls < 8 ? entry->count.calls : 8;
    entry->count.failures += err != GRANARY_OK;
    entry->count.mean_ns = (entry->count.mean_ns * (weight - 1) + nanoseconds) / weight;
}

struct function_count
function_stats_find(const struct function_stats *stats, const char *session, const char *library, const char *version,
                    const char *function)
{
    uint64_t named = hash_of(session, library, version, function);
    struct function_count sum = {.calls = 0};

    for (size_t i = 0; i < stats->count; i++) { /* more than one when several kinds of nodes call it */
        const struct function_count *count = &stats->items[i].count;

        if (stats->items[i].named == named) {
            sum.mean_ns = (sum.mean_ns * sum.calls + count->mean_ns * count->calls) / (sum.calls + count->calls);
            sum.calls += count->calls;
            sum.failures += count->failures;
        }
    }
    return sum;
}
