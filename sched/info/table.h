/*
 * A Table of contract/subjects.def being filled, row by row, in protobuf's encoding.
 *
 * Each row has a position in its subject, from 1, ascending; a page begins at a position and ends when it has enough
 * rows. So a walk over a subject may begin anywhere, and one that grows meanwhile gives every old row once.
 */
#ifndef SCHED_INFO_TABLE_H
#define SCHED_INFO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "granary/types.h"
#include "sched/core/changes.h"
#include "schema/granary.pb-c.h"

/* FIELD_graphs_key, ...: all fields of all subjects in one row of numbers. */
enum info_field {
#define SUBJECT(name, text)              FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define FIELD(subject, name, kind, text) FIELD_##subject##_##name,
#include "contract/subjects.def"
#undef SUBJECT
#undef FIELD
    INFO_FIELDS
};

#define TABLE_FIELDS_MAX 32   /* of a subject */
#define TABLE_ROWS_MAX   8192 /* of a page: the scheduler does nothing else meanwhile */

struct table;

/*
 * An empty table for a query.
 *
 * Errors  EINVAL an unknown subject or field: the message names those there are · ENOMEM
 */
granary_err table_create(const Granary__Info *query, struct table **ret_table);
void table_destroy(struct table *table);
enum info_subject table_subject(const struct table *table);

/* What its fields are called by; NULL past the last. */
const char *info_subject_name(enum info_subject subject);
/* SUBJECT_...; INFO_SUBJECTS: there is none of that name. */
enum info_subject info_subject_find(const char *name);

/* Nothing is written while a table is only asked whether there are rows (see info.c). */
void table_probe(struct table *table, bool probe);

/* How many rows of those that follow position base come before this page. */
uint64_t table_start(const struct table *table, uint64_t base);
bool table_full(const struct table *table); /* no further row is of any use */
/* Whether a field was asked for: what is expensive to find out is not found out for nothing. */
bool table_wants(const struct table *table, enum info_field field);

/* false: this row is not on the page; nothing else is to be said of it. */
bool table_begin(struct table *table, uint64_t position);
void table_int(struct table *table, enum info_field field, int64_t value);
void table_real(struct table *table, enum info_field field, double value);
void table_text(struct table *table, enum info_field field, const char *value);
/* What a buffer has: *takes* it. Without memory nothing. */
void table_take(struct table *table, enum info_field field, struct gr_buf *value);
void
table_textf(struct table *table, enum info_field field, const char *format, ...) __attribute__((format(printf, 3, 4)));
void table_end(struct table *table);

/* Append the Table message, as field `field` of the message. false: out of memory */
bool table_pack(const struct table *table, uint64_t version, struct gr_buf *message, int field);

#endif
