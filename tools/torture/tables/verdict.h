/*
 * Whether all that was noted in a round can be true. Each append was at one time, or never; each read saw just the
 * appends at or before its time; and what was answered stays.
 */
#ifndef TORTURE_VERDICT_H
#define TORTURE_VERDICT_H

#include <stdio.h>

#include "torture/tables/journal.h"

/*
 * What is found is described on `complaints`, the first of it at least:
 *
 *   - an append that was acknowledged is missing in a read at or after its time, or is in one before it
 *   - rows are in a read of an append that was refused, or that nobody began
 *   - an append whose writer was killed is in one read, and not in another one at that time or later
 *   - rows are damaged, some of an append are missing, or appends of one writer are in another order
 *   - an append got another time than it was given, or one that was known to be final
 *   - a read by the name of now was for an earlier time than an append that had been acknowledged
 *
 * Returns how many there were; SIZE_MAX: out of memory.
 */
size_t verdict_of(const struct journal *journal, FILE *complaints);

#endif
