/*
 * Questions asked of files, and not of tables in memory: `--from parquet` and its kin. Every engine reads the same
 * files, which granary writes.
 */
#ifndef FRAME_FROM_H
#define FRAME_FROM_H

#include "bench/frame/analytics.h"

/* Whether it is asked for. */
bool from_files(const struct analytics *analytics);

/* What a suite cannot be asked of files. Returns an exit status, said on stderr; 0: none is asked for. */
int from_refuse(const struct analytics_options *options);

/* A table as the questions need it: loaded under its name, or its file written, unless that is there. False: said on
 * stderr. */
bool from_provide(struct analytics *analytics, const char *table);

/* Be where the files are, so that SQL finds `lineitem`. False: said on stderr. */
bool from_enter(struct analytics *analytics);

/* A question's graph with its tables read from their files. The caller frees it; NULL: no memory. */
char *from_graph(const struct analytics *analytics, const char *graph);

/* Load a table and measure how long its file takes to be written: question "write". */
void from_ask_write(struct analytics *analytics, const char *suite, const char *table);

#endif
