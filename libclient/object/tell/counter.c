/* Counters of a session: cells in memory that its clients share (contract/shm.h, struct gr_counters). */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "base/sized.h"
#include "base/text/text.h"
#include "granary/session.h"
#include "object/client.h"

#define NAME_WORDS (GR_COUNTER_NAME / 8)

struct granary_counter {
    granary_client *client;
    struct gr_counter_cell *cell;
};

/* A name as a cell has it. */
struct name {
    uint64_t words[NAME_WORDS];
    uint64_t hash;
};

static granary_err
name_of(const char *text, struct name *ret_name)
{
    size_t length = text == NULL ? 0 : strlen(text);
    struct name name = {.hash = 0};
    granary_err err;

    if (length == 0 || length >= GR_COUNTER_NAME) {
        return gr_fail(GRANARY_EINVAL, "counter '%.32s': a name has 1 to %u bytes", text == NULL ? "" : text,
                       GR_COUNTER_NAME - 1);
    }
    err = gr_text_check(text, length, "a counter's name");
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(name.words, text, length);
    name.hash = gr_hash64(text, length) | 1;
    *ret_name = name;
    return GRANARY_OK;
}

/* Whether the cell, which has the name's hash, is the name's; one without a name yet becomes it. */
static bool
claim(struct gr_counter_cell *cell, const struct name *name)
{
    bool same = true;

    if (atomic_load_explicit(&cell->named, memory_order_acquire) == 0) {
        for (size_t i = 0; i < NAME_WORDS; i++) {
            atomic_store_explicit(&cell->name[i], name->words[i], memory_order_relaxed);
        }
        atomic_store_explicit(&cell->named, 1, memory_order_release);
        return true;
    }
    for (size_t i = 0; i < NAME_WORDS; i++) {
        same = same && atomic_load_explicit(&cell->name[i], memory_order_relaxed) == name->words[i];
    }
    return same;
}

/* NULL: there is no room. */
static struct gr_counter_cell *
find(struct gr_counters *counters, const struct name *name)
{
    for (uint64_t i = 0; i < GR_COUNTERS; i++) {
        struct gr_counter_cell *cell = &counters->cells[(name->hash + i) & (GR_COUNTERS - 1)];
        uint64_t hash = atomic_load_explicit(&cell->hash, memory_order_acquire);

        if (hash == 0 && atomic_compare_exchange_strong(&cell->hash, &hash, name->hash)) {
            hash = name->hash;
        }
        if (hash == name->hash && claim(cell, name)) {
            return cell;
        }
    }
    return NULL;
}

granary_err
granary_counter_open(granary_client *client, const char *name, granary_counter **ret_counter)
{
    struct gr_counters *counters;
    granary_counter *counter;
    struct gr_counter_cell *cell;
    struct name words;
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK || (err = name_of(name, &words)) != GRANARY_OK ||
        (err = counters_map(client, &counters)) != GRANARY_OK) {
        return err;
    }
    cell = find(counters, &words);
    if (cell == NULL) {
        return gr_fail(GRANARY_EFULL, "counter '%s': the session has %u counters already", name, GR_COUNTERS);
    }
    counter = malloc(sizeof *counter);
    if (counter == NULL) {
        return gr_fail(GRANARY_ENOMEM, "counter '%s': out of memory", name);
    }
    *counter = (granary_counter){client, cell};
    *ret_counter = counter;
    return GRANARY_OK;
}

void
granary_counter_close(granary_counter *counter)
{
    free(counter);
}

/* The value has changed. */
static void
tell(struct gr_counter_cell *cell)
{
    if (atomic_load(&cell->waiting) != 0) {
        atomic_fetch_add(&cell->changes, 1);
        gr_futex_wake(&cell->changes);
    }
}

int64_t
granary_counter_add(granary_counter *counter, int64_t delta)
{
    int64_t before = atomic_fetch_add(&counter->cell->value, delta);

    tell(counter->cell);
    return (int64_t)((uint64_t)before + (uint64_t)delta);
}

int64_t
granary_counter_get(const granary_counter *counter)
{
    return atomic_load(&counter->cell->value);
}

bool
granary_counter_set_if(granary_counter *counter, int64_t *expected, int64_t value)
{
    bool done = atomic_compare_exchange_strong(&counter->cell->value, expected, value);

    if (done) {
        tell(counter->cell);
    }
    return done;
}

/* Look, sleep, look again; counted in `waiting`. */
static granary_err
wait_until(granary_counter *counter, int64_t least, int64_t deadline_ns, int64_t *ret_value)
{
    granary_client *client = counter->client;
    struct gr_counter_cell *cell = counter->cell;

    for (;;) {
        struct gr_futex words[2] = {{&cell->changes, atomic_load(&cell->changes)},
                                    {&client->control->life, atomic_load(&client->control->life)}};
        int64_t value = atomic_load(&cell->value);
        int64_t now_ns = gr_now_ns();

        if (value >= least) {
            *ret_value = value;
            return GRANARY_OK;
        }
        if (gr_client_is_over(client)) {
            return gr_fail(GRANARY_EUNREACHABLE, "session '%s': it was deleted, or its store has stopped",
                           client->session);
        }
        if (now_ns >= deadline_ns) {
            return gr_fail(GRANARY_ETIMEDOUT, "the counter is %lld, less than %lld", (long long)value,
                           (long long)least);
        }
        gr_futex_wait_many(words, 2, deadline_ns - now_ns > ALIVE_CHECK_NS ? now_ns + ALIVE_CHECK_NS : deadline_ns);
    }
}

granary_err
granary_counter_wait(granary_counter *counter, int64_t least, int timeout_ms, int64_t *ret_value)
{
    granary_err err = gr_client_check_wait(counter->client, timeout_ms);
    int64_t value = 0;
    bool begun;

    if (err != GRANARY_OK) {
        return err;
    }
    begun = wait_begin(counter->client, GR_WAIT_counter, NULL, 0);
    atomic_fetch_add(&counter->cell->waiting, 1);
    err = wait_until(counter, least, gr_deadline_ns(timeout_ms), &value);
    atomic_fetch_sub(&counter->cell->waiting, 1);
    wait_end(counter->client, begun);
    if (err == GRANARY_OK && ret_value != NULL) {
        *ret_value = value;
    }
    return err;
}

granary_err
granary_counter_list_sized(granary_client *client, granary_counter_info **ret_infos, size_t *ret_count,
                           size_t info_size)
{
    struct gr_counters *counters;
    granary_counter_info *infos;
    size_t count = 0;
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK || (err = counters_map(client, &counters)) != GRANARY_OK) {
        return err;
    }
    infos = calloc(GR_COUNTERS, sizeof *infos);
    if (infos == NULL) {
        return gr_fail(GRANARY_ENOMEM, "list of counters: out of memory");
    }
    for (size_t i = 0; i < GR_COUNTERS; i++) {
        struct gr_counter_cell *cell = &counters->cells[i];
        granary_counter_info *info = &infos[count];

        if (atomic_load_explicit(&cell->hash, memory_order_acquire) == 0 ||
            atomic_load_explicit(&cell->named, memory_order_acquire) == 0) {
            continue;
        }
        for (size_t w = 0; w < NAME_WORDS; w++) {
            uint64_t word = atomic_load_explicit(&cell->name[w], memory_order_relaxed);

            memcpy(info->name + w * sizeof word, &word, sizeof word);
        }
        info->name[sizeof info->name - 1] = '\0';
        info->value = atomic_load(&cell->value);
        info->waiting = atomic_load_explicit(&cell->waiting, memory_order_relaxed);
        count++;
    }
    return gr_sized_give_list(GRANARY_OK, infos, sizeof *infos, count, ret_infos, info_size, ret_count);
}
