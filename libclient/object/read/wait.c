/*
 * Waiting for some of many objects, or for a name: asleep on the words of control->wait[] that their ids hash to. When those are
 * more than one can sleep on, asleep on control->any, which every seal bumps.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "granary/hold.h"
#include "object/read/probe.h"

struct wait {
    granary_client *client;
    const granary_id *ids;
    size_t count;
    const char *name; /* NULL: objects; else ids has the name's word alone */
    granary_id named;
    granary_err err; /* of the look for the name */
    bool *there;
    size_t found;
    bool begun;                   /* what is missing is told in the lease page */
    unsigned words;               /* distinct ones */
    bool watched[GR_WAIT_WORDS];  /* some id hashes here */
    uint32_t seen[GR_WAIT_WORDS]; /* before the last look */
    bool changed[GR_WAIT_WORDS];  /* since the look before that */
    uint32_t seen_any;
    uint32_t seen_life;
};

static size_t
word_of(granary_id id)
{
    uint64_t words[2];

    gr_id_words(id, words);
    return gr_slot_hash(words[0], words[1]) % GR_WAIT_WORDS;
}

/* Everything that could put us to sleep is read before the index is. */
static void
note_words(struct wait *wait)
{
    const struct gr_control *control = wait->client->control;

    wait->seen_life = atomic_load(&control->life);
    wait->seen_any = atomic_load(&control->any);
    for (size_t i = 0; i < GR_WAIT_WORDS; i++) {
        uint32_t now = wait->watched[i] ? atomic_load(&control->wait[i]) : 0;

        wait->changed[i] = now != wait->seen[i];
        wait->seen[i] = now;
    }
}

/* Its store is asked, for names are in no index. */
static void
look_for_name(struct wait *wait, bool whole)
{
    if (whole || wait->changed[word_of(wait->ids[0])]) {
        wait->err = granary_name_get(wait->client, wait->name, &wait->named);
        wait->there[0] = wait->err == GRANARY_OK;
        wait->err = wait->err == GRANARY_ENOENT ? GRANARY_OK : wait->err;
    }
    wait->found = wait->there[0];
}

/* whole: at all of them; else at those that are missing and may have come. */
static void
look(struct wait *wait, bool whole)
{
    note_words(wait);
    if (wait->name != NULL) {
        look_for_name(wait, whole);
        return;
    }
    wait->found = whole ? 0 : wait->found;
    for (size_t i = 0; i < wait->count; i++) {
        struct slot_copy copy;

        if (!whole && (wait->there[i] || !wait->changed[word_of(wait->ids[i])])) {
            continue;
        }
        wait->there[i] = slot_find(wait->client, wait->ids[i], &copy);
        wait->found += wait->there[i];
    }
}

static void
sleep_until(const struct wait *wait, int64_t deadline_ns)
{
    const struct gr_control *control = wait->client->control;
    struct gr_futex futexes[GR_FUTEX_MOST] = {{&control->life, wait->seen_life}, {&control->any, wait->seen_any}};
    unsigned count = 1;

    if (wait->words >= GR_FUTEX_MOST) {
        count = 2;
    } else {
        for (size_t i = 0; i < GR_WAIT_WORDS; i++) {
            if (wait->watched[i]) {
                futexes[count++] = (struct gr_futex){&control->wait[i], wait->seen[i]};
            }
        }
    }
    gr_futex_wait_many(futexes, count, deadline_ns);
}

/* Whoever looks on is told of the first that is missing; of one that others can stand in for, nothing. */
static void
tell_missing(struct wait *wait, size_t least)
{
    size_t i = least == wait->count ? 0 : wait->count;

    while (i < wait->count && wait->there[i]) {
        i++;
    }
    if (wait->name != NULL) {
        wait->begun = wait->begun || wait_begin(wait->client, GR_WAIT_name, NULL, 0);
        return;
    }
    client_waits(i < wait->count ? &wait->ids[i] : NULL);
    wait_end(wait->client, wait->begun);
    wait->begun = wait_begin(wait->client, GR_WAIT_object, &wait->ids[i < wait->count ? i : 0], 0);
}

static granary_err
fail_late(const struct wait *wait, size_t least)
{
    size_t i = 0;

    if (wait->name != NULL) {
        return gr_fail(GRANARY_ETIMEDOUT, "name '%s': not bound in time", wait->name);
    }
    if (wait->count == 1) {
        return gr_fail(GRANARY_ETIMEDOUT, "object %s: not there in time", id_text(wait->ids[0]));
    }
    while (i + 1 < wait->count && wait->there[i]) {
        i++;
    }
    return gr_fail(GRANARY_ETIMEDOUT, "of %zu objects %zu were waited for: %zu were there in time, %s was not",
                   wait->count, least, wait->found, id_text(wait->ids[i]));
}

/* Errors: ETIMEDOUT · EUNREACHABLE */
static granary_err
wait_until(struct wait *wait, size_t least, int64_t deadline_ns)
{
    int64_t whole_ns = 0;

    for (;;) {
        int64_t now_ns = gr_now_ns();
        bool whole = now_ns >= whole_ns;
        granary_err err;

        look(wait, whole);
        if (wait->err != GRANARY_OK) {
            return wait->err;
        }
        if (wait->found >= least && !whole && wait->name == NULL) {
            look(wait, true); /* some that were there may be gone again */
            whole = true;
        }
        if (wait->found >= least) {
            return GRANARY_OK;
        }
        if (now_ns >= deadline_ns) {
            return fail_late(wait, least);
        }
        if (!client_alive(wait->client) && (err = link_restore(wait->client, deadline_ns)) != GRANARY_OK) {
            return err;
        }
        whole_ns = whole ? now_ns + ALIVE_CHECK_NS : whole_ns;
        tell_missing(wait, least);
        sleep_until(wait, deadline_ns < whole_ns ? deadline_ns : whole_ns);
    }
}

/* What is waited for is in *wait, which is freed. ret_there, ret_named: may be NULL. Errors: as wait_until() */
static granary_err
wait_all(struct wait *wait, size_t least, int timeout_ms, bool *ret_there, granary_id *ret_named)
{
    granary_client *client = wait->client;
    granary_err err;

    wait->there = (bool *)(wait + 1);
    for (size_t i = 0; i < wait->count; i++) {
        size_t word = word_of(wait->ids[i]);

        wait->words += !wait->watched[word];
        wait->watched[word] = true;
    }
    /* Announced before the words are read: the store either sees the sleeper, or has bumped them already. */
    atomic_fetch_add(&client->page->waiting, 1);
    err = wait_until(wait, least, gr_deadline_ns(timeout_ms));
    client_waits(NULL);
    wait_end(client, wait->begun);
    atomic_fetch_sub(&client->page->waiting, 1);
    if (ret_there != NULL) {
        memcpy(ret_there, wait->there, wait->count * sizeof *wait->there);
    }
    if (err == GRANARY_OK && ret_named != NULL) {
        *ret_named = wait->named;
    }
    free(wait);
    return err;
}

granary_err
granary_object_wait(granary_client *client, const granary_id *ids, size_t count, size_t least, int timeout_ms,
                    bool *ret_there)
{
    granary_err err = gr_client_check_wait(client, timeout_ms);
    struct wait *wait;

    if (err != GRANARY_OK) {
        return err;
    }
    if (least > count) {
        return gr_fail(GRANARY_EINVAL, "wait for %zu of %zu objects: that many will never be there", least, count);
    }
    wait = calloc(1, sizeof *wait + count * sizeof *wait->there);
    if (wait == NULL) {
        return gr_fail(GRANARY_ENOMEM, "wait for %zu objects: out of memory", count);
    }
    wait->client = client;
    wait->ids = ids;
    wait->count = count;
    return wait_all(wait, least, timeout_ms, ret_there, NULL);
}

granary_err
granary_name_wait(granary_client *client, const char *name, int timeout_ms, granary_id *ret_id)
{
    granary_err err = gr_client_check_wait(client, timeout_ms);
    granary_id id, named;
    struct wait *wait;

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_name_get(client, name, &named); /* which checks the name, too */
    if (err != GRANARY_ENOENT) {
        if (err == GRANARY_OK && ret_id != NULL) {
            *ret_id = named;
        }
        return err;
    }
    wait = calloc(1, sizeof *wait + sizeof *wait->there);
    if (wait == NULL) {
        return gr_fail(GRANARY_ENOMEM, "wait for name '%s': out of memory", name);
    }
    id = gr_id_of_name(name);
    wait->client = client;
    wait->name = name;
    wait->ids = &id;
    wait->count = 1;
    return wait_all(wait, 1, timeout_ms, NULL, ret_id);
}
