/* Objects by the beginning of their ids, as people type them. */
#ifndef BASE_ID_SEARCH_H
#define BASE_ID_SEARCH_H

#include <stddef.h>

#include "granary/types.h"

struct gr_id_search {
    char prefix[GRANARY_ID_TEXT + 1]; /* lower case */
    size_t length;
    granary_id id; /* the first that was found */
    size_t found;  /* how many different ones */
};

/* Begin with a prefix, which may be empty or a whole id. Errors: EINVAL what is no beginning of an id */
granary_err gr_id_search_begin(const char *prefix, struct gr_id_search *ret_search);

/* One of the ids that are there. */
void gr_id_search_look(struct gr_id_search *search, granary_id id);

/* The one that was found. Errors: ENOENT none · EINVAL several */
granary_err gr_id_search_end(const struct gr_id_search *search, granary_id *ret_id);

#endif
