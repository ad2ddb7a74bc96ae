/*
 * A record is read twice: here into values that nobody keeps, and only if all of them fit into columns. What is listed has
 * the columns of GR_CSV_LIST (contract/ops/csv_list.h).
 */
#include "kernel/csv/csv_errors.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "contract/ops/csv_list.h"
#include "data/value/utf8.h"
#include "graph/schema.h"
#include "kernel/csv/csv_style.h"
#include "kernel/csv/find/csv_scan.h"

enum { TEXT_MOST = 64 << 10, SHOWN = 60, REASON = 256 };

enum csv_errors
csv_errors_of(const char *word)
{
    return strcmp(word, "skip") == 0   ? CSV_ERRORS_SKIP
           : strcmp(word, "list") == 0 ? CSV_ERRORS_LIST
                                       : CSV_ERRORS_REFUSE;
}

enum csv_trouble
csv_record_pass(struct csv_text *text, size_t fields, bool is_broken, size_t *ret_fields)
{
    struct csv_field field = {0};
    size_t count = 0;

    for (; !field.last; count++) {
        csv_field_next(text, &field);
        if (field.no_memory) {
            return CSV_NO_MEMORY;
        }
        if (field.unclosed) {
            const char *end = text->record;

            while (end < text->end && *end != '\n' && *end != '\r') {
                end++;
            }
            end += end < text->end && *end == '\r' && end[1] == '\n';
            text->at = end < text->end ? end + 1 : end; /* behind the line's end, as behind any record */
            return CSV_QUOTES;
        }
    }
    *ret_fields = count;
    if (is_broken && utf8_first_invalid(text->record, (size_t)(text->at - text->record)) != NULL) {
        return CSV_ENCODING;
    }
    return fields == 0 || count == fields || (count == fields + 1 && field.size == 0 && !field.quoted) ? CSV_FINE
                                                                                                       : CSV_FIELDS;
}

/* ---- what is listed ---- */

static const char *const list_names[] = {
#define COLUMN(name, dtype) #name,
    GR_CSV_LIST(COLUMN)
#undef COLUMN
};

enum { LIST_FILE, LIST_LINE, LIST_COLUMN, LIST_REASON, LIST_TEXT, LIST_COUNT };

struct csv_checks {
    struct csv_text *text;
    const char *name; /* of the file; borrowed, as the next two */
    const Granary__Attr *names;
    const Granary__Attr *wanted; /* columns of the list */
    bool lists;
    bool is_broken;
    size_t fields;
    struct csv_builder *values; /* by field; strings have none */
    const char *counted;        /* up to here lines are counted: */
    uint64_t line;
    struct csv_builder list[LIST_COUNT];
    int64_t listed;
    struct gr_buf clean; /* a text in UTF-8 */
};

/* A text without what is no character. 16 bytes before and behind it may be read. */
static struct csv_string
clean_text(struct csv_checks *checks, const char *bytes, size_t size)
{
    static const char pad[16] = "";
    const char *bad = utf8_first_invalid(bytes, size);

    checks->clean.size = 0;
    gr_buf_add(&checks->clean, pad, sizeof pad);
    while (bad != NULL) {
        gr_buf_add(&checks->clean, bytes, (size_t)(bad - bytes));
        gr_buf_add(&checks->clean, "\xef\xbf\xbd", 3);
        size -= (size_t)(bad + 1 - bytes);
        bytes = bad + 1;
        bad = utf8_first_invalid(bytes, size);
    }
    gr_buf_add(&checks->clean, bytes, size);
    gr_buf_add(&checks->clean, pad, sizeof pad);
    return gr_buf_ok(&checks->clean)
               ? (struct csv_string){checks->clean.bytes + sizeof pad, checks->clean.size - 2 * sizeof pad}
               : (struct csv_string){.bytes = NULL};
}

static granary_err
list_string(struct csv_checks *checks, int column, const char *bytes, size_t size)
{
    struct csv_string string = bytes == NULL ? (struct csv_string){.bytes = NULL} : clean_text(checks, bytes, size);

    if (bytes != NULL && string.bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a list of errors");
    }
    if (bytes == NULL) {
        csv_put_null(&checks->list[column], checks->listed);
    }
    return csv_strings_add(checks->list[column].strings, &string, 1);
}

/* The record from text->record to text->at does not fit, because of a column or (NULL) as a whole. */
static granary_err
list_record(struct csv_checks *checks, const char *column, const char *reason)
{
    const char *from = checks->text->record;
    const char *to = checks->text->at;
    granary_err err;

    if (!checks->lists) {
        return GRANARY_OK;
    }
    checks->line += csv_count_lines(checks->counted, (size_t)(from - checks->counted));
    checks->counted = from;
    ((int64_t *)checks->list[LIST_LINE].values)[checks->listed] = (int64_t)checks->line;
    while (to > from && (to[-1] == '\n' || to[-1] == '\r')) {
        to--;
    }
    err = list_string(checks, LIST_FILE, checks->name, strlen(checks->name));
    err = err == GRANARY_OK ? list_string(checks, LIST_COLUMN, column, column == NULL ? 0 : strlen(column)) : err;
    err = err == GRANARY_OK ? list_string(checks, LIST_REASON, reason, strlen(reason)) : err;
    err = err == GRANARY_OK
              ? list_string(checks, LIST_TEXT, from, to - from > TEXT_MOST ? TEXT_MOST : (size_t)(to - from))
              : err;
    checks->listed++;
    return err;
}

/* ---- checks ---- */

granary_err
csv_checks_create(const struct gr_chunk_csv_read *params, struct csv_text *text, struct csv_checks **ret)
{
    const Granary__Attr *dtypes = params->all_dtypes;
    size_t count = dtypes == NULL ? 0 : dtypes->n_strings;
    struct csv_checks *checks = calloc(1, sizeof *checks);
    granary_err err = GRANARY_OK;

    if (checks == NULL || (checks->values = calloc(count + 1, sizeof *checks->values)) == NULL) {
        csv_checks_destroy(checks);
        return gr_fail(GRANARY_ENOMEM, "no memory for %zu columns", count);
    }
    *ret = checks;
    checks->text = text;
    checks->name = params->name;
    checks->names = params->names;
    checks->wanted = params->columns;
    checks->lists = csv_errors_of(params->errors) == CSV_ERRORS_LIST;
    checks->is_broken = csv_text_not_utf8(text) != NULL;
    checks->fields = count;
    checks->counted = text->owned;
    checks->line = (uint64_t)params->line;
    if (count == 0 || params->names == NULL || params->names->n_strings != count) {
        return gr_fail(GRANARY_EINVAL, "names and dtypes of all columns do not fit");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        struct csv_builder *value = &checks->values[i];

        *value = (struct csv_builder){.name = params->names->strings[i], .position = i};
        if (!gr_csv_dtype_parse(dtypes->strings[i], &value->dtype) || gr_dtype_is_list(value->dtype)) {
            return gr_fail(GRANARY_EINVAL, "column '%s': no dtype '%s' in CSV files", value->name, dtypes->strings[i]);
        }
        err = value->dtype == GRANARY_STRING ? GRANARY_OK : csv_builder_init(value, CSV_BLOCK_ROWS, 0);
    }
    for (int i = 0; i < LIST_COUNT && checks->lists && err == GRANARY_OK; i++) {
        checks->list[i].name = list_names[i];
        checks->list[i].dtype = i == LIST_LINE ? GRANARY_INT64 : GRANARY_STRING;
        err = csv_builder_init(&checks->list[i], 1 + (int64_t)text->looks.line_ends, 0);
    }
    return err;
}

void
csv_checks_destroy(struct csv_checks *checks)
{
    if (checks != NULL) {
        for (size_t i = 0; i < checks->fields && checks->values != NULL; i++) {
            csv_builder_fini(&checks->values[i]);
        }
        for (int i = 0; i < LIST_COUNT; i++) {
            csv_builder_fini(&checks->list[i]);
        }
        gr_buf_free(&checks->clean);
        free(checks->values);
        free(checks);
    }
}

bool
csv_checks_block(struct csv_checks *checks, const struct csv_block *block)
{
    bool fits = !checks->is_broken;

    for (size_t i = 0; i < checks->fields && fits; i++) {
        const struct csv_builder *value = &checks->values[i];

        fits = value->dtype == GRANARY_STRING || csv_put_block(checks->text, value, block, 0);
    }
    return fits;
}

/* The column whose value does not fit; fields: that are there. Leaves text->at where it was. */
static const struct csv_builder *
find_misfit(const struct csv_checks *checks, struct csv_field *ret_field)
{
    struct csv_text *text = checks->text;
    const char *behind = text->at;
    const struct csv_builder *misfit = NULL;

    text->at = text->record;
    for (size_t i = 0; i < checks->fields && misfit == NULL; i++) {
        const struct csv_builder *value = &checks->values[i];

        csv_field_next(text, ret_field);
        if (value->dtype != GRANARY_STRING && !csv_is_null(text, ret_field->bytes, ret_field->size) &&
            !(text->style.is_other ? csv_style_put(&text->style, value, 0, ret_field->bytes, ret_field->size)
                                   : csv_put_value(value, 0, ret_field->bytes, ret_field->size))) {
            misfit = value;
        }
    }
    text->at = behind;
    return misfit;
}

granary_err
csv_checks_record(struct csv_checks *checks, bool *ret_fits)
{
    struct csv_field field = {0};
    const struct csv_builder *misfit;
    size_t count = 0;
    char reason[REASON];

    *ret_fits = false;
    switch (csv_record_pass(checks->text, checks->fields, checks->is_broken, &count)) {
    case CSV_NO_MEMORY:
        return gr_fail(GRANARY_ENOMEM, "%s: no memory for a field", checks->text->path);
    case CSV_QUOTES:
        return list_record(checks, NULL, CSV_QUOTES_OPEN);
    case CSV_ENCODING:
        return list_record(checks, NULL, "not UTF-8");
    case CSV_FIELDS:
        (void)snprintf(reason, sizeof reason, "%zu field%s, expected %zu", count, count == 1 ? "" : "s",
                       checks->fields);
        return list_record(checks, NULL, reason);
    case CSV_FINE:
        break;
    }
    misfit = find_misfit(checks, &field);
    *ret_fits = misfit == NULL;
    if (misfit == NULL) {
        return GRANARY_OK;
    }
    (void)snprintf(reason, sizeof reason, "'%.*s%s' is not %s", field.size > SHOWN ? SHOWN : (int)field.size,
                   field.bytes, field.size > SHOWN ? "..." : "", granary_dtype_name(misfit->dtype));
    return list_record(checks, misfit->name, reason);
}

granary_err
csv_checks_finish(struct csv_checks *checks, granary_frame **ret_frame)
{
    struct csv_builder chosen[LIST_COUNT] = {0};
    size_t count = 0;
    granary_err err;

    for (size_t w = 0; w < checks->wanted->n_strings; w++) {
        for (int i = 0; i < LIST_COUNT && count < LIST_COUNT; i++) {
            if (strcmp(list_names[i], checks->wanted->strings[w]) == 0 && checks->list[i].name != NULL) {
                chosen[count++] = checks->list[i];
                checks->list[i] = (struct csv_builder){.name = NULL};
            }
        }
    }
    err = csv_builders_finish(chosen, count, checks->listed, ret_frame);
    for (size_t i = 0; i < count; i++) {
        csv_builder_fini(&chosen[i]);
    }
    return err;
}
