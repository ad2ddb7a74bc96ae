/* The objects of targets: a set of ids, with open addressing. */
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "plan/state.h"

static size_t
slot_of(const struct id_set *set, granary_id id)
{
    uint64_t words[2];
    size_t at;

    gr_id_words(id, words);
    at = words[1] & (set->room - 1); /* ids of a plan begin with the same word */
    while (!gr_id_is_zero(set->slots[at]) && !gr_id_equal(set->slots[at], id)) {
        at = (at + 1) & (set->room - 1);
    }
    return at;
}

static granary_err
grow(struct id_set *set)
{
    struct id_set bigger = {.room = set->room == 0 ? 64 : set->room * 2, .count = set->count};

    bigger.slots = calloc(bigger.room, sizeof *bigger.slots);
    if (bigger.slots == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%zu objects of targets: out of memory", set->count);
    }
    for (size_t i = 0; i < set->room; i++) {
        if (!gr_id_is_zero(set->slots[i])) {
            bigger.slots[slot_of(&bigger, set->slots[i])] = set->slots[i];
        }
    }
    free(set->slots);
    *set = bigger;
    return GRANARY_OK;
}

granary_err
id_set_add(struct id_set *set, granary_id id)
{
    size_t at;

    if (set->count * 2 >= set->room) {
        granary_err err = grow(set);

        if (err != GRANARY_OK) {
            return err;
        }
    }
    at = slot_of(set, id);
    set->count += gr_id_is_zero(set->slots[at]);
    set->slots[at] = id;
    return GRANARY_OK;
}

bool
id_set_has(const struct id_set *set, granary_id id)
{
    return set->room > 0 && !gr_id_is_zero(id) && gr_id_equal(set->slots[slot_of(set, id)], id);
}

void
id_set_free(struct id_set *set)
{
    free(set->slots);
    *set = (struct id_set){0};
}
