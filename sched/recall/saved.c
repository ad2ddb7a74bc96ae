/*
 * Results that outlive the instance: their objects are on disk, and a file beside those tells the next instance what they
 * are (docs/formats.md, "recalled results"). Whatever changes of them, the file is written anew.
 *
 * The client that asks moves the objects: a scheduler maps none. So this is in two steps: what is there, with ids; and
 * what has been moved.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "sched/core/actions.h"
#include "sched/core/registry.h"
#include "sched/recall/recalls.h"

#define MAGIC "GRANRCL\1"
enum { MAGIC_SIZE = 8, HEAD_SIZE = MAGIC_SIZE + sizeof(uint64_t) };

static uint64_t
number_of(const struct recalled *recalled)
{
    return (uint64_t)recalled->part << 32 | recalled->serial;
}

/* Ids of all objects of an entry, one behind the other. NULL: out of memory */
static granary_id *
ids_of(const struct recalled *recalled, size_t *ret_count)
{
    struct gr_buf ids = {0};

    for (size_t t = 0; t < recalled->count; t++) {
        const struct recalled_target *target = &recalled->targets[t];
        Granary__Result *result = granary__result__unpack(NULL, target->packed_size, target->packed);

        ids.failed = ids.failed || result == NULL;
        for (size_t i = 0; result != NULL && i < result->n_chunks; i++) {
            if (result->chunks[i]->id.len == GRANARY_ID_BYTES) {
                gr_buf_add(&ids, result->chunks[i]->id.data, GRANARY_ID_BYTES);
            }
        }
        granary__result__free_unpacked(result, NULL);
    }
    if (!gr_buf_ok(&ids)) {
        gr_buf_free(&ids);
        return NULL;
    }
    *ret_count = ids.size / GRANARY_ID_BYTES;
    gr_buf_add(&ids, "", 1);
    return (granary_id *)(void *)gr_buf_take(&ids);
}

/* ---- what is to be moved ---- */

void
recalls_tell(const struct recalls *recalls, const char *session, struct gr_buf *out)
{
    const struct recalled *recalled;

    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        size_t count = 0;
        granary_id *ids;

        if (recalled->broken || recalled->saved || strcmp(recalled->session, session) != 0) {
            continue;
        }
        ids = ids_of(recalled, &count);
        out->failed = out->failed || ids == NULL;
        gr_buf_addf(out, "%" PRIu64, number_of(recalled));
        for (size_t i = 0; ids != NULL && i < count; i++) {
            char text[GRANARY_ID_TEXT + 1];

            granary_id_format(ids[i], text);
            gr_buf_addf(out, " %s", text);
        }
        gr_buf_addf(out, "\n");
        free(ids);
    }
}

size_t
recalls_save(struct manager *manager, const char *session, const uint64_t *numbers, size_t count, uint64_t ticket)
{
    struct recalls *recalls = manager->recalls;
    struct recalled *recalled;
    size_t saved = 0;

    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        bool named = false;

        for (size_t i = 0; i < count && !named; i++) {
            named = numbers[i] == number_of(recalled);
        }
        if (named && !recalled->broken && !recalled->saved && strcmp(recalled->session, session) == 0) {
            recalls->owned_bytes -= recalled->owned ? recalled->bytes : 0; /* it is on disk: memory is no limit to it */
            recalled->saved = true;
            recalled_keep(manager, recalled);
            saved++;
        }
    }
    if (saved > 0 || recalls->failed) {
        recalls->unwritten = true;
        recalls_write(manager, ticket);
    }
    return saved;
}

/* ---- the file ---- */

void
recalls_write(struct manager *manager, uint64_t ticket)
{
    struct recalls *recalls = manager->recalls;
    struct action *action;
    struct recalled *recalled;
    struct gr_buf entries = {0};
    uint64_t hash;

    if (!recalls->unwritten) {
        return;
    }
    recalls->unwritten = recalls->failed = false;
    action = action_add(manager, ACTION_SAVE);
    if (action == NULL) {
        return;
    }
    action->ticket = ticket;
    TAILQ_FOREACH(recalled, &recalls->list, link)
    {
        size_t count = 0;
        granary_id *ids = recalled->saved && !recalled->broken ? ids_of(recalled, &count) : NULL;

        if (recalled->saved && !recalled->broken) {
            entries.failed = entries.failed || ids == NULL || !recalled_pack(recalled, true, ids, count, &entries);
        }
        free(ids);
    }
    if (!gr_buf_ok(&entries)) {
        manager_note_exhausted(manager);
    } else if (entries.size > 0) { /* else the file goes */
        hash = gr_hash64(entries.bytes, entries.size);
        gr_buf_add(&action->bytes, MAGIC, MAGIC_SIZE);
        gr_buf_add(&action->bytes, &hash, sizeof hash);
        gr_buf_add(&action->bytes, entries.bytes, entries.size);
    }
    gr_buf_free(&entries);
}

void
manager_save_failed(struct manager *manager)
{
    manager->recalls->failed = true;
}

static bool
is_there(const struct manager *manager, const Granary__Recall *message)
{
    const struct recalled *recalled;

    TAILQ_FOREACH(recalled, &manager->recalls->list, link)
    {
        if (recalled->saved && strcmp(recalled->id_key, message->id_key) == 0 && recalled->part == message->part &&
            strcmp(recalled->session, message->session) == 0) {
            return true;
        }
    }
    return false;
}

/* The graph that made it was of an earlier instance: its serial is another one's now. */
static bool
take_entry(struct manager *manager, const Granary__Recall *message)
{
    uint32_t serial;

    if (session_check(message->session) != GRANARY_OK || message->n_targets == 0 || !message->owned ||
        message->ids.len == 0) {
        return false;
    }
    if (is_there(manager, message)) {
        return true;
    }
    serial = manager->registry.serial_count == 0 ? 1 : manager->registry.serial_count;
    return serial_reserve(manager, serial) && recalled_unpack(manager, serial, message);
}

size_t
manager_restore_saved(struct manager *manager, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    const unsigned char *end = at + size;
    uint64_t hash;
    size_t taken = 0;

    if (size < HEAD_SIZE || memcmp(at, MAGIC, MAGIC_SIZE) != 0) {
        gr_log_warn("RECALL-FILE", "the file of saved results is of another version, or damaged: it was passed over");
        return 0;
    }
    memcpy(&hash, at + MAGIC_SIZE, sizeof hash);
    at += HEAD_SIZE;
    if (hash != gr_hash64(at, (size_t)(end - at))) {
        gr_log_warn("RECALL-FILE", "the file of saved results is damaged: it was passed over");
        return 0;
    }
    while (end - at >= (ptrdiff_t)sizeof(uint32_t)) {
        uint32_t length;
        Granary__Recall *message;

        memcpy(&length, at, sizeof length);
        at += sizeof length;
        if (length > (size_t)(end - at)) {
            break;
        }
        message = granary__recall__unpack(NULL, length, at);
        at += length;
        if (message != NULL && take_entry(manager, message)) {
            taken++;
        } else {
            gr_log_warn("RECALL-FILE", "a saved result cannot be read, and was passed over");
        }
        granary__recall__free_unpacked(message, NULL);
    }
    return taken;
}
