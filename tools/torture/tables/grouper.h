/* A process that has a graph group what there is of a table, once a second, until it is killed or told to stop. */
#ifndef TORTURE_GROUPER_H
#define TORTURE_GROUPER_H

#include "torture/tables/journal.h"

#define GROUPER_SLOT_NS 1000000000 /* from a graph to the next one */

/* Work with the diary of reader number `number`. */
void grouper_run(const struct journal *journal, unsigned number, uint64_t seed);

#endif
