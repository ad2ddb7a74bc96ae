/* What can be seen of channels: one, and all of the session by their names. */
#include "channel/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "base/sized.h"

#define NAMES_AT_ONCE 256

/* Messages of a lane that a group has not taken; what cannot be told now counts as none. */
static uint64_t
waiting_in(granary_channel *channel, uint32_t group, uint32_t lane)
{
    const struct cursor cursor = {.page = channel->shared, .group = group, .member = GR_CHANNEL_MEMBERS};
    struct ring_view view = {.number = 0};
    uint64_t taken, head, waiting = 0;
    struct place place;

    if (cursor_has(&cursor, lane, &taken, &head) && ring_open(channel, &view, lane) == GRANARY_OK) {
        const uint64_t messages = atomic_load(&channel->shared->lane[lane].messages);

        if (place_at(&view.ring, GR_TAKEN_POSITION(taken), head, &place) && place.number < messages) {
            waiting = messages - place.number;
        }
        ring_close(channel, &view);
    }
    return waiting;
}

static void
describe(granary_channel *channel, granary_channel_info *info)
{
    const struct gr_channel *shared = channel->shared;
    const uint32_t lanes = channel_lanes(shared), groups = channel_groups(shared);

    *info = (granary_channel_info){.id = channel->id,
                                   .flags = channel->what.broadcast ? GRANARY_CHANNEL_BROADCAST : 0,
                                   .sealed = channel_is_sealed(shared),
                                   .readers = members_alive(channel),
                                   .ring_bytes = channel->what.ring_bytes,
                                   .objects = channel->what.objects};
    (void)snprintf(info->name, sizeof info->name, "%s", channel->name);
    for (uint32_t i = 0; i < lanes; i++) {
        info->writers += (channel->writer.has_lane && channel->writer.lane == i) || page_is_taken(&channel->page, i);
        info->messages += atomic_load(&shared->lane[i].messages);
    }
    for (uint32_t i = 0; i < groups; i++) {
        uint64_t waiting = 0;

        for (uint32_t lane = 0; lane < lanes && atomic_load(&shared->group[i].state) == GR_GROUP_READY; lane++) {
            waiting += waiting_in(channel, i, lane);
        }
        info->waiting = waiting > info->waiting ? waiting : info->waiting;
    }
}

granary_err
granary_channel_describe_sized(granary_channel *channel, granary_channel_info *ret_info, size_t info_size)
{
    granary_err err = channel_check(channel);
    granary_channel_info info;

    if (err == GRANARY_OK) {
        (void)pthread_mutex_lock(&channel->get_lock);
        (void)pthread_mutex_lock(&channel->put_lock);
        describe(channel, &info);
        (void)pthread_mutex_unlock(&channel->put_lock);
        (void)pthread_mutex_unlock(&channel->get_lock);
        gr_sized_give(ret_info, info_size, &info, sizeof info);
    }
    return channel_told(channel, err);
}

/* ---- all ---- */

struct channels {
    granary_channel_info *infos;
    size_t count;
    size_t room;
};

static bool
is_channel(const struct gr_mutables_map *map, granary_id id)
{
    uint32_t i = 0;

    while (i < map->count && (map->pages[i].kind != GR_PAGE_CHANNEL || !gr_id_equal(page_id(&map->pages[i]), id))) {
        i++;
    }
    return i < map->count;
}

static granary_err
channels_add(granary_client *client, struct channels *channels, const char *name)
{
    granary_channel *channel;

    if (granary_channel_open(client, name, &channel) != GRANARY_OK) {
        return GRANARY_OK; /* it was deleted meanwhile */
    }
    if (!gr_grow(&channels->infos, &channels->room, channels->count, sizeof *channels->infos)) {
        granary_channel_close(channel);
        return gr_fail(GRANARY_ENOMEM, "list of channels: out of memory");
    }
    describe(channel, &channels->infos[channels->count++]);
    granary_channel_close(channel);
    return GRANARY_OK;
}

granary_err
granary_channel_list_sized(granary_client *client, granary_channel_info **ret_infos, size_t *ret_count,
                           size_t info_size)
{
    struct channels channels = {.infos = NULL};
    granary_name *names = calloc(NAMES_AT_ONCE, sizeof *names);
    struct gr_mutables_map map = {.fd = -1};
    size_t count = NAMES_AT_ONCE;
    granary_err err =
        names == NULL ? gr_fail(GRANARY_ENOMEM, "list of channels: out of memory") : gr_mutables_map(client, 1, &map);

    for (const char *after = NULL; err == GRANARY_OK && count == NAMES_AT_ONCE; after = names[NAMES_AT_ONCE - 1].name) {
        err = granary_name_list(client, after, names, NAMES_AT_ONCE, &count);
        for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
            err = is_channel(&map, names[i].id) ? channels_add(client, &channels, names[i].name) : GRANARY_OK;
        }
    }
    gr_mutables_unmap(&map);
    free(names);
    return gr_sized_give_list(err, channels.infos, sizeof *channels.infos, channels.count, ret_infos, info_size,
                              ret_count);
}
