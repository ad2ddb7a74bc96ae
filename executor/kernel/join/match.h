/* Rows of a probing frame looked up in a built side: which rows belong together. */
#ifndef KERNEL_JOIN_MATCH_H
#define KERNEL_JOIN_MATCH_H

#include "kernel/join/built.h"
#include "kernel/rows/rows.h"

/* Rows that belong together, in the order of the probing side, then of the built side. */
struct pairs {
    int64_t count;
    uint32_t *probe; /* rows of the probing frame, ascending */
    uint32_t *built; /* references; BUILT_NONE: none */
    int64_t room;
};

enum match_kind {
    MATCH_INNER,
    MATCH_LEFT, /* a row without a match comes once, with BUILT_NONE */
    MATCH_SEMI, /* rows with a match, once each, with one of the references */
    MATCH_ANTI, /* rows without a match, with BUILT_NONE */
};

/* Room for so many more pairs. Errors: ENOMEM · EFULL 2^32 - 1 pairs or more */
granary_err pairs_reserve(struct pairs *pairs, int64_t more);
void pairs_free(struct pairs *pairs);

/* Take pairs of rows of the probing frame up to `to`, and not of others. */
typedef granary_err match_settle(void *own, const struct pairs *pairs, int64_t to);

struct match_request {
    const struct built *built;
    const granary_column *const *columns; /* the probing side's keys, one for each of the built side's */
    size_t key_count;
    int64_t rows;          /* values in each */
    struct rows *selected; /* which of them take part, opened on their frame (kernel/rows/rows.h); NULL: all. Used up */
    enum match_kind kind;
    bool null_aware; /* MATCH_ANTI: as SQL's NOT IN */
    /* MATCH_INNER: who takes pairs as they come, some at a time, when most of them will not stay; NULL: they are given back
     * together. The last ones are given back in any case. */
    match_settle *settle;
    void *own;
};

/*
 * ret_pairs   to be given to pairs_free(). The references are as the built side has them: not checked
 * Errors      EINVAL another number of keys · ECORRUPT · EFULL · ENOMEM · those of rows_next()
 */
granary_err match_rows(const struct match_request *request, struct pairs *ret_pairs);

/* Append to `out` those of some pairs with kept[i] != 0, as kind asks for; they are of rows [from, to) of the probing frame.
 * Errors: ENOMEM · EFULL */
granary_err match_filter(const struct pairs *pairs, const uint8_t *kept, int64_t from, int64_t to, enum match_kind kind,
                         struct pairs *out);

#endif
