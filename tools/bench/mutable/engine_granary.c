/* granary as an engine: mutable frames of the instance that the benchmark started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/mutable/engine.h"
#include "granary/mutable.h"
#include "granary/store.h"

#define INTERVAL_NS 100000000

static const char *const table_names[ENGINE_TABLES] = {"bench0", "bench1", "bench2", "bench3"};
static const char *const column_names[ENGINE_COLUMNS] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};

struct ours {
    granary_client *client;
    granary_mutable *tables[ENGINE_TABLES];
    granary_column columns[ENGINE_COLUMNS];
    int64_t *read[ENGINE_COLUMNS]; /* rows that were read */
    size_t rows, room;
    int64_t after; /* time of the last read */
};

static bool
ours_good(granary_err err)
{
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "granary: bench: %s\n", granary_error_message());
    }
    return err == GRANARY_OK;
}

static bool
ours_is_there(void)
{
    return true;
}

static granary_client *
ours_reach(const struct engine *engine)
{
    granary_client *client = NULL;

    (void)ours_good(
        granary_connect(&(granary_connect_options){.instance = engine->directory, .tag = "bench"}, &client));
    return client;
}

static void
ours_stop(struct engine *engine)
{
    granary_client *client = ours_reach(engine);

    for (unsigned i = 0; client != NULL && i < ENGINE_TABLES; i++) {
        (void)ours_good(granary_mutable_delete(client, table_names[i]));
    }
    granary_disconnect(client);
}

static void
ours_close(void *handle)
{
    struct ours *self = handle;

    for (unsigned i = 0; i < ENGINE_COLUMNS; i++) {
        free(self->read[i]);
    }
    for (unsigned i = 0; i < ENGINE_TABLES; i++) {
        granary_mutable_close(self->tables[i]);
    }
    granary_disconnect(self->client);
    free(self);
}

static void *
ours_open(const struct engine *engine)
{
    const granary_durability durability = (granary_durability)engine->mode;
    const granary_mutable_options open_it = {.flags = GRANARY_MUTABLE_OPEN,
                                             .durability = durability,
                                             .interval_ns = durability == GRANARY_DURABLE_INTERVAL ? INTERVAL_NS : 0};
    struct ours *self = calloc(1, sizeof *self);
    bool good = self != NULL && (self->client = ours_reach(engine)) != NULL;

    if (self != NULL) {
        self->after = GRANARY_NOW; /* all rows */
    }

    for (unsigned i = 0; good && i < ENGINE_COLUMNS; i++) {
        self->columns[i] = (granary_column){.name = column_names[i], .dtype = GRANARY_INT64};
    }
    for (unsigned i = 0; good && i < ENGINE_TABLES; i++) {
        good = ours_good(granary_mutable_create_frame(self->client, table_names[i], self->columns, ENGINE_COLUMNS,
                                                      &open_it, &self->tables[i]));
    }
    if (!good && self != NULL) {
        ours_close(self);
        return NULL;
    }
    return self;
}

static bool
ours_append(void *handle, unsigned table, const int64_t *values, size_t rows)
{
    struct ours *self = handle;

    for (unsigned i = 0; i < ENGINE_COLUMNS; i++) {
        self->columns[i].values = values + i * rows;
    }
    return ours_good(
        granary_mutable_append(self->tables[table], self->columns, ENGINE_COLUMNS, (int64_t)rows, NULL, NULL));
}

/* Room for so many rows. */
static bool
ours_reserve(struct ours *self, size_t rows)
{
    const size_t room = self->room * 2 > rows ? self->room * 2 : rows;

    for (unsigned i = 0; rows > self->room && i < ENGINE_COLUMNS; i++) {
        int64_t *more = realloc(self->read[i], room * sizeof *more);

        if (more == NULL) {
            return false;
        }
        self->read[i] = more;
    }
    self->room = rows > self->room ? room : self->room;
    return true;
}

static bool
ours_read(void *handle, struct engine_copy *ret_copy)
{
    struct ours *self = handle;
    granary_frame *news = NULL;
    uint64_t changes;
    bool good =
        ours_good(granary_mutable_read_since(self->tables[0], self->after, GRANARY_NOW, &news, &self->after, &changes));
    const size_t rows = good ? (size_t)granary_frame_rows(news) : 0;

    good = good && changes == 0 && ours_reserve(self, self->rows + rows);
    for (unsigned i = 0; good && i < ENGINE_COLUMNS; i++) {
        memcpy(self->read[i] + self->rows, granary_frame_column(news, i)->values, rows * sizeof(int64_t));
        ret_copy->column[i] = self->read[i];
    }
    self->rows += good ? rows : 0;
    ret_copy->rows = self->rows;
    granary_frame_close(news);
    return good;
}

static bool
ours_cut(void *handle)
{
    struct ours *self = handle;
    int64_t time = GRANARY_NOW;

    return ours_good(granary_cut(self->tables, ENGINE_TABLES, &time));
}

const struct engine_kind engine_granary = {.name = "granary",
                                           .looked_for = "",
                                           .is_there = ours_is_there,
                                           .stop = ours_stop,
                                           .open = ours_open,
                                           .close = ours_close,
                                           .append = ours_append,
                                           .read = ours_read,
                                           .cut = ours_cut};
