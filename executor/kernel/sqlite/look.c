/* sqlite_look: the columns of a table, and what kinds of values there are where a declared type does not tell. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "data/value/calendar.h"
#include "graph/schema.h"
#include "kernel/core/call.h"
#include "sqlite/sqlite.h"

#define KIND_BLOB 32768

/* A table that is looked at. */
struct looking {
    struct gr_sqlite *database;
    char *table;
    struct gr_sqlite_column *columns;
    size_t count;
    uint32_t *kinds;
    char **names;  /* of the columns whose values decide */
    size_t *which; /* among all */
    size_t open;   /* how many */
};

static void
looking_fini(struct looking *looking)
{
    gr_sqlite_close(looking->database);
    gr_sqlite_columns_free(looking->columns, looking->count);
    free(looking->table);
    free(looking->kinds);
    free(looking->names);
    free(looking->which);
}

static uint32_t
kind_of_text(enum gr_sqlite_affinity affinity, const struct gr_sqlite_value *value)
{
    int64_t microseconds;
    int32_t days;

    return affinity != GR_SQLITE_DATE                                     ? GR_KIND_STRING
           : gr_date_parse(value->bytes, value->size, &days)              ? GR_KIND_DATE
           : gr_timestamp_parse(value->bytes, value->size, &microseconds) ? GR_KIND_TIMESTAMP
                                                                          : GR_KIND_STRING;
}

static uint32_t
kind_of(enum gr_sqlite_affinity affinity, const struct gr_sqlite_value *value)
{
    switch (value->kind) {
    case GR_SQLITE_NULL:
        return GR_KIND_NULL;
    case GR_SQLITE_INT64:
        return affinity == GR_SQLITE_BOOL && (value->integer == 0 || value->integer == 1) ? GR_KIND_BOOL
                                                                                          : GR_KIND_INT64;
    case GR_SQLITE_FLOAT64:
        return GR_KIND_FLOAT64;
    case GR_SQLITE_STRING:
        return kind_of_text(affinity, value);
    default:
        return KIND_BLOB;
    }
}

/* 0, 1 and 2 are integers together. */
static uint32_t
settled(uint32_t kinds)
{
    const uint32_t numbers = GR_KIND_INT64 | GR_KIND_FLOAT64;

    return (kinds & GR_KIND_BOOL) != 0 && (kinds & numbers) != 0 ? (kinds & ~(uint32_t)GR_KIND_BOOL) | GR_KIND_INT64
                                                                 : kinds;
}

static granary_err
look_at_types(struct looking *looking)
{
    looking->kinds = calloc(looking->count + 1, sizeof *looking->kinds);
    looking->names = calloc(looking->count + 1, sizeof *looking->names);
    looking->which = calloc(looking->count + 1, sizeof *looking->which);
    if (looking->kinds == NULL || looking->names == NULL || looking->which == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sqlite_look: out of memory");
    }
    for (size_t c = 0; c < looking->count; c++) {
        enum gr_sqlite_affinity affinity = gr_sqlite_affinity(looking->columns[c].type);

        looking->kinds[c] = affinity == GR_SQLITE_INTEGER ? GR_KIND_INT64
                            : affinity == GR_SQLITE_REAL  ? GR_KIND_FLOAT64
                            : affinity == GR_SQLITE_TEXT  ? GR_KIND_STRING
                                                          : 0;
        if (looking->kinds[c] == 0) {
            looking->names[looking->open] = looking->columns[c].name;
            looking->which[looking->open++] = c;
        }
    }
    return GRANARY_OK;
}

static granary_err
look_at_values(struct looking *looking)
{
    const struct gr_sqlite_range all = {.ranged = false};
    bool row = looking->open > 0;
    granary_err err =
        row ? gr_sqlite_begin(looking->database, looking->table, looking->names, looking->open, &all) : GRANARY_OK;

    while (err == GRANARY_OK && row && (err = gr_sqlite_next(looking->database, &row)) == GRANARY_OK && row) {
        for (size_t i = 0; i < looking->open; i++) {
            const struct gr_sqlite_value value = gr_sqlite_value(looking->database, i);

            looking->kinds[looking->which[i]] |=
                kind_of(gr_sqlite_affinity(looking->columns[looking->which[i]].type), &value);
        }
    }
    gr_sqlite_end(looking->database);
    for (size_t i = 0; i < looking->open; i++) {
        looking->kinds[looking->which[i]] = settled(looking->kinds[looking->which[i]]);
    }
    return err;
}

static granary_err
tell(struct gr_kernel_call *call, const struct looking *looking, Granary__SqliteTable *answer)
{
    ProtobufCBinaryData *names = calloc(looking->count + 1, sizeof *names);
    uint8_t *packed = NULL;

    for (size_t c = 0; names != NULL && c < looking->count; c++) {
        names[c] =
            (ProtobufCBinaryData){.len = strlen(looking->columns[c].name), .data = (uint8_t *)looking->columns[c].name};
    }
    if (names != NULL) {
        answer->table = looking->table;
        answer->names = names;
        answer->n_names = looking->count;
        answer->kinds = looking->kinds;
        answer->n_kinds = looking->count;
        packed = gr_buf_grow(call->answer, granary__sqlite_table__get_packed_size(answer));
        if (packed != NULL) {
            (void)granary__sqlite_table__pack(answer, packed);
        }
    }
    free(names);
    return packed == NULL ? gr_fail(GRANARY_ENOMEM, "sqlite_look: out of memory") : GRANARY_OK;
}

granary_err
kernel_sqlite_look(struct gr_kernel_call *call, const struct gr_chunk_sqlite_look *params)
{
    Granary__SqliteTable answer = GRANARY__SQLITE_TABLE__INIT;
    struct looking looking = {.database = NULL};
    uint64_t stamp = 0;
    bool ranged = false;
    granary_err err = gr_sqlite_stamp(params->path, &stamp);

    err = err == GRANARY_OK ? gr_sqlite_open(params->path, &looking.database) : err;
    err = err == GRANARY_OK ? gr_sqlite_find(looking.database, params->table, &looking.table) : err;
    err =
        err == GRANARY_OK ? gr_sqlite_columns(looking.database, looking.table, &looking.columns, &looking.count) : err;
    err = err == GRANARY_OK ? look_at_types(&looking) : err;
    err = err == GRANARY_OK ? look_at_values(&looking) : err;
    err = err == GRANARY_OK ? gr_sqlite_extent(looking.database, looking.table, &ranged, &answer.least, &answer.most)
                            : err;
    answer.ranged = ranged;
    answer.stamp = (int64_t)stamp;
    err = err == GRANARY_OK ? tell(call, &looking, &answer) : err;
    looking_fini(&looking);
    return err;
}
