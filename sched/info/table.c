/* A row's cells are staged, then written in protobuf's encoding behind the rows before it. */

#include "sched/info/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/core/manager.h"
#include "sched/core/pack.h"

enum kind { KIND_INT, KIND_REAL, KIND_TEXT };

static const struct {
    const char *name;
    enum info_field first;
} subjects[INFO_SUBJECTS + 1] = {
#define SUBJECT(name, text) {#name, FIRST_##name},
#define FIELD(subject, name, kind, text)
#include "contract/subjects.def"
#undef SUBJECT
#undef FIELD
    {NULL, INFO_FIELDS},
};

static const struct {
    const char *name;
    enum kind kind;
} fields[INFO_FIELDS] = {
#define SUBJECT(name, text)
#define FIELD(subject, name, kind, text) {#name, KIND_##kind},
#include "contract/subjects.def"
#undef SUBJECT
#undef FIELD
};

/* Numbers of the fields, as in granary.proto. */
enum { TABLE_SUBJECT = 1, TABLE_FIELDS = 2, TABLE_ROWS = 3, TABLE_CURSOR = 4, TABLE_VERSION = 5 };
enum { ROW_CELLS = 1 };
enum { CELL_INT = 1, CELL_REAL = 2, CELL_TEXT = 3 };

/* A value of the row being filled. */
struct staged {
    int64_t integer;
    double real;
    size_t text, length; /* in table.texts */
};

struct table {
    enum info_subject subject;
    enum info_field wanted[TABLE_FIELDS_MAX];
    size_t wanted_count;
    uint32_t wanted_mask; /* by place in the subject */
    uint64_t from;        /* position of the first row of the page */
    uint64_t cursor;      /* ... of the next; 0: this is the last */
    uint32_t rows, limit;
    bool probing;
    struct staged row[TABLE_FIELDS_MAX];
    struct gr_buf texts; /* of that row */
    struct gr_buf cell, cells;
    struct gr_buf packed; /* rows, as fields of a Table */
};

const char *
info_subject_name(enum info_subject subject)
{
    return subjects[subject].name;
}

enum info_subject
info_subject_find(const char *name)
{
    enum info_subject subject = (enum info_subject)0;

    while (subject < INFO_SUBJECTS && strcmp(subjects[subject].name, name) != 0) {
        subject++;
    }
    return subject;
}

/* ---- beginning and end ---- */

static granary_err
unknown_subject(const char *name)
{
    struct gr_buf known = {0};
    granary_err err;

    for (int i = 0; i < INFO_SUBJECTS; i++) {
        gr_buf_addf(&known, "%s%s", i > 0 ? ", " : "", subjects[i].name);
    }
    err = gr_fail(GRANARY_EINVAL, "info: no subject '%.64s': there are %s", name,
                  gr_buf_ok(&known) ? known.bytes : "others");
    gr_buf_free(&known);
    return err;
}

static granary_err
unknown_field(enum info_subject subject, const char *name)
{
    struct gr_buf known = {0};
    granary_err err;

    for (int i = subjects[subject].first; i < (int)subjects[subject + 1].first; i++) {
        gr_buf_addf(&known, "%s%s", i > (int)subjects[subject].first ? ", " : "", fields[i].name);
    }
    err = gr_fail(GRANARY_EINVAL, "info: %s have no field '%.64s': there are %s", subjects[subject].name, name,
                  gr_buf_ok(&known) ? known.bytes : "others");
    gr_buf_free(&known);
    return err;
}

static granary_err
want(struct table *table, const char *name)
{
    for (int i = subjects[table->subject].first; i < (int)subjects[table->subject + 1].first; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            if (table->wanted_count == TABLE_FIELDS_MAX) {
                return gr_fail(GRANARY_EINVAL, "info: at most %d fields", TABLE_FIELDS_MAX);
            }
            table->wanted[table->wanted_count++] = (enum info_field)i;
            table->wanted_mask |= 1u << (i - (int)subjects[table->subject].first);
            return GRANARY_OK;
        }
    }
    return unknown_field(table->subject, name);
}

granary_err
table_create(const Granary__Info *query, struct table **ret_table)
{
    enum info_subject subject = info_subject_find(query->subject);
    struct table *table;
    granary_err err = GRANARY_OK;

    if (subject == INFO_SUBJECTS) {
        return unknown_subject(query->subject);
    }
    table = calloc(1, sizeof *table);
    if (table == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    table->subject = subject;
    table->from = query->cursor;
    table->limit = query->limit == 0 ? 1000 : query->limit < TABLE_ROWS_MAX ? query->limit : TABLE_ROWS_MAX;
    for (size_t i = 0; i < query->n_fields && err == GRANARY_OK; i++) {
        err = want(table, query->fields[i]);
    }
    for (int i = subjects[subject].first; query->n_fields == 0 && i < (int)subjects[subject + 1].first; i++) {
        (void)want(table, fields[i].name);
    }
    if (err != GRANARY_OK) {
        table_destroy(table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}

void
table_destroy(struct table *table)
{
    if (table != NULL) {
        gr_buf_free(&table->texts);
        gr_buf_free(&table->cell);
        gr_buf_free(&table->cells);
        gr_buf_free(&table->packed);
        free(table);
    }
}

enum info_subject
table_subject(const struct table *table)
{
    return table->subject;
}

void
table_probe(struct table *table, bool probe)
{
    table->probing = probe;
}

/* ---- rows ---- */

uint64_t
table_start(const struct table *table, uint64_t base)
{
    return table->from > base + 1 ? table->from - base - 1 : 0;
}

bool
table_full(const struct table *table)
{
    return table->cursor != 0 || table->probing;
}

static unsigned
place_of(const struct table *table, enum info_field field)
{
    return (unsigned)field - (unsigned)subjects[table->subject].first;
}

bool
table_wants(const struct table *table, enum info_field field)
{
    return (table->wanted_mask >> place_of(table, field) & 1) != 0;
}

bool
table_begin(struct table *table, uint64_t position)
{
    if (table->probing || table->cursor != 0 || position < table->from) {
        return false;
    }
    if (table->rows == table->limit) {
        table->cursor = position;
        return false;
    }
    memset(table->row, 0, sizeof table->row);
    table->texts.size = 0;
    return true;
}

void
table_int(struct table *table, enum info_field field, int64_t value)
{
    table->row[place_of(table, field)].integer = value;
}

void
table_real(struct table *table, enum info_field field, double value)
{
    table->row[place_of(table, field)].real = value;
}

void
table_text(struct table *table, enum info_field field, const char *value)
{
    struct staged *staged = &table->row[place_of(table, field)];

    staged->text = table->texts.size;
    staged->length = strlen(value);
    gr_buf_add(&table->texts, value, staged->length);
}

void
table_take(struct table *table, enum info_field field, struct gr_buf *value)
{
    table_text(table, field, value->size > 0 && gr_buf_ok(value) ? value->bytes : "");
    gr_buf_free(value);
}

void
table_textf(struct table *table, enum info_field field, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    table_text(table, field, text);
}

static void
pack_cell(struct gr_buf *cell, enum info_field field, const struct staged *staged, const char *texts)
{
    unsigned char real[9] = {CELL_REAL << 3 | 1};

    switch (fields[field].kind) {
    case KIND_INT:
        pack_varint(cell, CELL_INT, (uint64_t)staged->integer << 1 ^ (uint64_t)(staged->integer >> 63));
        break;
    case KIND_REAL: /* little-endian, as this machine's */
        memcpy(real + 1, &staged->real, sizeof staged->real);
        gr_buf_add(cell, real, sizeof real);
        break;
    case KIND_TEXT:
        pack_bytes(cell, CELL_TEXT, staged->length > 0 ? texts + staged->text : "", staged->length);
        break;
    }
}

void
table_end(struct table *table)
{
    table->cells.size = 0;
    for (size_t i = 0; i < table->wanted_count; i++) {
        enum info_field field = table->wanted[i];

        table->cell.size = 0;
        pack_cell(&table->cell, field, &table->row[place_of(table, field)], table->texts.bytes);
        pack_bytes(&table->cells, ROW_CELLS, table->cell.bytes, table->cell.size);
    }
    pack_bytes(&table->packed, TABLE_ROWS, table->cells.bytes, table->cells.size);
    table->rows++;
}

bool
table_pack(const struct table *table, uint64_t version, struct gr_buf *message, int field)
{
    struct gr_buf body = {0};
    bool good;

    pack_bytes(&body, TABLE_SUBJECT, subjects[table->subject].name, strlen(subjects[table->subject].name));
    for (size_t i = 0; i < table->wanted_count; i++) {
        const char *name = fields[table->wanted[i]].name;

        pack_bytes(&body, TABLE_FIELDS, name, strlen(name));
    }
    gr_buf_add(&body, table->packed.bytes, table->packed.size);
    pack_varint(&body, TABLE_CURSOR, table->cursor);
    pack_varint(&body, TABLE_VERSION, version);
    good = gr_buf_ok(&body) && gr_buf_ok(&table->packed) && gr_buf_ok(&table->cells) && gr_buf_ok(&table->cell) &&
           gr_buf_ok(&table->texts);
    if (good) {
        pack_bytes(message, field, body.bytes, body.size);
    }
    gr_buf_free(&body);
    return good && gr_buf_ok(message);
}
