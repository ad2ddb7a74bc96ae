/* What is there: list, find and the account, read from the index without a message. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "base/id_search.h"
#include "base/sized.h"
#include "object/read/probe.h"

/* ---- scans of the whole index ---- */

/* Called for each object; an error ends the scan. */
typedef granary_err scan_fn(void *context, const granary_object_info *info);

static granary_err
scan(granary_client *client, scan_fn *each, void *context)
{
    granary_err err = gr_client_check(client);
    struct slot_copy *copies;
    uint32_t position = 0;
    size_t count;

    if (err != GRANARY_OK) {
        return err;
    }
    copies = malloc(GR_PAGE_SLOTS * sizeof *copies);
    if (copies == NULL) {
        return gr_fail(GRANARY_ENOMEM, "look through the index: out of memory");
    }
    while (err == GRANARY_OK && position < GR_INDEX_MAX_PAGES) {
        page_read(client, &position, copies, &count);
        for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
            granary_object_info info;

            if ((copies[i].flags & GR_FLAG_SLICE) == 0) {
                info = info_of(&copies[i]);
                err = each(context, &info);
            }
        }
    }
    free(copies);
    return err;
}

struct listing {
    granary_object_info *infos;
    size_t count;
    size_t room;
};

static granary_err
listing_add(void *context, const granary_object_info *info)
{
    struct listing *listing = context;

    if (listing->count == listing->room) {
        size_t room = listing->room == 0 ? 256 : listing->room * 2;
        granary_object_info *more = realloc(listing->infos, room * sizeof *more);

        if (more == NULL) {
            return gr_fail(GRANARY_ENOMEM, "list of %zu objects: out of memory", room);
        }
        listing->infos = more;
        listing->room = room;
    }
    listing->infos[listing->count++] = *info;
    return GRANARY_OK;
}

granary_err
granary_object_list_sized(granary_client *client, granary_object_info **ret_infos, size_t *ret_count, size_t info_size)
{
    struct listing listing = {.infos = NULL};
    granary_err err = scan(client, listing_add, &listing);

    return gr_sized_give_list(err, listing.infos, sizeof *listing.infos, listing.count, ret_infos, info_size,
                              ret_count);
}

/* ---- find ---- */

static granary_err
search_match(void *context, const granary_object_info *info)
{
    if (info->state != GRANARY_OBJECT_DELETING) {
        gr_id_search_look(context, info->id);
    }
    return GRANARY_OK;
}

/* A whole id needs no search. */
static granary_err
find_whole(granary_client *client, const char *text, granary_id *ret_id)
{
    granary_object_info info;
    granary_id id;
    granary_err err = granary_id_parse(text, GRANARY_ID_TEXT, &id);

    if (err == GRANARY_OK) {
        err = granary_object_info_get(client, id, &info);
    }
    if (err == GRANARY_OK && info.state == GRANARY_OBJECT_DELETING) {
        err = gr_fail(GRANARY_ENOENT, "object %s: not found", text);
    }
    if (err == GRANARY_OK) {
        *ret_id = id;
    }
    return err;
}

granary_err
granary_object_find(granary_client *client, const char *prefix, granary_id *ret_id)
{
    struct gr_id_search search;
    granary_err err = gr_id_search_begin(prefix, &search);

    if (err == GRANARY_OK && search.length == 0) {
        err = gr_fail(GRANARY_EINVAL, "object id '': at least one hex digit is expected");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (search.length == GRANARY_ID_TEXT) {
        return find_whole(client, search.prefix, ret_id);
    }
    err = scan(client, search_match, &search);
    return err == GRANARY_OK ? gr_id_search_end(&search, ret_id) : err;
}

/* ---- the account ---- */

granary_err
granary_store_stat_get_sized(granary_client *client, granary_store_stat *ret_stat, size_t stat_size)
{
    granary_err err = gr_client_check(client);
    const struct gr_control *control = client->control;
    uint64_t account[GR_ACCOUNT_COUNT];
    granary_store_stat stat;
    uint64_t version;

    if (err != GRANARY_OK) {
        return err;
    }
    /* A store killed inside an update leaves the version odd for good: then the last look has to do. */
    for (uint32_t tries = 0; tries < 1000000; tries++) {
        version = atomic_load_explicit(&control->account_version, memory_order_acquire);
        for (size_t i = 0; i < GR_ACCOUNT_COUNT; i++) {
            account[i] = atomic_load_explicit(&control->account[i], memory_order_acquire);
        }
        if (version % 2 == 0 && atomic_load_explicit(&control->account_version, memory_order_relaxed) == version) {
            break;
        }
        gr_cpu_relax();
    }
    stat = (granary_store_stat){
#define ACCOUNT(name, member, unit, part, summary) .member = account[GR_ACCOUNT_##name],
#include "contract/account.def"
#undef ACCOUNT
#define COUNTER(name, unit, summary)                                                                                   \
    .name = atomic_load_explicit(&control->counters[GR_COUNTER_##name], memory_order_relaxed),
#include "contract/counters.def"
#undef COUNTER
    };
    gr_sized_give(ret_stat, stat_size, &stat, sizeof stat);
    return GRANARY_OK;
}
