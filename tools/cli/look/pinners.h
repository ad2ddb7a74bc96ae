/* Who pins the store's memory, where that leaves little to writers. */
#ifndef CLI_PINNERS_H
#define CLI_PINNERS_H

#include "cli/print/show.h"
#include "granary/inspect.h"

struct pinners {
    uint64_t bytes; /* pinned, of all sessions */
    uint64_t objects;
    /* of those who pin alike: the most, and how that ends; empty: the pins cannot be looked at */
    char who[SHOW_TEXT];
    char fix[SHOW_TEXT];
};

/* Whether pins take more than three quarters of memory, or so much that a put which failed lately would fail again. */
bool pinners_crowd(granary_inspector *inspector, uint64_t capacity_bytes, struct pinners *ret_pinners);

#endif
