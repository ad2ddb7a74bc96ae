/*
 * JSON lines. A name may be there in the last line alone, so a sketch reads all of the file: no column is missing from
 * a SELECT * because it comes late.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/file/format.h"
#include "data/file/json_record.h"
#include "data/file/lines.h"
#include "data/print/print.h"

/* ---- columns ---- */

/* Names, and whether they have values, or more than nulls. */
struct columns {
    struct gr_json_records records;
    bool has_value[GR_JSON_NAMES_MAX];
    bool has_more[GR_JSON_NAMES_MAX];
    bool has_members[GR_JSON_NAMES_MAX];
};

static granary_err
note_value(void *to, const struct gr_json_value *value)
{
    struct columns *columns = to;

    columns->has_value[value->name] = true;
    columns->has_more[value->name] = columns->has_more[value->name] || value->kind != GR_JSON_NULL;
    return GRANARY_OK;
}

static granary_err
tell_columns(struct columns *columns, struct gr_sketch *sketch)
{
    const struct gr_texts *names = &columns->records.names;
    granary_err err = GRANARY_OK;

    gr_json_mark_objects(names, columns->has_members);
    for (uint64_t i = 0; err == GRANARY_OK && i < names->count; i++) {
        size_t size;
        const char *text = gr_texts_at(names, i, &size);
        char *name = NULL;

        if (columns->has_value[i] && (columns->has_more[i] || !columns->has_members[i])) {
            name = strndup(text, size);
            err = name == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : sketch->column(sketch, name);
        }
        free(name);
    }
    return err;
}

static granary_err
read_lines(struct gr_lines *lines, struct columns *columns, struct gr_sketch *sketch)
{
    const char *line;
    bool is_record;
    size_t size;
    granary_err err = gr_lines_next(lines, &line, &size);

    while (err == GRANARY_OK && line != NULL) {
        err = gr_json_record(&columns->records, line, size, note_value, columns, &is_record);
        sketch->rows += is_record;
        err = err == GRANARY_OK ? gr_lines_next(lines, &line, &size) : err;
    }
    return err == GRANARY_EINVAL ? gr_fail_in(err, "%s:%llu", lines->path, (unsigned long long)lines->number) : err;
}

static granary_err
ndjson_sketch(const char *path, const char *delimiter, struct gr_sketch *sketch)
{
    struct columns *columns = calloc(1, sizeof *columns);
    struct gr_lines lines = {.fd = -1};
    granary_err err = columns == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : gr_lines_open_text(&lines, path);

    (void)delimiter;
    err = err == GRANARY_OK ? read_lines(&lines, columns, sketch) : err;
    if (err == GRANARY_OK) {
        err = columns->records.names.count == 0 ? gr_fail(GRANARY_EINVAL, "%s: no record with a value", path)
                                                : tell_columns(columns, sketch);
    }
    gr_lines_close(&lines);
    if (columns != NULL) {
        gr_json_records_free(&columns->records);
    }
    free(columns);
    return err;
}

const struct gr_format gr_format_ndjson = {
    .name = "ndjson",
    .what = "a file of JSON records",
    .endings = {{.text = ".ndjson"}, {.text = ".jsonl"}, {.text = ".json"}},
    .is_text = true,
    .sketch = ndjson_sketch,
    .print_frame = gr_print_json_lines,
};
