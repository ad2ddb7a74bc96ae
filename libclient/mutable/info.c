/* What is known of tables: one, and all of the session, by their names; and waiting for what comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "base/sized.h"
#include "mutable/core/lane.h"
#include "mutable/durable/restore.h"
#include "mutable/frame/runs.h"
#include "mutable/read.h"
#include "mutable/sealed.h"
#include "mutable/tensor/shape.h"

#define NAMES_AT_ONCE 256

/* ---- one ---- */

/* Rows of a frame, or elements of a tensor. */
static granary_err
count_rows(const granary_mutable *table, int64_t *ret_rows)
{
    struct runs runs = {.count = 0};
    granary_err err;

    if (table->tensor != NULL) {
        *ret_rows = 1;
        for (int i = 0; i < table->tensor->dims; i++) {
            *ret_rows *= table->tensor->shape[i];
        }
        return GRANARY_OK;
    }
    err = runs_collect(table, INT64_MIN, INT64_MAX, &runs);
    *ret_rows = runs.rows;
    runs_free(&runs);
    return err;
}

static granary_err
describe_open(granary_mutable *table, granary_mutable_info *info)
{
    const struct index *index = &table->index;
    granary_err err = table_look(table);

    err = err == GRANARY_OK ? count_rows(table, &info->rows) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    info->kind = table->tensor != NULL ? GRANARY_MUTABLE_TENSOR : GRANARY_MUTABLE_FRAME;
    info->parts = (uint32_t)(table->tensor != NULL ? index->head_count : index->count);
    info->changes = index->note_count;
    info->newest = INT64_MIN;
    info->final = INT64_MAX;
    if (table_is_fixed(table)) {
        info->kind = table->tensor != NULL ? GRANARY_SEALED_TENSOR : GRANARY_SEALED_FRAME;
        info->changes = 0;
        return GRANARY_OK;
    }
    info->newest = mutable_newest(table->page.page);
    info->final = mutable_frontier(table->page.page);
    info->writers = page_writers(&table->page);
    info->durability = (granary_durability)table->page.page->durability;
    info->interval_ns = table->page.page->interval_ns;
    return GRANARY_OK;
}

static granary_err
describe(granary_client *client, const char *name, granary_mutable_info *info)
{
    granary_mutable *table = NULL;
    granary_err err = granary_mutable_open(client, name, &table);

    *info = (granary_mutable_info){.kind = GRANARY_MUTABLE_FRAME};
    (void)snprintf(info->name, sizeof info->name, "%s", name);
    if (err == GRANARY_ESEALED) {
        err = granary_name_get(client, name, &info->id);
        err = err == GRANARY_OK ? granary_sealed_open(client, info->id, &table) : err;
    }
    if (err == GRANARY_OK) {
        info->id = table->id;
        err = describe_open(table, info);
        granary_mutable_close(table);
    }
    return err;
}

granary_err
granary_mutable_describe_sized(granary_client *client, const char *name, granary_mutable_info *ret_info,
                               size_t info_size)
{
    granary_mutable_info info;
    granary_err err = describe(client, name, &info);

    if (err == GRANARY_OK) {
        gr_sized_give(ret_info, info_size, &info, sizeof info);
    }
    return err;
}

/* ---- all ---- */

struct tables {
    granary_client *client;
    struct gr_mutables_map map;
    granary_mutable_info *infos;
    size_t count;
    size_t room;
};

static bool
has_page(const struct gr_mutables_map *map, granary_id id)
{
    uint32_t i = 0;

    while (i < map->count && !gr_id_equal(page_id(&map->pages[i]), id)) {
        i++;
    }
    return i < map->count && map->pages[i].kind == GR_PAGE_TABLE;
}

/* Add what a name is bound to, if it is a table. */
static granary_err
tables_add(struct tables *tables, const granary_name *name)
{
    const bool is_mutable = has_page(&tables->map, name->id);
    granary_mutable_info *info;

    if (!is_mutable && !sealed_is(tables->client, name->id)) {
        return GRANARY_OK;
    }
    if (!gr_grow(&tables->infos, &tables->room, tables->count, sizeof *tables->infos)) {
        return gr_fail(GRANARY_ENOMEM, "list of tables: out of memory");
    }
    info = &tables->infos[tables->count++];
    if (describe(tables->client, name->name, info) != GRANARY_OK) {
        info->kind = is_mutable ? GRANARY_MUTABLE_FRAME : GRANARY_SEALED_FRAME;
        info->id = name->id;
        info->newest = info->final = INT64_MIN;
    }
    return GRANARY_OK;
}

granary_err
granary_mutable_list_sized(granary_client *client, granary_mutable_info **ret_infos, size_t *ret_count,
                           size_t info_size)
{
    struct tables tables = {.client = client};
    granary_name *names = calloc(NAMES_AT_ONCE, sizeof *names);
    size_t count = NAMES_AT_ONCE;
    granary_err err = names == NULL ? gr_fail(GRANARY_ENOMEM, "list of tables: out of memory")
                                    : durable_restore_all(client); /* which makes pages */

    err = err == GRANARY_OK ? gr_mutables_map(client, 1, &tables.map) : err;
    if (err == GRANARY_OK) {
        const char *after = NULL;

        while (err == GRANARY_OK && count == NAMES_AT_ONCE) {
            err = granary_name_list(client, after, names, NAMES_AT_ONCE, &count);
            for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
                err = tables_add(&tables, &names[i]);
            }
            after = names[NAMES_AT_ONCE - 1].name;
        }
        gr_mutables_unmap(&tables.map);
    }
    free(names);
    return gr_sized_give_list(err, tables.infos, sizeof *tables.infos, tables.count, ret_infos, info_size, ret_count);
}

/* ---- what comes ---- */

#define LOOK_NS INT64_C(1000000000) /* whether there is a store still */

/* Something later than a time was committed to one of the tables, or one was sealed or deleted. */
static granary_err
look_at(granary_mutable *const *tables, size_t count, int64_t after, bool *ret_found)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = table_is_fixed(tables[i]) ? table_fail_sealed(tables[i]) : table_check(tables[i]);
        err = err == GRANARY_OK && gr_client_is_over(tables[i]->client)
                  ? gr_fail(GRANARY_EUNREACHABLE, "the instance has ended")
                  : err;
        err = table_told(tables[i], err);
        *ret_found = *ret_found || (err == GRANARY_OK && mutable_newest(tables[i]->page.page) > after);
    }
    return err;
}

granary_err
gr_mutables_watch(granary_mutable *const *tables, size_t count, int64_t after, int timeout_ms)
{
    const int64_t deadline_ns = gr_deadline_ns(timeout_ms);
    const unsigned most = count < GR_FUTEX_MOST ? (unsigned)count : GR_FUTEX_MOST;
    struct gr_futex bells[GR_FUTEX_MOST];
    bool found = false;
    granary_err err = look_at(tables, count, after, &found);

    while (err == GRANARY_OK && !found) {
        const int64_t now_ns = gr_now_ns();

        if (now_ns >= deadline_ns) {
            return gr_fail(GRANARY_ETIMEDOUT, "nothing was written after time %lld", (long long)after);
        }
        for (unsigned i = 0; i < most; i++) {
            struct gr_bell *bell = &tables[i]->page.page->bell;

            bells[i] = (struct gr_futex){&bell->bell, gr_bell_await(bell)};
        }
        err = look_at(tables, count, after, &found);
        if (err == GRANARY_OK && !found) {
            gr_futex_wait_many(bells, most, deadline_ns - now_ns > LOOK_NS ? now_ns + LOOK_NS : deadline_ns);
            err = look_at(tables, count, after, &found);
        }
    }
    return err;
}

granary_err
granary_mutable_watch(granary_mutable *table, int64_t after, int timeout_ms, int64_t *ret_newest)
{
    granary_err err = gr_client_check_wait(table->client, timeout_ms);

    if (err == GRANARY_OK && table_is_fixed(table)) {
        err = table_fail_sealed(table);
    }
    if (err != GRANARY_OK) {
        return table_told(table, err);
    }
    err = gr_mutables_watch(&table, 1, after == GRANARY_NOW ? mutable_newest(table->page.page) : after, timeout_ms);
    if (err == GRANARY_ETIMEDOUT) {
        return table_told(table, err);
    }
    if (err == GRANARY_OK && ret_newest != NULL) {
        *ret_newest = mutable_newest(table->page.page);
    }
    return err;
}
