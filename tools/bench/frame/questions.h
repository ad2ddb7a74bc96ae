/* The questions on frames and tensors, which stand in tools/bench/questions/questions.txt and are built in. */
#ifndef FRAME_QUESTIONS_H
#define FRAME_QUESTIONS_H

#include "bench/frame/analytics.h"

/* Ask all questions of a part of the file, in its order, as questions of a suite. */
void questions_ask(struct analytics *analytics, const char *part, const char *suite);

/* The dtypes of a table's columns, as the JSON of read_csv's parameter. */
const char *questions_dtypes(const char *table);

#endif
