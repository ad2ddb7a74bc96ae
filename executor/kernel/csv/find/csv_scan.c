/*
 * The automaton over a block from all six states at once: states that have met stay together, so after a few bytes
 * one or two are followed (speculative parsing: Ge, Li, Eilebrecht, Chandramouli, Kossmann, Speculative Distributed
 * CSV Data Parsing, 2019). Bytes without quotes are searched for line ends alone.
 */
#include "kernel/csv/find/csv_scan.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/simd/csv.h"

/* After so many bytes from a boundary the start states have almost always met in one or two. */
#define MEET_BYTES 4096

static bool
is_line_end(char byte)
{
    return byte == '\n' || byte == '\r';
}

uint64_t
csv_count_lines(const char *bytes, size_t size)
{
    return SIMD_CALL(csv_count)(bytes, size, '\n');
}

enum csv_state
csv_scan_step(enum csv_state state, char byte, char delimiter, bool *ret_ends)
{
    bool may_end = state == CSV_AT_FIELD || state == CSV_IN_FIELD || state == CSV_AT_QUOTE;

    *ret_ends = false;
    if (state == CSV_IN_QUOTES) {
        return byte == '"' ? CSV_AT_QUOTE : CSV_IN_QUOTES;
    }
    if (byte == '"') {
        return state == CSV_IN_FIELD ? CSV_IN_FIELD : CSV_IN_QUOTES;
    }
    if (byte == delimiter) {
        return CSV_AT_FIELD;
    }
    if (is_line_end(byte)) {
        *ret_ends = may_end;
        return byte == '\n' ? CSV_AT_RECORD : CSV_AFTER_CR;
    }
    return CSV_IN_FIELD;
}

/* Where the record behind the line end at bytes[i] starts. */
static int64_t
behind_line_end(const char *bytes, size_t size, size_t i)
{
    return (int64_t)(i + (bytes[i] == '\r' && i + 1 < size && bytes[i + 1] == '\n' ? 2 : 1));
}

static void
note_end(struct csv_scan *scan, const char *bytes, size_t size, size_t i)
{
    scan->records++;
    if (scan->first_record < 0) {
        scan->first_record = behind_line_end(bytes, size, i);
    }
}

/* The state behind a byte that is no quote, and not between quotes. */
static enum csv_state
state_behind(char byte, char delimiter)
{
    return byte == '\n' ? CSV_AT_RECORD : byte == '\r' ? CSV_AFTER_CR : byte == delimiter ? CSV_AT_FIELD : CSV_IN_FIELD;
}

/* Bytes [from, to) have no quote and begin outside quotes: of each run of line ends the first may end a record. */
static void
scan_plain(const char *bytes, size_t size, size_t from, size_t to, char delimiter, struct csv_scan *scan)
{
    bool before_is_end = scan->end == CSV_AT_RECORD || scan->end == CSV_AFTER_CR;
    uint64_t ends = SIMD_CALL(csv_line_ends)(bytes + from, to - from, before_is_end);

    scan->records += ends;
    for (size_t i = from; ends > 0 && scan->first_record < 0; i++) {
        if (is_line_end(bytes[i]) && (i > from ? !is_line_end(bytes[i - 1]) : !before_is_end)) {
            scan->first_record = behind_line_end(bytes, size, i);
        }
    }
    scan->end = state_behind(bytes[to - 1], delimiter);
}

/* Go on from scan->end at bytes[from]. */
static void
scan_rest(const char *bytes, size_t size, size_t from, char delimiter, struct csv_scan *scan)
{
    size_t i = from;

    while (i < size) {
        const char *quote;
        size_t to;
        bool ends;

        if (scan->end == CSV_AT_QUOTE) {
            scan->end = csv_scan_step(CSV_AT_QUOTE, bytes[i], delimiter, &ends);
            if (ends) {
                note_end(scan, bytes, size, i);
            }
            i++;
            continue;
        }
        quote = memchr(bytes + i, '"', size - i);
        to = quote == NULL ? size : (size_t)(quote - bytes);
        if (scan->end != CSV_IN_QUOTES && to > i) {
            scan_plain(bytes, size, i, to, delimiter, scan);
        }
        if (to < size) {
            scan->end = csv_scan_step(scan->end, '"', delimiter, &ends);
        }
        i = to + 1;
    }
}

static int
count_distinct(const struct csv_scan scans[CSV_STATES])
{
    unsigned seen = 0;

    for (int s = 0; s < CSV_STATES; s++) {
        seen |= 1u << scans[s].end;
    }
    return __builtin_popcount(seen);
}

void
csv_scan(const char *bytes, size_t size, char delimiter, struct csv_scan ret_scans[CSV_STATES])
{
    enum csv_state met[CSV_STATES];
    size_t at = 0;

    for (int s = 0; s < CSV_STATES; s++) {
        ret_scans[s] = (struct csv_scan){.end = (enum csv_state)s, .first_record = -1};
    }
    ret_scans[CSV_AT_RECORD].first_record = 0;
    ret_scans[CSV_AFTER_CR].first_record = size > 0 && bytes[0] == '\n' ? 1 : 0;

    for (; at < size && at < MEET_BYTES && count_distinct(ret_scans) > 2; at++) {
        for (int s = 0; s < CSV_STATES; s++) {
            bool ends;

            ret_scans[s].end = csv_scan_step(ret_scans[s].end, bytes[at], delimiter, &ends);
            if (ends) {
                note_end(&ret_scans[s], bytes, size, at);
            }
        }
    }
    for (int s = 0; s < CSV_STATES; s++) {
        met[s] = ret_scans[s].end;
    }
    for (int state = 0; state < CSV_STATES; state++) {
        struct csv_scan rest = {.end = (enum csv_state)state, .first_record = -1};
        bool scanned = false;

        for (int s = 0; s < CSV_STATES; s++) {
            if (met[s] != (enum csv_state)state) {
                continue;
            }
            if (!scanned) {
                scan_rest(bytes, size, at, delimiter, &rest);
                scanned = true;
            }
            ret_scans[s].end = rest.end;
            ret_scans[s].records += rest.records;
            if (ret_scans[s].first_record < 0) {
                ret_scans[s].first_record = rest.first_record;
            }
        }
    }
}

void
csv_scan_unquoted(const char *bytes, size_t size, char delimiter, uint64_t line_ends,
                  struct csv_scan ret_scans[CSV_STATES])
{
    size_t first = 0;

    while (line_ends > 0 && !is_line_end(bytes[first])) {
        first++;
    }
    for (int s = 0; s < CSV_STATES; s++) {
        struct csv_scan *scan = &ret_scans[s];
        bool behind_end = s == CSV_AT_RECORD || s == CSV_AFTER_CR;

        *scan = (struct csv_scan){.end = (enum csv_state)s, .first_record = -1};
        if (s != CSV_IN_QUOTES && size > 0) {
            scan->end = state_behind(bytes[size - 1], delimiter);
            scan->records = line_ends - (behind_end && is_line_end(bytes[0]));
            scan->first_record = line_ends > 0 ? behind_line_end(bytes, size, first) : -1;
        }
    }
    ret_scans[CSV_AT_RECORD].first_record = 0;
    ret_scans[CSV_AFTER_CR].first_record = size > 0 && bytes[0] == '\n' ? 1 : 0;
}

/* Where the last line end among bytes without quotes ends; a CR at the very end may be half of one. -1: none */
static int64_t
last_line_end(const char *bytes, size_t from, size_t to)
{
    const char *feed = memrchr(bytes + from, '\n', to - from);
    const char *mark = feed != NULL ? NULL : memrchr(bytes + from, '\r', to - from);

    return feed != NULL ? feed + 1 - bytes : mark != NULL && mark + 1 < bytes + to ? mark + 1 - bytes : -1;
}

int64_t
csv_scan_last(const char *bytes, size_t size, char delimiter, enum csv_state *state)
{
    int64_t last = -1;
    size_t i = 0;

    while (i < size) {
        const char *quote = memchr(bytes + i, '"', size - i);
        size_t to = quote == NULL ? size : (size_t)(quote - bytes);
        bool ends;

        if (*state != CSV_IN_QUOTES && to > i) {
            int64_t end = last_line_end(bytes, i, to);

            last = end > 0 ? end : last;
            *state = state_behind(bytes[to - 1], delimiter);
        }
        if (to < size) {
            *state = csv_scan_step(*state, '"', delimiter, &ends);
        }
        i = to + 1;
    }
    return last;
}
