/* Structs between callers and library that may have been compiled with different headers: the common part is copied. */
#include "base/sized.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

granary_err
gr_sized_take(void *ours, size_t our_size, const void *theirs, size_t their_size)
{
    const unsigned char *bytes = theirs;
    size_t common = their_size < our_size ? their_size : our_size;

    memset(ours, 0, our_size);
    if (theirs == NULL) {
        return GRANARY_OK;
    }
    for (size_t i = common; i < their_size; i++) {
        if (bytes[i] != 0) {
            return gr_fail(GRANARY_EUNSUPPORTED,
                           "an option at byte %zu of its struct is not known to version " GRANARY_VERSION
                           " of the library: leave it 0, or use the library of the headers",
                           i);
        }
    }
    memcpy(ours, theirs, common);
    return GRANARY_OK;
}

void
gr_sized_give(void *to, size_t to_size, const void *from, size_t from_size)
{
    size_t common = to_size < from_size ? to_size : from_size;

    if (to != NULL && common > 0) {
        memcpy(to, from, common);
    }
    if (to != NULL) {
        memset((char *)to + common, 0, to_size - common);
    }
}

granary_err
gr_sized_give_list(granary_err err, void *ours, size_t our_size, size_t count, void *ret_list, size_t their_size,
                   size_t *ret_count)
{
    void *list = ours;

    if (err == GRANARY_OK && count > 0 && their_size != our_size) {
        list = calloc(count, their_size);
        if (list == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "no memory for a list of %zu", count);
        } else {
            gr_sized_return(list, their_size, ours, our_size, count);
        }
    }
    if (err != GRANARY_OK || count == 0) {
        free(ours);
        list = NULL;
    }
    if (err == GRANARY_OK) {
        memcpy(ret_list, &list, sizeof list);
        *ret_count = count;
    }
    return err;
}

granary_err
gr_sized_borrow(void *theirs, size_t their_size, size_t our_size, size_t count, void **ret_ours)
{
    void *ours = their_size == our_size ? theirs : calloc(count + 1, our_size);

    if (ours == NULL && their_size != our_size) {
        return gr_fail(GRANARY_ENOMEM, "no memory for an array of %zu", count);
    }
    *ret_ours = ours;
    return GRANARY_OK;
}

void
gr_sized_return(void *theirs, size_t their_size, void *ours, size_t our_size, size_t count)
{
    if (ours == theirs) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        gr_sized_give((char *)theirs + i * their_size, their_size, (char *)ours + i * our_size, our_size);
    }
    free(ours);
}
