/* Arrays that grow by doubling, so that adding an item takes constant time on average. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Make room for one more item.
 *
 * array    address of the pointer to the items, which may move
 * room     items it has room for
 * Returns  false: out of memory, and nothing has changed
 */
bool gr_grow(void *array, size_t *room, size_t count, size_t item_size);

#endif
