/* Within the room: rows of a probing frame being looked up in a built side, block by block. */
#ifndef KERNEL_JOIN_MATCHING_H
#define KERNEL_JOIN_MATCHING_H

#include "kernel/join/match.h"

#define NOT_LOOKED (UINT32_MAX - 1) /* a string of a dictionary that was not looked up yet */

struct matching {
    const struct built *built;
    const granary_column *const *columns;
    int64_t rows;
    enum match_kind kind;
    bool null_aware;
    match_settle *settle;
    void *own;
    uint32_t **numbers; /* by key: numbers of a dictionary's strings, NULL when it has none */
    int64_t *tuple;     /* words of a block, key after key */
    struct pairs pairs;

    /* the block at work */
    int64_t from;
    int64_t span; /* rows of the frame, of which it has n */
    int64_t n;
    uint32_t row[JOIN_BLOCK]; /* of the frame */
    int64_t words[JOIN_BLOCK];
    uint8_t present[JOIN_BLOCK];
    uint64_t hashes[JOIN_BLOCK];
    uint32_t refs[JOIN_BLOCK];
};

/* Put the words of the block's keys into words and present, in the form of the built side. Rows that match nothing for
 * sure may be left out of the block, where they leave no trace. */
void matching_words(struct matching *m);

#endif
