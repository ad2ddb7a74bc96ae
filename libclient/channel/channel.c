/* Channels made, opened, sealed, closed and deleted. A channel is an object with a name, and a page. */
#include "channel/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "base/sized.h"
#include "object/object.h"

#define RING_DEFAULT    ((uint64_t)1 << 20)
#define RING_LEAST      ((uint64_t)4096)
#define RING_MOST       ((uint64_t)1 << 30)
#define OBJECTS_DEFAULT 64u
#define OBJECTS_MOST    4096u

granary_err
channel_told(const granary_channel *channel, granary_err err)
{
    return err == GRANARY_OK ? err : gr_fail_in(err, "channel '%s'", channel->name);
}

granary_err
channel_check(const granary_channel *channel)
{
    granary_err err = gr_client_check(channel->client);

    return err != GRANARY_OK || gr_id_equal(page_id(channel->page.page), channel->id)
               ? err
               : gr_fail(GRANARY_ESTATE, "it was deleted");
}

granary_err
channel_check_life(const granary_channel *channel)
{
    granary_err err = channel_check(channel);

    if (err == GRANARY_OK && gr_client_is_over(channel->client)) {
        return gr_fail(GRANARY_EUNREACHABLE, "the instance has ended");
    }
    /* Who deletes it may die before the page says so. */
    return err != GRANARY_OK || granary_object_contains(channel->client, channel->id)
               ? err
               : gr_fail(GRANARY_ESTATE, "it was deleted");
}

granary_err
channel_fail_sealed(void)
{
    return gr_fail(GRANARY_ESEALED, "it was sealed: nothing can be put any more");
}

void
channel_passed(void *context, const unsigned char *id)
{
    const granary_channel *channel = context;
    granary_id object;

    memcpy(object.bytes, id, sizeof object.bytes);
    kept_unrefer(channel->client, channel->id, object);
}

/* ---- open ---- */

static granary_err
channel_new(granary_client *client, const char *name, granary_id id, granary_channel **ret_channel)
{
    granary_channel *channel = calloc(1, sizeof *channel);

    if (channel == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    channel->client = client;
    channel->id = id;
    channel->page.map.fd = -1;
    (void)snprintf(channel->name, sizeof channel->name, "%s", name);
    (void)pthread_mutex_init(&channel->members_lock, NULL);
    (void)pthread_mutex_init(&channel->put_lock, NULL);
    (void)pthread_mutex_init(&channel->get_lock, NULL);
    *ret_channel = channel;
    return GRANARY_OK;
}

/* What a channel's object says. Errors: ETYPE it is none · EVERSION */
static granary_err
object_read(granary_client *client, granary_id id, struct gr_channel_object *ret_what)
{
    granary_view view;
    granary_err err = granary_object_get(client, id, 0, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    if (view.data_size != sizeof *ret_what) {
        err = gr_fail(GRANARY_ETYPE, "the name is of something else: an object, a table, or a tensor");
    } else {
        memcpy(ret_what, view.data, sizeof *ret_what);
        if (ret_what->magic != GR_CHANNEL_MAGIC) {
            err = gr_fail(GRANARY_ETYPE, "the name is of something else: an object, a table, or a tensor");
        } else if (ret_what->version != GR_CHANNEL_VERSION) {
            err = gr_fail(GRANARY_EVERSION, "it is of version %u, and this library knows %u", ret_what->version,
                          GR_CHANNEL_VERSION);
        } else if (ret_what->ring_bytes < RING_LEAST || ret_what->ring_bytes > RING_MOST ||
                   (ret_what->ring_bytes & (ret_what->ring_bytes - 1)) != 0 || ret_what->objects < 1 ||
                   ret_what->objects > OBJECTS_MOST) {
            err = gr_fail(GRANARY_ECORRUPT, "its object says that rings have %llu bytes",
                          (unsigned long long)ret_what->ring_bytes);
        }
    }
    granary_object_release(client, &view);
    return err;
}

granary_err
granary_channel_open(granary_client *client, const char *name, granary_channel **ret_channel)
{
    granary_channel *channel = NULL;
    granary_err err = gr_client_check(client);
    granary_id id;

    err = err == GRANARY_OK ? granary_name_get(client, name, &id) : err;
    err = err == GRANARY_OK ? channel_new(client, name, id, &channel) : err;
    err = err == GRANARY_OK ? object_read(client, id, &channel->what) : err;
    err = err == GRANARY_OK ? page_find(client, id, &channel->page) : err;
    if (err != GRANARY_OK) {
        granary_channel_close(channel);
        return err == GRANARY_ENOENT ? gr_fail(err, "channel '%s': there is none of that name", name)
                                     : gr_fail_in(err, "channel '%s'", name);
    }
    channel->shared = (struct gr_channel *)(void *)channel->page.page;
    *ret_channel = channel;
    return GRANARY_OK;
}

void
granary_channel_close(granary_channel *channel)
{
    if (channel == NULL) {
        return;
    }
    if (channel->shared != NULL && gr_client_check(channel->client) == GRANARY_OK) { /* else it is the parent's */
        writer_leave(channel);
        member_leave(channel);
    }
    page_close(&channel->page);
    free(channel->reader.copy);
    (void)pthread_mutex_destroy(&channel->members_lock);
    (void)pthread_mutex_destroy(&channel->put_lock);
    (void)pthread_mutex_destroy(&channel->get_lock);
    free(channel);
}

/* ---- create ---- */

static granary_err
options_take(const granary_channel_options *theirs, size_t size, struct gr_channel_object *ret_what,
             granary_channel_options *ret_options)
{
    granary_err err = gr_sized_take(ret_options, sizeof *ret_options, theirs, size);
    const uint64_t bytes = ret_options->ring_bytes == 0 ? RING_DEFAULT : ret_options->ring_bytes;
    const unsigned objects = ret_options->objects == 0 ? OBJECTS_DEFAULT : ret_options->objects;

    if (err != GRANARY_OK) {
        return err;
    }
    if ((ret_options->flags & ~(GRANARY_CHANNEL_OPEN | GRANARY_CHANNEL_BROADCAST)) != 0) {
        return gr_fail(GRANARY_EINVAL, "flags %x: there are none such", ret_options->flags);
    }
    if (bytes < RING_LEAST || bytes > RING_MOST || (bytes & (bytes - 1)) != 0) {
        return gr_fail(GRANARY_EINVAL, "a ring of %llu bytes: it may have 4 KiB to 1 GiB, a power of two",
                       (unsigned long long)bytes);
    }
    if (objects > OBJECTS_MOST) {
        return gr_fail(GRANARY_EINVAL, "%u objects that wait: there may be %u", objects, OBJECTS_MOST);
    }
    *ret_what = (struct gr_channel_object){.magic = GR_CHANNEL_MAGIC,
                                           .version = GR_CHANNEL_VERSION,
                                           .broadcast = (ret_options->flags & GRANARY_CHANNEL_BROADCAST) != 0,
                                           .ring_bytes = bytes,
                                           .objects = objects};
    return GRANARY_OK;
}

/* The object and its page; the name comes last, and makes it a channel. */
static granary_err
channel_make(granary_client *client, const char *name, const struct gr_channel_object *what)
{
    /* It is this client's, and ends with that, until it has its name. */
    const granary_object_options counted = {.counted = true};
    const granary_id id = granary_id_random();
    struct gr_channel *shared;
    struct mutable_page page;
    granary_err err = page_take(client, id, &page);

    if (err != GRANARY_OK) {
        return err;
    }
    shared = (struct gr_channel *)(void *)page.page;
    channel_page_init(shared);
    if (what->broadcast == 0) {
        group_begin(shared, 0, "", true, true);
    }
    err = granary_object_put_with(client, id, what, sizeof *what, NULL, 0, &counted, 0);
    if (err == GRANARY_OK) {
        page_share(&page);
        err = granary_name_set(client, name, id, GRANARY_NAME_NEW, (granary_id){{0}}, NULL);
        if (err != GRANARY_OK && granary_object_contains(client, id)) { /* the message stays */
            (void)granary_object_delete(client, id, 0);
        }
    }
    page_close(&page);
    return err;
}

granary_err
granary_channel_create_sized(granary_client *client, const char *name, const granary_channel_options *theirs,
                             granary_channel **ret_channel, size_t options_size)
{
    struct gr_channel_object what;
    granary_channel_options options;
    granary_channel *channel = NULL;
    granary_err err = gr_client_check(client);

    err = err == GRANARY_OK ? options_take(theirs, options_size, &what, &options) : err;
    err = err == GRANARY_OK ? channel_make(client, name, &what) : err;
    if (err == GRANARY_EEXIST && (options.flags & GRANARY_CHANNEL_OPEN) == 0) {
        return gr_fail(err, "channel '%s': the name is taken: choose another, or open it", name);
    }
    if (err != GRANARY_OK && err != GRANARY_EEXIST) {
        return gr_fail_in(err, "channel '%s'", name);
    }
    err = granary_channel_open(client, name, &channel);
    if (err == GRANARY_OK && channel->what.broadcast != what.broadcast) {
        granary_channel_close(channel);
        return gr_fail(GRANARY_ETYPE, "channel '%s': it is a %s", name, what.broadcast ? "queue" : "broadcast");
    }
    if (err == GRANARY_OK) {
        *ret_channel = channel;
    }
    return err;
}

/* ---- seal and delete ---- */

granary_err
granary_channel_seal(granary_channel *channel)
{
    granary_err err = channel_check(channel);

    if (err == GRANARY_OK) {
        struct gr_channel *shared = channel->shared;

        for (uint32_t i = 0; i < GR_CHANNEL_LANES; i++) {
            (void)atomic_fetch_or(&shared->lane[i].head, GR_HEAD_SEALED);
        }
        /* Now nothing can be put: who sees this and finds nothing has had all. */
        atomic_store(&shared->sealed, 1);
        gr_bell_ring(&shared->bell);
        for (uint32_t i = 0; i < GR_CHANNEL_LANES; i++) {
            gr_bell_ring(&shared->lane[i].room);
        }
    }
    return channel_told(channel, err);
}

granary_err
granary_channel_delete(granary_client *client, const char *name)
{
    granary_channel *channel = NULL;
    granary_err err = granary_channel_open(client, name, &channel);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_name_set(client, name, (granary_id){{0}}, GRANARY_NAME_ID, channel->id, NULL);
    err = err == GRANARY_OK ? granary_object_delete(client, channel->id, 0) : err;
    err = err == GRANARY_OK || err == GRANARY_ENOENT ? kept_drop_all(client, channel->id) : err;
    if (err == GRANARY_OK) {
        page_give_up(&channel->page);
    }
    gr_bell_ring(&channel->shared->bell);
    for (uint32_t i = 0; i < GR_CHANNEL_LANES; i++) {
        gr_bell_ring(&channel->shared->lane[i].room);
    }
    err = err == GRANARY_ESTATE ? gr_fail(GRANARY_ENOENT, "there is none of that name") : err;
    err = channel_told(channel, err);
    granary_channel_close(channel);
    return err;
}
