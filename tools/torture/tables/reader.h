/* A process that reads the tables twenty times a second until it is killed or told to stop. */
#ifndef TORTURE_READER_H
#define TORTURE_READER_H

#include "torture/tables/journal.h"

#define READER_SLOT_NS 50000000 /* from a read to the next one */

/* Work as reader number `number`. */
void reader_run(const struct journal *journal, unsigned number, uint64_t seed);

/* As the run itself, when all is over: a cut of all that there is, and some times that were answered. False: that is
 * not possible; it is counted. */
bool reader_look_back(const struct journal *journal, granary_client *client, uint64_t seed);

#endif
