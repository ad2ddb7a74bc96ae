/* Who reads a channel, by locks on bytes of the page; and what the dead leave. Who changes groups has a lock. */
#include "channel/channel.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/futex.h"

/* ---- the lock ---- */

static granary_err
members_enter(granary_channel *channel)
{
    granary_err err;

    (void)pthread_mutex_lock(&channel->members_lock);
    err = page_enter(&channel->page, GR_CHANNEL_LOCK_MEMBERS);
    if (err != GRANARY_OK) {
        (void)pthread_mutex_unlock(&channel->members_lock);
    }
    return err;
}

/* False: somebody else has it. */
static bool
members_try(granary_channel *channel)
{
    if (pthread_mutex_trylock(&channel->members_lock) != 0) {
        return false;
    }
    if (page_try(&channel->page, GR_CHANNEL_LOCK_MEMBERS)) {
        return true;
    }
    (void)pthread_mutex_unlock(&channel->members_lock);
    return false;
}

static void
members_leave(granary_channel *channel)
{
    page_leave(&channel->page, GR_CHANNEL_LOCK_MEMBERS);
    (void)pthread_mutex_unlock(&channel->members_lock);
}

/* ---- who lives ---- */

static bool
is_reader(const granary_channel *channel)
{
    return channel->reader.how == READING_MEMBER;
}

/* Whether a member lives: this handle itself, or one that has the byte's lock. */
static bool
member_lives(const granary_channel *channel, uint32_t member)
{
    return (is_reader(channel) && member == channel->reader.cursor.member) ||
           page_is_taken(&channel->page, GR_CHANNEL_LOCK_MEMBER + member);
}

static uint32_t
group_of(const struct gr_channel *shared, uint32_t member)
{
    return atomic_load(&shared->member[member].group);
}

uint32_t
members_alive(const granary_channel *channel)
{
    const uint32_t members = channel_members(channel->shared);
    uint32_t alive = 0;

    for (uint32_t i = 0; i < members; i++) {
        alive += member_lives(channel, i);
    }
    return alive;
}

static bool
group_lives(const granary_channel *channel, uint32_t group)
{
    const uint32_t members = channel_members(channel->shared);
    uint32_t member = 0;

    while (member < members && (group_of(channel->shared, member) != group || !member_lives(channel, member))) {
        member++;
    }
    return member < members;
}

/* The group is gone: what its members claim, who are dead, counts no more. */
static void
group_drop(granary_channel *channel, uint32_t group)
{
    struct gr_channel *shared = channel->shared;

    for (uint32_t i = 0; i < channel_members(shared); i++) {
        if (group_of(shared, i) == group) {
            atomic_store(&shared->member[i].claim, GR_CLAIM_NONE);
        }
    }
    group_end(shared, group);
}

/* With the lock. */
static void
reap(granary_channel *channel)
{
    struct gr_channel *shared = channel->shared;

    for (uint32_t i = 0; i < channel_groups(shared); i++) {
        const uint32_t state = atomic_load(&shared->group[i].state);

        /* Who made a group that is not ready had the lock, and is dead. */
        if (state == GR_GROUP_JOINING ||
            (state != GR_GROUP_FREE && !shared->group[i].is_named && !group_lives(channel, i))) {
            group_drop(channel, i);
        }
    }
}

void
members_reap(granary_channel *channel)
{
    if (members_try(channel)) { /* else somebody else does */
        reap(channel);
        members_leave(channel);
    }
}

/* ---- join ---- */

/* GR_CHANNEL_GROUPS: there is none. */
static uint32_t
group_find(const struct gr_channel *shared, const char *name)
{
    const uint32_t groups = channel_groups(shared);

    for (uint32_t i = 0; i < groups; i++) {
        const struct gr_channel_group *group = &shared->group[i];

        if (atomic_load(&group->state) == GR_GROUP_READY && group->is_named &&
            strncmp(group->name, name, sizeof group->name) == 0) {
            return i;
        }
    }
    return GR_CHANNEL_GROUPS;
}

static granary_err
group_take(granary_channel *channel, const char *name, granary_channel_from from, uint32_t *ret_group)
{
    struct gr_channel *shared = channel->shared;
    uint32_t group = 0;

    if (channel->what.broadcast == 0 || name != NULL) {
        *ret_group = group_find(shared, name == NULL ? "" : name);
        if (*ret_group < GR_CHANNEL_GROUPS) {
            return GRANARY_OK;
        }
    }
    while (group < GR_CHANNEL_GROUPS && atomic_load(&shared->group[group].state) != GR_GROUP_FREE) {
        group++;
    }
    if (group == GR_CHANNEL_GROUPS) {
        return gr_fail(GRANARY_EFULL, "%u readers of a broadcast are there already: close or forget one",
                       GR_CHANNEL_GROUPS);
    }
    group_begin(shared, group, name == NULL ? "" : name, name != NULL, from == GRANARY_CHANNEL_OLDEST);
    *ret_group = group;
    return GRANARY_OK;
}

/* A number that nobody has, and whose last one left nothing to be done. */
static granary_err
member_take(granary_channel *channel, uint32_t *ret_member)
{
    for (uint32_t i = 0; i < GR_CHANNEL_MEMBERS; i++) {
        if (page_try(&channel->page, GR_CHANNEL_LOCK_MEMBER + i)) {
            if (!member_claims(channel->shared, i)) {
                *ret_member = i;
                return GRANARY_OK;
            }
            page_leave(&channel->page, GR_CHANNEL_LOCK_MEMBER + i);
        }
    }
    return gr_fail(GRANARY_EFULL, "%u readers are there already, or died with a message that nobody has read since",
                   GR_CHANNEL_MEMBERS);
}

granary_err
member_join(granary_channel *channel, const char *name, granary_channel_from from)
{
    struct gr_channel *shared = channel->shared;
    uint32_t group = 0, member = 0;
    granary_err err = members_enter(channel);

    if (err != GRANARY_OK) {
        return err;
    }
    reap(channel);
    err = member_take(channel, &member);
    if (err == GRANARY_OK) {
        err = group_take(channel, name, from, &group);
        if (err != GRANARY_OK) {
            page_leave(&channel->page, GR_CHANNEL_LOCK_MEMBER + member);
        }
    }
    if (err == GRANARY_OK) {
        atomic_store(&shared->member[member].group, group);
        shared->member[member].pid = (uint32_t)getpid();
        channel_show(&shared->members, member + 1);
        channel->reader.cursor = (struct cursor){.page = shared, .group = group, .member = member};
        channel->reader.how = READING_MEMBER;
    }
    members_leave(channel);
    return err;
}

void
member_leave(granary_channel *channel)
{
    struct reader *reader = &channel->reader;

    for (uint32_t i = 0; i < GR_CHANNEL_LANES; i++) {
        ring_close(channel, &reader->ring[i]);
    }
    if (reader->has_message && reader->is_object) {
        granary_object_release(channel->client, &reader->object);
    }
    if (!is_reader(channel)) {
        return;
    }
    page_leave(&channel->page, GR_CHANNEL_LOCK_MEMBER + reader->cursor.member);
    reader->how = READING_NOT;
    if (!channel->shared->group[reader->cursor.group].is_named) {
        members_reap(channel);
    }
    gr_bell_ring(&channel->shared->bell); /* somebody may take over what it had */
}

/* ---- the dead ---- */

bool
member_mourn(granary_channel *channel, uint32_t *ret_lane, uint64_t *ret_position)
{
    const struct cursor *cursor = &channel->reader.cursor;
    const uint32_t members = channel_members(channel->shared);
    bool found = false, any = false;

    for (uint32_t i = 0; i < members; i++) {
        any = any || (i != cursor->member && group_of(channel->shared, i) == cursor->group &&
                      member_claims(channel->shared, i));
    }
    /* Without a lock as long as nobody claims anything: that is so before every sleep of a lone reader. */
    if (!any || !members_try(channel)) {
        return false;
    }
    for (uint32_t i = 0; i < members; i++) {
        if (i != cursor->member && group_of(channel->shared, i) == cursor->group && member_claims(channel->shared, i) &&
            page_try(&channel->page, GR_CHANNEL_LOCK_MEMBER + i)) {
            found = cursor_mourn(cursor, i, ret_lane, ret_position) || found;
            page_leave(&channel->page, GR_CHANNEL_LOCK_MEMBER + i);
        }
    }
    members_leave(channel);
    return found;
}

granary_err
granary_channel_forget(granary_channel *channel, const char *name)
{
    granary_err err = channel_check(channel);
    uint32_t group;

    if (err == GRANARY_OK && (channel->what.broadcast == 0 || name == NULL || name[0] == '\0')) {
        err = gr_fail(GRANARY_EINVAL, "only readers of a broadcast have names");
    }
    err = err == GRANARY_OK ? members_enter(channel) : err;
    if (err == GRANARY_OK) {
        group = group_find(channel->shared, name);
        if (group == GR_CHANNEL_GROUPS) {
            err = gr_fail(GRANARY_ENOENT, "there is no reader '%s'", name);
        } else if (group_lives(channel, group)) {
            err = gr_fail(GRANARY_ESTATE, "a process reads as '%s': it has to close the channel first", name);
        } else {
            group_drop(channel, group);
        }
        members_leave(channel);
    }
    return channel_told(channel, err);
}
