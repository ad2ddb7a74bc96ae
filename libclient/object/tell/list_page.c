/*
 * A listing page by page, with filters.
 *
 * The cursor is a place in the index, and the key of the object that was listed last there. The key is a hash of its
 * stamp, which stays the same wherever the object goes meanwhile. By owner, the cursor is the token of the last
 * reference.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "granary/hold.h"
#include "object/read/probe.h"

#define KEY_BITS 48u
#define KEY_MASK (((uint64_t)1 << KEY_BITS) - 1)

struct filter {
    granary_object_filter wanted;
    char prefix[GRANARY_ID_TEXT + 1]; /* lower case */
    size_t prefix_length;
};

/* An object of a page of the index. */
struct entry {
    uint64_t key; /* never 0 */
    granary_object_info info;
};

static granary_err
filter_make(const granary_object_filter *wanted, size_t wanted_size, struct filter *ret_filter)
{
    struct filter filter = {.prefix_length = 0};
    granary_err err = gr_sized_take(&filter.wanted, sizeof filter.wanted, wanted, wanted_size);

    if (err != GRANARY_OK) {
        return err;
    }
    if (filter.wanted.prefix != NULL) {
        filter.prefix_length = strlen(filter.wanted.prefix);
    }
    if (filter.prefix_length > GRANARY_ID_TEXT ||
        (filter.prefix_length > 0 && strspn(filter.wanted.prefix, "0123456789abcdefABCDEF") != filter.prefix_length)) {
        return gr_fail(GRANARY_EINVAL, "object id '%.40s': at most %d hex digits are expected", filter.wanted.prefix,
                       GRANARY_ID_TEXT);
    }
    for (size_t i = 0; i < filter.prefix_length; i++) {
        char digit = filter.wanted.prefix[i];

        filter.prefix[i] = (char)(digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit);
    }
    *ret_filter = filter;
    return GRANARY_OK;
}

static bool
filter_wants(const struct filter *filter, const granary_object_info *info)
{
    const granary_object_filter *wanted = &filter->wanted;
    uint64_t size = info->data_size + info->meta_size;
    char text[GRANARY_ID_TEXT + 1];

    if ((wanted->states != 0 && (wanted->states & 1u << info->state) == 0) ||
        (wanted->levels != 0 && (wanted->levels & info->levels) == 0) || size < wanted->least_size ||
        (wanted->most_size != 0 && size > wanted->most_size) || (wanted->pinned && info->pins == 0)) {
        return false;
    }
    if (filter->prefix_length > 0) {
        granary_id_format(info->id, text);
        return memcmp(text, filter->prefix, filter->prefix_length) == 0;
    }
    return true;
}

/* ---- from the index ---- */

static int
by_key(const void *left, const void *right)
{
    uint64_t a = ((const struct entry *)left)->key;
    uint64_t b = ((const struct entry *)right)->key;

    return a < b ? -1 : a > b;
}

/* What is wanted of the index page at *position, with a key above after, in order of keys. Moves *position on. */
static size_t
page_entries(granary_client *client, const struct filter *filter, uint32_t *position, uint64_t after,
             struct slot_copy *copies, struct entry *entries)
{
    size_t found = 0;
    size_t count;

    page_read(client, position, copies, &count);
    for (size_t i = 0; i < count; i++) {
        uint64_t key = copies[i].stamp * 0x9e3779b97f4a7c15ull >> (64 - KEY_BITS);

        key = key == 0 ? 1 : key;
        if (key <= after || (copies[i].flags & GR_FLAG_SLICE) != 0) {
            continue;
        }
        entries[found] = (struct entry){key, info_of(&copies[i])};
        found += filter_wants(filter, &entries[found].info);
    }
    qsort(entries, found, sizeof *entries, by_key);
    return found;
}

static granary_err
list_index(granary_client *client, const struct filter *filter, uint64_t *cursor, size_t most,
           granary_object_info *ret_infos, size_t *ret_count)
{
    struct slot_copy *copies = malloc(GR_PAGE_SLOTS * sizeof *copies);
    struct entry *entries = malloc(GR_PAGE_SLOTS * sizeof *entries);
    uint32_t position = (uint32_t)(*cursor >> KEY_BITS);
    uint64_t after = *cursor & KEY_MASK;
    granary_err err = GRANARY_OK;
    size_t count = 0;

    if (copies == NULL || entries == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "list: out of memory");
    }
    while (err == GRANARY_OK && count < most && position < GR_INDEX_MAX_PAGES) {
        uint32_t next = position;
        size_t found = page_entries(client, filter, &next, after, copies, entries);
        size_t taken = found < most - count ? found : most - count;

        for (size_t i = 0; i < taken; i++) {
            ret_infos[count++] = entries[i].info;
        }
        after = taken < found ? entries[taken - 1].key : 0;
        position = taken < found ? position : next;
    }
    if (err == GRANARY_OK) {
        *cursor = position >= GR_INDEX_MAX_PAGES ? 0 : (uint64_t)position << KEY_BITS | after;
        *ret_count = count;
    }
    free(copies);
    free(entries);
    return err;
}

/* ---- by owner ---- */

static bool
owned(const granary_hold *hold, const char *owner)
{
    return hold->kind == GRANARY_HOLD_REFERENCE && strcmp(hold->text, owner) == 0;
}

/* Whether a reference is the owner's first one of its object: of several only that is told. */
static granary_err
is_first(granary_client *client, const granary_hold *hold, const char *owner, bool *ret_first)
{
    granary_hold *holds = NULL;
    size_t count = 0;
    size_t at = 0;
    granary_err err = granary_holds(client, &hold->id, &holds, &count);

    while (at < count && !owned(&holds[at], owner)) {
        at++;
    }
    *ret_first = at < count && holds[at].token == hold->token;
    free(holds);
    return err;
}

static granary_err
list_owned(granary_client *client, const struct filter *filter, uint64_t *cursor, size_t most,
           granary_object_info *ret_infos, size_t *ret_count)
{
    const char *owner = filter->wanted.owner;
    struct gr_holds request = {.after = *cursor};
    granary_hold *holds = NULL;
    size_t held = 0;
    size_t count = 0;
    uint64_t last = *cursor;
    bool more = false;
    granary_err err = holds_page(client, &request, &holds, &held, &more);

    for (size_t i = 0; err == GRANARY_OK && i < held && count < most; i++) {
        struct slot_copy copy;
        bool first = false;

        last = holds[i].token;
        if (!owned(&holds[i], owner) || !slot_look(client, holds[i].id, &copy)) {
            continue;
        }
        err = is_first(client, &holds[i], owner, &first);
        ret_infos[count] = info_of(&copy);
        count += err == GRANARY_OK && first && filter_wants(filter, &ret_infos[count]);
    }
    free(holds);
    if (err == GRANARY_OK) {
        *cursor = more ? last : 0;
        *ret_count = count;
    }
    return err;
}

granary_err
granary_object_list_page_sized(granary_client *client, const granary_object_filter *filter, uint64_t *cursor,
                               size_t most, granary_object_info *ret_infos, size_t *ret_count, size_t filter_size,
                               size_t info_size)
{
    granary_err err = gr_client_check(client);
    size_t count = 0;
    struct filter made;
    void *infos;

    if (err != GRANARY_OK) {
        return err;
    }
    if (most == 0) {
        return gr_fail(GRANARY_EINVAL, "list: a page of no objects");
    }
    err = filter_make(filter, filter_size, &made);
    if (err == GRANARY_OK) {
        err = gr_sized_borrow(ret_infos, info_size, sizeof *ret_infos, most, &infos);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = made.wanted.owner != NULL ? list_owned(client, &made, cursor, most, infos, &count)
                                    : list_index(client, &made, cursor, most, infos, &count);
    gr_sized_return(ret_infos, info_size, infos, sizeof *ret_infos, count);
    if (err == GRANARY_OK) {
        *ret_count = count;
    }
    return err;
}
