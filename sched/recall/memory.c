/*
 * What a scheduler remembers beside results, as long as it runs: which steps were computed lately, and what columns files
 * have. Both
 * are tables in which a key has one place: what comes later takes it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "graph/schema.h"
#include "sched/recall/recalls.h"

enum { STEPS_MAX = 4096, FILES_MAX = 256 };

struct recall_memory {
    granary_id steps[STEPS_MAX]; /* each at the place that its key hashes to: another one of that place takes it */
    struct known_file {
        granary_id key;
        struct gr_schema schema;
    } files[FILES_MAX];
};

static struct recall_memory *
memory_of(struct recalls *recalls)
{
    if (recalls->memory == NULL) {
        recalls->memory = calloc(1, sizeof *recalls->memory);
    }
    return recalls->memory;
}

static size_t
place_of(granary_id key, size_t places)
{
    uint64_t words[2];

    gr_id_words(key, words);
    return (size_t)(words[0] % places);
}

bool
recalls_missed(struct recalls *recalls, granary_id key)
{
    struct recall_memory *memory = memory_of(recalls);
    granary_id *step = memory == NULL ? NULL : &memory->steps[place_of(key, STEPS_MAX)];
    bool again = step != NULL && gr_id_equal(*step, key);

    if (step != NULL) {
        *step = key;
    }
    return again;
}

const struct gr_schema *
recalls_schema(const struct recalls *recalls, granary_id key)
{
    const struct known_file *file =
        recalls->memory == NULL || recalls->off ? NULL : &recalls->memory->files[place_of(key, FILES_MAX)];

    return file != NULL && gr_id_equal(file->key, key) ? &file->schema : NULL;
}

void
recalls_learn(struct recalls *recalls, granary_id key, const struct gr_schema *schema)
{
    struct recall_memory *memory = memory_of(recalls);
    struct known_file *file = memory == NULL ? NULL : &memory->files[place_of(key, FILES_MAX)];

    if (file == NULL || gr_id_equal(file->key, key)) {
        return;
    }
    gr_schema_free(&file->schema);
    *file = (struct known_file){.key = key};
    if (gr_schema_copy(schema, &file->schema) != GRANARY_OK) {
        *file = (struct known_file){.schema.count = 0};
    }
}

void
recall_memory_destroy(struct recall_memory *memory)
{
    for (size_t i = 0; memory != NULL && i < FILES_MAX; i++) {
        gr_schema_free(&memory->files[i].schema);
    }
    free(memory);
}
