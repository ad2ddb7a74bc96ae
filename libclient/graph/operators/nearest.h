/*
 * The known name most like a wrong one, for messages: `granary: no column 'Coast': did you mean 'Cost'?`
 *
 *   struct gr_nearest nearest = {.name = wrong};
 *   for (...) gr_nearest_offer(&nearest, candidate);
 *   if (nearest.best != NULL) ...
 */
#ifndef GRAPH_NEAREST_H
#define GRAPH_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

struct gr_nearest {
    const char *name;
    const char *best; /* borrowed from the offers; NULL: none was near */
    size_t distance;  /* of best */
};

/* Keep candidate when it is nearer than the best so far. Case counts little; far ones are never kept. */
void gr_nearest_offer(struct gr_nearest *nearest, const char *candidate);

/* "; did you mean 'NAME'?" in ret_text, or "" when there is none. Returns ret_text. */
#define GR_HINT_MAX 160
const char *gr_nearest_hint(const struct gr_nearest *nearest, char ret_text[GR_HINT_MAX]);

/* Whether text is well-formed UTF-8 (no surrogates, no overlong forms). */
bool gr_is_utf8(const char *text, size_t size);

#endif
