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

struct match_request {
    const struct built *built;
    const granary_column *const *columns; /* the probing side's keys, one for each of the built side's */
    size_t key_count;
    int64_t rows;          /* values in each */
    struct rows *selected; /* which of them take part, opened on their frame (kernel/rows/rows.h); NULL: all. Used up */
    enum match_kind kind;
    bool null_aware; /* MATCH_ANTI: as SQL's NOT IN */
};

/*
 * ret_pairs   to be given to pairs_free(). The references are as the built side has them: not checked
 * Errors      EINVAL another number of keys · ECORRUPT · EFULL · ENOMEM · those of rows_next()
 */
granary_err match_rows(const struct match_request *request, struct pairs *ret_pairs);

/* Of pairs in order keep those with kept[i] != 0, then make of them what kind asks for; rows: of the probing frame.
 * Errors: ENOMEM */
granary_err match_filter(struct pairs *pairs, const uint8_t *kept, int64_t rows, enum match_kind kind);

#endif
