#include "reference.h"

#include <stdlib.h>
#include <string.h>

#include "tile/file/csv_range.h"

uint32_t
reference_step(uint32_t state, char byte, char delimiter, bool *ret_ends)
{
    *ret_ends = false;
    if (state == 3) {
        return byte == '"' ? 4 : 3;
    }
    if (byte == '"') {
        return state == 2 ? 2 : 3;
    }
    if (byte == delimiter) {
        return 1;
    }
    if (byte == '\n' || byte == '\r') {
        *ret_ends = state == 1 || state == 2 || state == 4;
        return byte == '\n' ? 0 : 5;
    }
    return 2;
}

/* Where a record begins that did not begin before the block; -1: nowhere. */
static int64_t
first_record(const char *bytes, size_t size, char delimiter, uint32_t state)
{
    if (state == 0) {
        return 0;
    }
    if (state == 5) {
        return size > 0 && bytes[0] == '\n' ? 1 : 0;
    }
    for (size_t i = 0; i < size; i++) {
        bool ends;

        state = reference_step(state, bytes[i], delimiter, &ends);
        if (ends) {
            bool crlf = bytes[i] == '\r' && i + 1 < size && bytes[i + 1] == '\n';

            return (int64_t)i + (crlf ? 2 : 1);
        }
    }
    return -1;
}

static uint64_t
count_lines(const char *bytes, int64_t size)
{
    uint64_t lines = 0;

    for (int64_t i = 0; i < size; i++) {
        lines += bytes[i] == '\n';
    }
    return lines;
}

Granary__CsvSplit *
reference_split(const char *bytes, size_t size, char delimiter)
{
    Granary__CsvSplit *split = malloc(sizeof *split);

    granary__csv_split__init(split);
    split->n_end_state = split->n_first_record = split->n_records = split->n_first_lines = GR_CSV_STATES;
    split->end_state = calloc(GR_CSV_STATES, sizeof *split->end_state);
    split->first_record = calloc(GR_CSV_STATES, sizeof *split->first_record);
    split->records = calloc(GR_CSV_STATES, sizeof *split->records);
    split->first_lines = calloc(GR_CSV_STATES, sizeof *split->first_lines);
    split->n_lines = 1;
    split->lines = calloc(1, sizeof *split->lines);
    split->lines[0] = count_lines(bytes, (int64_t)size);
    for (uint32_t s = 0; s < GR_CSV_STATES; s++) {
        uint32_t state = s;

        for (size_t i = 0; i < size; i++) {
            bool ends;

            state = reference_step(state, bytes[i], delimiter, &ends);
            split->records[s] += ends;
        }
        split->end_state[s] = state;
        split->first_record[s] = first_record(bytes, size, delimiter, s);
        split->first_lines[s] = count_lines(bytes, split->first_record[s]);
    }
    return split;
}

static uint32_t
kind_of(const char *bytes, size_t size)
{
    if (size == 0) {
        return 1;
    }
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] < '0' || bytes[i] > '9') {
            return 64;
        }
    }
    return 4;
}

/* Reading in progress. */
struct reading {
    Granary__CsvTypes *types;
    bool header;
    uint64_t line;
    uint64_t record_line;
    uint64_t fields; /* in this record so far */
    char text[256];  /* of this field, without quotes */
    size_t text_size;
};

static void
end_field(struct reading *r)
{
    if (r->header) {
        ProtobufCBinaryData *name;

        r->types->names = realloc(r->types->names, (r->types->n_names + 1) * sizeof *r->types->names);
        name = &r->types->names[r->types->n_names++];
        name->len = r->text_size;
        name->data = malloc(r->text_size + 1);
        memcpy(name->data, r->text, r->text_size);
    } else if (r->types->records == 0 || r->fields < r->types->n_kinds) {
        if (r->fields >= r->types->n_kinds) {
            r->types->kinds = realloc(r->types->kinds, (r->fields + 1) * sizeof *r->types->kinds);
            r->types->kinds[r->types->n_kinds++] = 0;
        }
        r->types->kinds[r->fields] |= kind_of(r->text, r->text_size);
    }
    r->fields++;
    r->text_size = 0;
}

static void
end_record(struct reading *r)
{
    end_field(r);
    if (r->header) {
        r->header = false;
    } else {
        if (r->types->records == 0) {
            r->types->fields = r->fields;
            r->types->first_record_line = r->record_line;
        } else if (r->fields != r->types->fields && !r->types->ragged) {
            r->types->ragged = true;
            r->types->ragged_line = r->record_line;
            r->types->ragged_fields = r->fields;
        }
        r->types->records++;
    }
    r->fields = 0;
}

Granary__CsvTypes *
reference_types(const char *bytes, size_t size, char delimiter, bool header)
{
    struct reading r = {.types = malloc(sizeof *r.types), .header = header};
    uint32_t state = 0;

    granary__csv_types__init(r.types);
    for (size_t i = 0; i < size; i++) {
        uint32_t before = state;
        bool ends;

        if (before == 0 || before == 5) {
            r.record_line = r.line;
        }
        state = reference_step(state, bytes[i], delimiter, &ends);
        if (ends) {
            end_record(&r);
        } else if (bytes[i] == delimiter && before != 3) {
            end_field(&r);
        } else if ((state == 2 || (state == 3 && (before == 3 || before == 4))) && r.text_size < sizeof r.text) {
            r.text[r.text_size++] = bytes[i];
        }
        r.line += bytes[i] == '\n';
    }
    if (state == 1 || state == 2 || state == 4) {
        end_record(&r);
    } else if (state == 3) {
        r.types->error = strdup("quotes that do not end");
        r.types->error_line = r.record_line;
    }
    return r.types;
}
