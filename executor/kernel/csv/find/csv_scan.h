/*
 * The CSV automaton: what a block of bytes does, whatever state it begins in. So blocks can be scanned side by side
 * and joined afterwards.
 *
 *   state         means                          '"'        delimiter  LF               CR               other
 *   AT_RECORD     at the start of a record       IN_QUOTES  AT_FIELD   AT_RECORD        AFTER_CR         IN_FIELD
 *   AT_FIELD      at the start of a field        IN_QUOTES  AT_FIELD   AT_RECORD, ends  AFTER_CR, ends   IN_FIELD
 *   IN_FIELD      in a field without quotes      IN_FIELD   AT_FIELD   AT_RECORD, ends  AFTER_CR, ends   IN_FIELD
 *   IN_QUOTES     between quotes                 AT_QUOTE   IN_QUOTES  IN_QUOTES        IN_QUOTES        IN_QUOTES
 *   AT_QUOTE      behind a quote between quotes  IN_QUOTES  AT_FIELD   AT_RECORD, ends  AFTER_CR, ends   IN_FIELD
 *   AFTER_CR      behind a CR that ended a line  IN_QUOTES  AT_FIELD   AT_RECORD        AFTER_CR         IN_FIELD
 *
 * "ends": a record ends here. A line without a byte is no record.
 */
#ifndef KERNEL_CSV_CSV_SCAN_H
#define KERNEL_CSV_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum csv_state {
    CSV_AT_RECORD = 0,
    CSV_AT_FIELD = 1,
    CSV_IN_FIELD = 2,
    CSV_IN_QUOTES = 3,
    CSV_AT_QUOTE = 4,
    CSV_AFTER_CR = 5,
    CSV_STATES = 6,
};

/* The state behind a byte; *ret_ends: a record ends with it. */
enum csv_state csv_scan_step(enum csv_state state, char byte, char delimiter, bool *ret_ends);

/* What a block does from one start state. */
struct csv_scan {
    enum csv_state end;
    int64_t first_record; /* offset at which the first record starts that does not start before the block; -1: none */
    uint64_t records;     /* that end in the block */
};

/* Scan a block from every start state. */
void csv_scan(const char *bytes, size_t size, char delimiter, struct csv_scan ret_scans[CSV_STATES]);

/* The same of bytes without quotes, in which `line_ends` runs of line ends begin: almost nothing is left to do. */
void csv_scan_unquoted(const char *bytes, size_t size, char delimiter, uint64_t line_ends,
                       struct csv_scan ret_scans[CSV_STATES]);

/* Go on from *state, which is true: the last place behind the bytes' first one at which a record may begin; -1: none. */
int64_t csv_scan_last(const char *bytes, size_t size, char delimiter, enum csv_state *state);

/* Line feeds among bytes. */
uint64_t csv_count_lines(const char *bytes, size_t size);

#endif
