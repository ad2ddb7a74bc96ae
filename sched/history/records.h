/*
 * Runs of subtasks that have ended, the last ones of the manager, as many as it was told: when each was sent and began, how long its parts
 * took, what it moved. A ring in one array, written once a report.
 */
#ifndef SCHED_HISTORY_RECORDS_H
#define SCHED_HISTORY_RECORDS_H

#include <stdint.h>

#include "granary/types.h"
#include "schema/granary.pb-c.h"

#define RECORD_NONE UINT32_MAX

struct record {
    uint64_t number; /* on the wire */
    uint32_t attempt;
    uint32_t executor;
    int32_t node; /* the executor's band */
    granary_err err;
    int64_t sent_ns;    /* CLOCK_MONOTONIC, as all moments */
    int64_t started_ns; /* 0: not known */
    int64_t ended_ns;
    uint64_t lease_ns, store_ns;
    uint64_t in_bytes, out_bytes;
    uint64_t peak_bytes;
    char *texts; /* file of its output, NUL, message of its error, NUL; NULL: neither */
};

struct records;

/* Of capacity runs, 1 to 2^31. NULL: out of memory. Memory is taken as it is written. */
struct records *records_create(uint64_t capacity);
void records_destroy(struct records *records);

/* Takes texts. Returns its place, for records_get(). */
uint32_t records_add(struct records *records, const struct record *record);
/* Both texts as a record keeps them; NULL when both are empty. */
char *record_texts(const char *log, const char *message);

/* The record at a place if it is still that subtask's, else NULL. */
const struct record *records_get(const struct records *records, uint32_t place, uint64_t number);

/* Records are counted as they come, from 0: the oldest one there still is, and the count of all. */
uint64_t records_first(const struct records *records);
uint64_t records_end(const struct records *records);
const struct record *records_at(const struct records *records, uint64_t position);

const char *record_log(const struct record *record);
const char *record_message(const struct record *record);

#endif
