/* The questions on frames and tensors, which stand in tools/bench/questions/questions.txt and are built in. */
#ifndef FRAME_QUESTIONS_H
#define FRAME_QUESTIONS_H

#include "bench/frame/analytics.h"

/* Ask all questions of a part of the file, in its order, as questions of a suite. */
void questions_ask(struct analytics *analytics, const char *part, const char *suite);

/* The dtypes of a table's columns, as the JSON of read_csv's parameter. */
const char *questions_dtypes(const char *table);

/* The graph that reads a table's CSV file: as `granary load` does when it is to be kept; else the file alone. */
void questions_csv_graph(const struct analytics *analytics, const char *table, bool kept, char *graph, size_t size);
/* Load a table under its name. False: said on stderr. */
bool questions_load(struct analytics *analytics, const char *table);

#endif
