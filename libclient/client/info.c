/* What the scheduler knows, as tables. */
#include "granary/info.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/text/duration.h"
#include "client/user/call.h"
#include "object/object.h"

/* A request that waits is renewed so often: a scheduler need not keep what nobody waits for any more. */
#define RENEW_MS 20000

struct granary_table {
    Granary__Reply *reply;
    const Granary__Table *table;
};

/* A protobuf string is not const, but packing only reads it. */
static char *
borrow(const char *text)
{
    return (char *)(uintptr_t)text;
}

static granary_err
check_query(const granary_query *query)
{
    if (query->subject == NULL) {
        return gr_fail(GRANARY_EINVAL, "info: no subject is given");
    }
    for (size_t i = 0; query->keys != NULL && i < query->key_count; i++) {
        if (query->keys[i] == NULL) {
            return gr_fail(GRANARY_EINVAL, "info: key %zu is NULL", i);
        }
    }
    for (size_t i = 0; query->fields != NULL && i < query->field_count; i++) {
        if (query->fields[i] == NULL) {
            return gr_fail(GRANARY_EINVAL, "info: field %zu is NULL", i);
        }
    }
    return gr_timeout_check(query->timeout_ms);
}

/* Whether every row has as many cells as there are fields, of a known kind. */
static bool
is_whole(const Granary__Table *table)
{
    for (size_t i = 0; i < table->n_rows; i++) {
        if (table->rows[i]->n_cells != table->n_fields) {
            return false;
        }
    }
    return true;
}

/* One request; a timeout of 0 does not wait. */
static granary_err
ask(granary_client *client, Granary__Info *info, int timeout_ms, Granary__Reply **ret_reply)
{
    Granary__Request request = GRANARY__REQUEST__INIT;

    info->timeout_ms = timeout_ms;
    request.body_case = GRANARY__REQUEST__BODY_INFO;
    request.info = info;
    return call(client, &request, timeout_ms + CALL_TIMEOUT_MS, ret_reply);
}

granary_err
granary_info_sized(granary_client *client, const granary_query *theirs, granary_table **ret_table, size_t query_size)
{
    granary_query query;
    Granary__Info info = GRANARY__INFO__INIT;
    granary_table *table = NULL;
    int64_t deadline_ns;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK) {
        err = gr_sized_take(&query, sizeof query, theirs, query_size);
    }
    if (err == GRANARY_OK) {
        err = check_query(&query);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    table = calloc(1, sizeof *table);
    if (table == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    info.subject = borrow(query.subject);
    info.keys = (char **)(uintptr_t)query.keys;
    info.n_keys = query.keys == NULL ? 0 : query.key_count;
    info.fields = (char **)(uintptr_t)query.fields;
    info.n_fields = query.fields == NULL ? 0 : query.field_count;
    info.cursor = query.cursor;
    info.limit = query.limit;
    info.ignore_missing = query.ignore_missing;
    info.since_version = query.since_version;
    deadline_ns = gr_deadline_ns(query.timeout_ms);
    for (;;) {
        int left = query.since_version == 0 ? 0 : gr_left_ms(deadline_ns);
        bool renew = left < 0 || left > RENEW_MS;

        err = ask(client, &info, renew ? RENEW_MS : left, &table->reply);
        /* An answer says so itself; no answer at all is not to be asked for again. */
        if (err != GRANARY_ETIMEDOUT || table->reply == NULL || !renew) {
            break;
        }
        granary__reply__free_unpacked(table->reply, NULL);
        table->reply = NULL;
    }
    if (err == GRANARY_OK && (table->reply->table == NULL || !is_whole(table->reply->table))) {
        err = gr_fail(GRANARY_EPROTO, "the scheduler answers without a table");
    }
    if (err != GRANARY_OK) {
        granary_table_free(table);
        return err;
    }
    table->table = table->reply->table;
    *ret_table = table;
    return GRANARY_OK;
}

void
granary_table_free(granary_table *table)
{
    if (table != NULL) {
        if (table->reply != NULL) {
            granary__reply__free_unpacked(table->reply, NULL);
        }
        free(table);
    }
}

/* ---- reading a table ---- */

size_t
granary_table_rows(const granary_table *table)
{
    return table == NULL ? 0 : table->table->n_rows;
}

size_t
granary_table_fields(const granary_table *table)
{
    return table == NULL ? 0 : table->table->n_fields;
}

const char *
granary_table_field(const granary_table *table, size_t field)
{
    return field < granary_table_fields(table) ? table->table->fields[field] : "";
}

uint64_t
granary_table_cursor(const granary_table *table)
{
    return table == NULL ? 0 : table->table->cursor;
}

uint64_t
granary_table_version(const granary_table *table)
{
    return table == NULL ? 0 : table->table->version;
}

granary_cell_value
granary_table_cell(const granary_table *table, size_t row, size_t field)
{
    granary_cell_value value = {.kind = GRANARY_CELL_TEXT, .text = ""};
    const Granary__Cell *cell;

    if (row >= granary_table_rows(table) || field >= granary_table_fields(table)) {
        return value;
    }
    cell = table->table->rows[row]->cells[field];
    switch (cell->value_case) {
    case GRANARY__CELL__VALUE_INT:
        value.kind = GRANARY_CELL_INT;
        value.integer = cell->int_;
        value.real = (double)cell->int_;
        break;
    case GRANARY__CELL__VALUE_REAL:
        value.kind = GRANARY_CELL_REAL;
        value.real = cell->real;
        value.integer = cell->real > -9e18 && cell->real < 9e18 ? (int64_t)cell->real : 0;
        break;
    case GRANARY__CELL__VALUE_TEXT:
        value.text = cell->text;
        break;
    default:
        break;
    }
    return value;
}

static granary_cell_value
named(const granary_table *table, size_t row, const char *field)
{
    size_t position = 0;

    while (position < granary_table_fields(table) && strcmp(table->table->fields[position], field) != 0) {
        position++;
    }
    return granary_table_cell(table, row, position);
}

int64_t
granary_table_int(const granary_table *table, size_t row, const char *field)
{
    return named(table, row, field).integer;
}

double
granary_table_real(const granary_table *table, size_t row, const char *field)
{
    return named(table, row, field).real;
}

const char *
granary_table_text(const granary_table *table, size_t row, const char *field)
{
    return named(table, row, field).text;
}

/* ---- what follows from tables ---- */

/* The first field of each subject, its key: asking for that alone is cheapest. */
static const char *
key_of(const char *subject)
{
    static const struct {
        const char *subject, *field;
    } fields[] = {
#define SUBJECT(name, text)
#define FIELD(subject, name, kind, text) {#subject, #name},
#include "contract/subjects.def"
#undef SUBJECT
#undef FIELD
    };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].subject, subject) == 0) {
            return fields[i].field;
        }
    }
    return NULL;
}

granary_err
granary_count(granary_client *client, const char *subject, uint64_t *ret_count)
{
    const char *field = subject == NULL ? NULL : key_of(subject);
    granary_query query = {.subject = subject, .fields = &field, .field_count = field != NULL, .limit = 65536};
    uint64_t count = 0;
    granary_err err;

    do {
        granary_table *table = NULL;

        err = granary_info(client, &query, &table);
        count += granary_table_rows(table);
        query.cursor = granary_table_cursor(table);
        granary_table_free(table);
    } while (err == GRANARY_OK && query.cursor != 0);
    if (err == GRANARY_OK) {
        *ret_count = count;
    }
    return err;
}

granary_err
granary_why(granary_client *client, const char *subject, char **ret_text)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Why why = GRANARY__WHY__INIT;
    Granary__Reply *reply = NULL;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK && subject == NULL) {
        err = gr_fail(GRANARY_EINVAL, "why: no subject is given");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    why.subject = borrow(subject);
    request.body_case = GRANARY__REQUEST__BODY_WHY;
    request.why = &why;
    err = call(client, &request, CALL_TIMEOUT_MS, &reply);
    if (err == GRANARY_OK) {
        *ret_text = strdup(reply->text);
        err = *ret_text == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    if (reply != NULL) {
        granary__reply__free_unpacked(reply, NULL);
    }
    return err;
}
