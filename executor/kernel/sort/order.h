/* What the sort operators order rows by, and the keys it makes of a frame. */
#ifndef KERNEL_SORT_ORDER_H
#define KERNEL_SORT_ORDER_H

#include "kernel/core/frame_call.h"
#include "kernel/sort/sort.h"

struct order {
    char **names; /* the array is owned, the names are not */
    bool *descending;
    bool *nulls_first;
    bool nan_largest;
    size_t count;
};

/* Errors: EINVAL they do not fit one another · ENOMEM */
granary_err order_init(const struct gr_order_params *params, struct order *ret_order);
void order_fini(struct order *order);
/* One more key, ascending, behind the others; there is room for two. *name* is borrowed. */
void order_add(struct order *order, const char *name);
/* The keys of one frame; *ret_keys is to be freed. Errors: ENOENT names the column · ENOMEM */
granary_err order_keys(const struct order *order, const granary_frame *frame, struct sort_key **ret_keys);

/* Rows of a frame in order, as a new owned frame. limit: or SORT_NO_LIMIT. Errors: as order_keys() */
granary_err
order_frame(const struct order *order, const granary_frame *frame, int64_t limit, granary_frame **ret_frame);

/* Whether a frame has one column, of plain numbers, which is the key. */
bool order_is_numbers(const struct order *order, const granary_frame *frame);
/* Sort such a frame in place when it owns the column. *ret_done false: it is another kind of frame, and as it was.
 * Errors: ENOMEM */
granary_err order_numbers(const struct order *order, granary_frame *frame, bool *ret_done);

#endif
