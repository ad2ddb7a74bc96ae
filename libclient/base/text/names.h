/* Where names are in an array of structures: an index for arrays of many. */
#ifndef BASE_TEXT_NAMES_H
#define BASE_TEXT_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Empty when all is zero. It is of an array only while it has as many names: else the array is searched. */
struct gr_names {
    size_t count;
    size_t room;     /* of slots: a power of two, at least twice the names */
    uint32_t *slots; /* positions from 1; 0: free; NULL: a few names need none */
};

/* The array: the first of its names, each `stride` bytes behind the one before; NULL is no name. */
struct gr_named {
    const char *const *first;
    size_t stride;
    size_t count;
};
#define GR_NAMED(items, member, count)                                                                                 \
    ((struct gr_named){(const char *const *)((count) == 0 ? NULL : &(items)[0].member), sizeof(items)[0], (count)})

/* The last of the array has come to it. Without memory the array will be searched. */
void gr_names_add(struct gr_names *names, struct gr_named array);
/* All of the array. The same. */
void gr_names_fill(struct gr_names *names, struct gr_named array);
/* The first position of a name, or -1. Names that are in the index have not changed. */
int gr_names_find(const struct gr_names *names, struct gr_named array, const char *name);
void gr_names_free(struct gr_names *names);

#endif
