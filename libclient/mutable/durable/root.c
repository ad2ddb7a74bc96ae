/* Roots, in two places by turns: a power cut finds the old one, or the new one. */
#include "mutable/durable/root.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/id.h"
#include "data/frame.h"
#include "mutable/durable/ids.h"
#include "object/object.h"

uint64_t
root_hash(const char *name)
{
    return gr_hash64(name, strlen(name));
}

static granary_id
root_id(uint64_t hash, uint64_t sequence)
{
    return gr_id_from_words(GR_TABLE_ROOT_PREFIX, (hash & ~(uint64_t)1) | (sequence & 1));
}

granary_id
root_table(const struct root *root)
{
    return gr_id_from_words(root->head.id[0], root->head.id[1]);
}

granary_id
root_before(const struct root *root)
{
    return gr_id_from_words(root->head.before[0], root->head.before[1]);
}

static uint64_t
root_pad(uint64_t size)
{
    return (size + GR_PIECE_PAD - 1) / GR_PIECE_PAD * GR_PIECE_PAD;
}

const void *
root_meta(const struct root *root)
{
    return root->bytes + root_pad(root->head.data_size);
}

granary_err
root_set_object(struct root *root, const granary_view *view)
{
    const uint64_t meta_at = root_pad(view->data_size);

    root->bytes = gr_data_alloc(meta_at + root_pad(view->meta_size) + 1);
    if (root->bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    root->head.data_size = view->data_size;
    root->head.meta_size = view->meta_size;
    memcpy(root->bytes, view->data, view->data_size);
    if (view->meta_size > 0) {
        memcpy(root->bytes + meta_at, view->meta, view->meta_size);
    }
    return GRANARY_OK;
}

void
root_free(struct root *root)
{
    free(root->bytes);
    root->bytes = NULL;
}

/* A number of this memory's. Errors: as gr_mutables_map() */
static granary_err
incarnation_get(granary_client *client, uint64_t *ret_incarnation)
{
    const granary_id random = granary_id_random();
    struct gr_mutables_map map;
    uint64_t words[2], none = 0;
    granary_err err = gr_mutables_map(client, 1, &map);

    if (err == GRANARY_OK) {
        struct gr_mutables *head = map.base;

        gr_id_words(random, words);
        *ret_incarnation =
            atomic_compare_exchange_strong(&head->incarnation, &none, words[0] | 1) ? words[0] | 1 : none;
        gr_mutables_unmap(&map);
    }
    return err;
}

/* ---- reading ---- */

static bool
head_makes_sense(const struct gr_mutable_root *head, uint64_t size)
{
    const uint64_t room = size - root_pad(sizeof *head);

    return head->state >= GR_TABLE_ROOT_LIVE && head->state <= GR_TABLE_ROOT_ENDED &&
           head->durability <= GR_DURABLE_COMMIT && memchr(head->name, '\0', sizeof head->name) != NULL &&
           head->data_size <= room && head->meta_size <= room &&
           root_pad(head->data_size) + root_pad(head->meta_size) == room;
}

/* The bytes of a root's object. */
static granary_err
root_read(const granary_view *view, struct root *root)
{
    const uint64_t at = root_pad(sizeof root->head);

    if (view->data_size < at) {
        return gr_fail(GRANARY_ECORRUPT, "it is too short");
    }
    memcpy(&root->head, view->data, sizeof root->head);
    if (root->head.magic != GR_TABLE_ROOT_MAGIC) {
        return gr_fail(GRANARY_ECORRUPT, "it does not begin as roots of tables do");
    }
    if (root->head.version != GR_TABLE_ROOT_VERSION) {
        return gr_fail(GRANARY_EVERSION, "it has version %u, this release reads %u", root->head.version,
                       GR_TABLE_ROOT_VERSION);
    }
    if (!head_makes_sense(&root->head, view->data_size)) {
        return gr_fail(GRANARY_ECORRUPT, "it makes no sense");
    }
    root->bytes = gr_data_alloc(view->data_size - at + 1);
    if (root->bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    memcpy(root->bytes, (const char *)view->data + at, view->data_size - at);
    return GRANARY_OK;
}

/* Errors: ENOENT · as root_get() */
static granary_err
place_get(granary_client *client, granary_id id, struct root *root)
{
    char text[GRANARY_ID_TEXT + 1];
    granary_view view;
    granary_err err;

    *root = (struct root){.bytes = NULL};
    if (!granary_object_contains(client, id)) {
        return gr_fail(GRANARY_ENOENT, "no root");
    }
    err = granary_object_get(client, id, 0, &view);
    if (err == GRANARY_OK) {
        err = root_read(&view, root);
        granary_object_release(client, &view);
    }
    granary_id_format(id, text);
    return err == GRANARY_OK || err == GRANARY_ENOENT ? err : gr_fail_in(err, "root %s", text);
}

granary_err
root_get_newest(granary_client *client, uint64_t hash, struct root *ret_root)
{
    struct root roots[2];
    granary_err errs[2];
    int newest;

    for (int i = 0; i < 2; i++) {
        errs[i] = place_get(client, root_id(hash, (uint64_t)i), &roots[i]);
    }
    newest = errs[1] == GRANARY_OK && (errs[0] != GRANARY_OK || roots[1].head.sequence > roots[0].head.sequence);
    root_free(&roots[1 - newest]);
    *ret_root = roots[newest];
    /* Of two of which one is damaged the other one may be the older: nobody can tell. */
    return errs[0] != GRANARY_OK && errs[0] != GRANARY_ENOENT   ? errs[0]
           : errs[1] != GRANARY_OK && errs[1] != GRANARY_ENOENT ? errs[1]
                                                                : errs[newest];
}

granary_err
root_get(granary_client *client, uint64_t hash, struct root *ret_root)
{
    granary_err err = root_get_newest(client, hash, ret_root);

    if (err == GRANARY_OK && ret_root->head.state == GR_TABLE_ROOT_ENDED) {
        err = gr_fail(GRANARY_ENOENT, "the table was deleted");
    }
    if (err != GRANARY_OK) {
        root_free(ret_root);
    }
    return err;
}

granary_err
root_collect(granary_client *client, uint64_t hash, const struct root *root, bool is_clean)
{
    const granary_id id = root_id(hash, root->head.sequence), other = root_id(hash, root->head.sequence + 1);
    uint64_t incarnation;
    granary_err err = incarnation_get(client, &incarnation);

    if (err == GRANARY_OK && incarnation != root->head.incarnation) {
        if (granary_object_contains(client, other)) { /* a power cut has brought it back, and may again */
            err = granary_object_delete(client, other, 0);
        } else if (is_clean) {
            err = granary_object_delete(client, id, 0);
        }
    }
    return err;
}

bool
root_is_there(granary_client *client, uint64_t hash)
{
    return granary_object_contains(client, root_id(hash, 0)) || granary_object_contains(client, root_id(hash, 1));
}

/* ---- changes ---- */

/* Put what is told of a table, in the place of that sequence. */
static granary_err
place_put(granary_client *client, uint64_t hash, const struct root *root)
{
    const granary_object_options options = {.persist = GRANARY_LEVEL_DISK};
    const granary_id id = root_id(hash, root->head.sequence);
    const uint64_t size = root_pad(root->head.data_size) + root_pad(root->head.meta_size);
    const uint64_t at = root_pad(sizeof root->head);
    granary_buffer buffer;
    granary_err err = granary_object_contains(client, id) ? granary_object_delete(client, id, 0) : GRANARY_OK;

    err = err == GRANARY_OK ? granary_object_create_with(client, id, at + size, 0, &options, &buffer) : err;
    if (err == GRANARY_OK) {
        memset(buffer.data, 0, at);
        memcpy(buffer.data, &root->head, sizeof root->head);
        if (size > 0) {
            memcpy((char *)buffer.data + at, root->bytes, size);
        }
        err = granary_object_seal(client, &buffer);
        if (err != GRANARY_OK && granary_object_contains(client, id)) { /* in memory, but not on disk */
            (void)granary_object_delete(client, id, 0);
        }
    }
    return err;
}

granary_err
root_put(granary_client *client, uint64_t hash, struct root *root)
{
    struct root before;
    granary_err err = root_get_newest(client, hash, &before);

    if (err != GRANARY_OK && err != GRANARY_ENOENT) {
        return err;
    }
    root->head.magic = GR_TABLE_ROOT_MAGIC;
    root->head.version = GR_TABLE_ROOT_VERSION;
    root->head.sequence = err == GRANARY_OK ? before.head.sequence + 1 : 1;
    if (err == GRANARY_OK) {
        memcpy(root->head.before, before.head.state == GR_TABLE_ROOT_ENDED ? before.head.id : before.head.before,
               sizeof root->head.before);
    }
    root_free(&before);
    err = incarnation_get(client, &root->head.incarnation);
    err = err == GRANARY_OK ? place_put(client, hash, root) : err;
    FAULT_STEP(root_put);
    if (err == GRANARY_OK && granary_object_contains(client, root_id(hash, root->head.sequence + 1))) {
        (void)granary_object_delete(client, root_id(hash, root->head.sequence + 1), 0);
    }
    return err;
}

granary_err
root_end(granary_client *client, uint64_t hash)
{
    struct root root;
    granary_err err = root_get_newest(client, hash, &root);

    if (err == GRANARY_OK) {
        root.head.state = GR_TABLE_ROOT_ENDED;
        root.head.data_size = root.head.meta_size = 0;
        err = root_put(client, hash, &root);
        root_free(&root);
    }
    if (err == GRANARY_OK || err == GRANARY_ENOENT) {
        return GRANARY_OK;
    }
    err = GRANARY_OK;
    for (uint64_t i = 0; err == GRANARY_OK && i < 2; i++) {
        err = granary_object_contains(client, root_id(hash, i)) ? granary_object_delete(client, root_id(hash, i), 0)
                                                                : GRANARY_OK;
    }
    return err;
}

/* ---- all ---- */

struct walk {
    granary_client *client;
    root_take *take;
    void *context;
};

static granary_err
walk_one(void *context, granary_id id)
{
    const struct walk *walk = context;
    struct root root;
    uint64_t words[2];
    granary_err err;

    gr_id_words(id, words);
    if (place_get(walk->client, id, &root) != GRANARY_OK) {
        return GRANARY_OK;
    }
    root_free(&root);
    /* The newer one of two, and no foreign object. */
    if ((root_hash(root.head.name) & ~(uint64_t)1) != (words[1] & ~(uint64_t)1)) {
        return GRANARY_OK;
    }
    err = root_get_newest(walk->client, words[1], &root);
    err = err == GRANARY_OK && gr_id_equal(id, root_id(words[1], root.head.sequence))
              ? walk->take(walk->context, root.head.name)
              : GRANARY_OK;
    root_free(&root);
    return err;
}

granary_err
roots_walk(granary_client *client, root_take *take, void *context)
{
    struct walk walk = {.client = client, .take = take, .context = context};

    return ids_walk(client, GR_TABLE_ROOT_PREFIX, walk_one, &walk);
}
