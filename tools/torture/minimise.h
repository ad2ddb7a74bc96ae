/*
 * A schedule that failed is made smaller: it is run again with parts left out, as long as it fails without them.
 * Processes race, so a schedule fails sometimes: each is tried several times, and one that does not fail in any try is
 * taken for one that does not fail. What remains fails; that nothing less does is likely, not certain.
 */
#ifndef TORTURE_MINIMISE_H
#define TORTURE_MINIMISE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the schedule of those places (in ascending order) fails. */
typedef bool (*minimise_fails)(void *context, const size_t *places, size_t count);

/*
 * Delta debugging: of places 0 .. *count - 1, all of which together fail, keep few that do.
 *
 * places  room for *count; receives those that are kept, in ascending order
 */
void minimise_places(size_t *places, size_t *count, minimise_fails fails, void *context);

/* The schedule in that file, to FILE.min. Returns an exit status: 0 when it fails and was written, 1 when it does not
 * fail. */
int minimise(const char *path, unsigned tries);

#endif
