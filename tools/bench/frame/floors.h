/* The floors of questions: what they cost a loop in C that knows what it will meet, beside granary's answers. */
#ifndef FRAME_FLOORS_H
#define FRAME_FLOORS_H

#include "bench/frame/analytics.h"

/*
 * Measure the floors of a suite's questions that were answered, on as many threads as there are executors, and add them
 * as answers of the engines "floor" and "scan". The instance is up and has the tables.
 */
void floors_measure(struct analytics *analytics, const char *suite);

/* The column of the answer that the floor of a question adds up, too; NULL: none. */
const char *floors_column(const char *suite, const char *key);

#endif
