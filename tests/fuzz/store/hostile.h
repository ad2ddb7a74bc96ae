/*
 * Clients without the library, which send and write what an input says: frames whole, cut, stretched, with descriptors
 * nobody asked for; ring entries, lease words, and anything else of their own pages. Beside them an honest client,
 * whose objects must stay what they are.
 */
#ifndef FUZZ_STORE_HOSTILE_H
#define FUZZ_STORE_HOSTILE_H

#include <stdbool.h>

#include "input.h"

/* Do what the input says, and check after each step. pages: also what needs shared pages. */
void hostile_run(struct input *input, bool pages);

#endif
