/* The tables and the queries of TPC-H. */
#ifndef FRAME_TPCH_H
#define FRAME_TPCH_H

#include "bench/frame/analytics.h"

#define TPCH_QUERIES 22
#define TPCH_TABLES  8

/* Query number 1 to 22 as text, and its name ("q01"). Static storage. */
const char *tpch_query(int number);
const char *tpch_query_name(int number);

/* The name of table 0 to 7. Static storage. */
const char *tpch_table(int number);

/* Make the tables (with granary-tpch-gen, beside this program) and queries/qNN.sql in the directory, unless they are
 * there. False: said on stderr. */
bool tpch_make(const char *directory, double scale);

/* Load them into the instance, or write the files that are asked. False: said on stderr. */
bool tpch_load(struct analytics *analytics);

#endif
