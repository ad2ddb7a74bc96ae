/*
 * Structs of callers that were compiled with other headers than this library (include/granary/sized.h): each comes with
 * the caller's sizeof of it. Inside, a struct is always as it is here; these functions stand where it comes and goes.
 */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stddef.h>

#include "granary/types.h"

/* Take the caller's options, or zeros for NULL. Errors: EUNSUPPORTED one that is unknown here is not 0 */
granary_err gr_sized_take(void *ours, size_t our_size, const void *theirs, size_t their_size);

/* Copy a struct into a smaller or larger one, the rest of which is 0. to may be NULL; from may when its size is 0. */
void gr_sized_give(void *to, size_t to_size, const void *from, size_t from_size);

/*
 * Give the caller a list that is allocated, and his to free: NULL when it is empty. On err, and on failure, it is freed.
 *
 * err       of what made the list
 * ret_list  address of the caller's pointer
 * Errors    err · ENOMEM
 */
granary_err gr_sized_give_list(granary_err err, void *ours, size_t our_size, size_t count, void *ret_list,
                               size_t their_size, size_t *ret_count);

/* The caller's array of count structs to be filled: itself, or one of ours in its stead. Errors: ENOMEM */
granary_err gr_sized_borrow(void *theirs, size_t their_size, size_t our_size, size_t count, void **ret_ours);

/* End that: the caller gets the first count structs. */
void gr_sized_return(void *theirs, size_t their_size, void *ours, size_t our_size, size_t count);

#endif
