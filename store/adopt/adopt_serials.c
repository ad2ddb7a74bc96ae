/*
 * Serials that more than one slot of a session has, which is damage: leases, copies and segments know an object by its
 * serial alone. Serials come from one counter, so in a field of bits at their remainder two seldom meet that are not
 * the same; those that do are compared exactly.
 */
#include <stdlib.h>

#include "base/error.h"
#include "store/adopt/adopt_parts.h"

#define BITS_A_SLOT 8
#define LEAST_BITS  4096

struct adopt_serials {
    uint64_t *met;       /* by at least one */
    uint64_t *met_again; /* by more */
    uint64_t mask;
    struct map seen; /* of those that met: serial -> nothing */
};

granary_err
adopt_serials_create(const struct index *index, struct adopt_serials **ret_serials)
{
    struct adopt_serials *serials = calloc(1, sizeof *serials);
    uint64_t bits = LEAST_BITS;
    uint64_t position = 0;
    const struct gr_slot *slot;

    while (bits < index->objects * BITS_A_SLOT) {
        bits *= 2;
    }
    if (serials == NULL || (serials->met = calloc(bits / 64, 8)) == NULL ||
        (serials->met_again = calloc(bits / 64, 8)) == NULL) {
        adopt_serials_destroy(serials);
        return gr_fail(GRANARY_ENOMEM, "no memory to adopt objects");
    }
    serials->mask = bits - 1;
    while ((slot = index_next(index, &position)) != NULL) {
        uint64_t bit = GR_WORD_SERIAL(slot_word(slot)) & serials->mask;
        uint64_t one = 1ull << bit % 64;

        serials->met_again[bit / 64] |= serials->met[bit / 64] & one;
        serials->met[bit / 64] |= one;
    }
    *ret_serials = serials;
    return GRANARY_OK;
}

void
adopt_serials_destroy(struct adopt_serials *serials)
{
    if (serials == NULL) {
        return;
    }
    map_free(&serials->seen);
    free(serials->met_again);
    free(serials->met);
    free(serials);
}

granary_err
adopt_serials_first(struct adopt_serials *serials, uint64_t serial, bool *ret_first)
{
    uint64_t bit = serial & serials->mask;

    *ret_first = true;
    if ((serials->met_again[bit / 64] & 1ull << bit % 64) == 0) {
        return GRANARY_OK;
    }
    *ret_first = map_find(&serials->seen, map_key_number(serial)) == NULL;
    if (map_add(&serials->seen, map_key_number(serial)) == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to adopt objects");
    }
    return GRANARY_OK;
}
