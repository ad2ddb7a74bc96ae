/* The CSV automaton in its simplest form, byte by byte, and what csv_split and csv_infer answer by it. */
#ifndef TESTS_PLAN_REFERENCE_H
#define TESTS_PLAN_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/granary.pb-c.h"

/* The state behind a byte; *ret_ends: a record ends with it. States as in contract/ops/chunk_ops.def. */
uint32_t reference_step(uint32_t state, char byte, char delimiter, bool *ret_ends);

/* The answer of csv_split, to be freed with granary__csv_split__free_unpacked(). */
Granary__CsvSplit *reference_split(const char *bytes, size_t size, char delimiter);

/* The answer of csv_infer, to be freed likewise. Fields of digits are int64, empty ones null, all else strings. */
Granary__CsvTypes *reference_types(const char *bytes, size_t size, char delimiter, bool header);

#endif
