/*
 * An index with arrays between the brackets of getitem and setitem: read (chosen.c), masks (masks.c), positions
 * (positions.c). What it says beside its arrays is an index of its own, which is read first.
 */
#ifndef GRAPH_REWRITE_TENSOR_CHOSEN_H
#define GRAPH_REWRITE_TENSOR_CHOSEN_H

#include "graph/rewrite/private.h"

#define PARTS 24 /* of an index: 8 dimensions, and None */

enum part_kind { PART_DOTS, PART_NONE, PART_NUMBER, PART_SLICE, PART_ARRAY, PART_LIST };

struct part {
    enum part_kind kind;
    const char *text;
    size_t length;
    size_t input; /* of an array */
};

/* An index with arrays, and the input it is of. */
struct chosen {
    struct part parts[PARTS];
    size_t count;
    struct gr_node *whole;
    size_t first; /* input that may be the first array */
    int arrays;   /* positions, and one list */
    int masks;
    const struct part *list;
};

/* What the index leaves of the tensor when each array takes all of its dimensions; where the arrays' dimensions are in
 * that, and where NumPy puts what they choose: at the place of the first, or in front when something is between. */
struct spots {
    struct gr_node *left;
    int at[8];   /* by array */
    int target;  /* in the result */
    bool is_all; /* the index says nothing else */
    const char *text;
};

/* The index of the operator, whose arrays are its inputs from `first` on. false: it has none, or fails. */
bool chosen_read(struct rewrite *x, size_t first, struct chosen *ret);
/* false: it fails. */
bool chosen_spots(struct rewrite *x, const struct chosen *c, struct spots *ret);
/* The numbers of its list, as parameter "indices". NULL: it fails. */
Granary__Attr *chosen_list(struct rewrite *x, const struct part *part, int64_t *ret_count);

/* The mask, which has the first dimensions, without anything new between. false: it fails. */
bool chosen_mask(struct rewrite *x, const struct chosen *c, const struct spots *s, struct gr_node **ret_mask);
struct gr_node *chosen_get_masked(struct rewrite *x, const struct chosen *c);
/* What the mask chooses of `left` becomes the value: one for all, or a part for each in their order. */
struct gr_node *chosen_set_masked(struct rewrite *x, struct gr_node *left, struct gr_node *mask, struct gr_node *value);

#endif
