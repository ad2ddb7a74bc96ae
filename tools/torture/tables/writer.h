/* A process that appends to the tables until it is killed or told to stop. */
#ifndef TORTURE_WRITER_H
#define TORTURE_WRITER_H

#include "torture/tables/journal.h"

/* Work as writer number `number`. */
void writer_run(const struct journal *journal, unsigned number, uint64_t seed);

/* Append so many rows to a table, one by one, as the run itself. Returns the time of the last one; INT64_MIN: it
 * failed, and is counted. */
int64_t writer_preload(const struct journal *journal, granary_mutable *table, uint32_t rows);

#endif
