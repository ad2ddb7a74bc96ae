/* Arrays that grow by doubling. */
#include "base/memory/grow.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 16 /* items */

bool
gr_grow(void *array, size_t *room, size_t count, size_t item_size)
{
    size_t more = *room * 2 + FIRST;
    void *items;

    if (count < *room) {
        return true;
    }
    memcpy(&items, array, sizeof items);
    items = reallocarray(items, more, item_size);
    if (items == NULL) {
        return false;
    }
    memcpy(array, &items, sizeof items);
    *room = more;
    return true;
}
