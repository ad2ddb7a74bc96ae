/* Recursions whose rounds see all rows so far, of which later ones may replace those with the same keys. */
#ifndef KERNEL_RECURSION_KEYED_H
#define KERNEL_RECURSION_KEYED_H

#include "data/frame.h"

/* What a row is in a round, as the column `fresh` tells it. */
enum { KEYED_OLD = 0, KEYED_FRESH = 1, KEYED_REPLACED = 2 };

struct keyed {
    size_t fresh;     /* the column */
    size_t *columns;  /* the keys, then all others but fresh */
    size_t key_count; /* 0: no row replaces another */
    size_t count;
    bool distinct; /* a row that changes nothing is not fresh */
};

/* fresh and keys are columns of the frame. keyed_end() is due either way. Errors: EPROTO one is not · ENOMEM */
granary_err keyed_begin(struct keyed *keyed, const granary_frame *frame, const char *fresh, const char *const *keys,
                        size_t key_count, bool distinct);
/*
 * All rows after a round: those before it (state; NULL: there are none yet) and those that it has made, each with what it
 * is now. *ret_fresh: how many the next round is about. Errors: ENOMEM · EFULL
 */
granary_err keyed_round(const struct keyed *keyed, const granary_frame *state, const granary_frame *made,
                        granary_frame **ret_state, int64_t *ret_fresh);
void keyed_end(struct keyed *keyed);

#endif
