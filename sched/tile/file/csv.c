/* The stages of a CSV file, each begun by the answers of the one before. */
#include "tile/file/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/ops/csv_list.h"
#include "data/file/guess.h"
#include "data/file/names.h"

static granary_err enter_known(struct gr_file *file);
static granary_err enter_ranges(struct gr_file *file);

/* ---- stages ---- */

/* Ask for the types of the ranges whose types are not there. */
static granary_err
enter_infer(struct gr_file *file)
{
    struct csv *csv = file->own;

    csv->stage = CSV_INFER;
    file->stage = "being looked at for types";
    file->jobs = 0;
    csv->job_ranges = calloc(csv->records.range_count, sizeof *csv->job_ranges);
    if (csv->job_ranges == NULL) {
        return tile_no_memory();
    }
    for (size_t r = 0; r < csv->records.range_count; r++) {
        if (csv->records.types[r] == NULL) {
            csv->job_ranges[file->jobs++] = r;
        }
    }
    file->waiting = file->jobs;
    file->asks = file->jobs > 0;
    return file->asks ? GRANARY_OK : enter_known(file);
}

/* Types that csv_split has told of the very bytes that are a range. */
static void
take_types(struct gr_file *file)
{
    struct csv *csv = file->own;
    size_t range = 0;

    for (size_t i = 0; i < csv->block_count; i++) {
        Granary__CsvSplit *split = csv->blocks[i].split;

        while (range < csv->records.range_count && csv->records.ranges[range].offset < split->types_offset) {
            range++;
        }
        if (split->types != NULL && range < csv->records.range_count && csv->records.types[range] == NULL &&
            csv->records.ranges[range].offset == split->types_offset &&
            csv->records.ranges[range].size == split->types_size) {
            csv->records.types[range] = split->types;
            split->types = NULL;
        }
    }
}

static granary_err
enter_split(struct gr_file *file)
{
    struct csv *csv = file->own;

    csv->stage = CSV_SPLIT;
    file->stage = "being cut at records";
    file->asks = csv->block_count > 0;
    file->jobs = file->waiting = csv->block_count;
    return file->asks ? GRANARY_OK : enter_ranges(file);
}

/* One range, or blocks to be split into ranges first. */
static granary_err
enter_first(struct gr_file *file)
{
    struct csv *csv = file->own;
    granary_err err;

    if (file->is_part && !csv->records.is_whole) {
        return csv_enter_seek(file);
    }
    if (file->file_bytes <= file->block_bytes) {
        csv->records.ranges = malloc(sizeof *csv->records.ranges);
        if (csv->records.ranges == NULL) {
            return tile_no_memory();
        }
        csv->records.ranges[0] = (struct gr_csv_range){.offset = 0, .size = file->file_bytes, .line = 1};
        csv->records.range_count = 1;
        csv->records.types = calloc(1, sizeof *csv->records.types);
        records_read_all(file);
        return csv->records.types == NULL ? tile_no_memory() : enter_infer(file);
    }
    err = csv_add_blocks(file, 0, file->file_bytes, false);
    return err == GRANARY_OK ? enter_split(file) : err;
}

/* What the user has not said is what was found. */
static void
use_sniffed(struct csv *csv)
{
    const struct gr_sniffed *sniffed = &csv->sniffed;
    struct gr_dialect *dialect = &csv->dialect;

    bool is_default = strcmp(dialect->delimiter, ",") == 0 || (sniffed->lines && strcmp(dialect->delimiter, "\t") == 0);

    dialect->delimiter = is_default ? sniffed->delimiter : dialect->delimiter; /* the tab is of a name's ending */
    dialect->quote = strcmp(dialect->quote, "\"") == 0 ? sniffed->quote : dialect->quote;
    dialect->escape = dialect->escape[0] == '\0' ? sniffed->escape : dialect->escape;
    dialect->comment = dialect->comment[0] == '\0' ? sniffed->comment : dialect->comment;
    dialect->skip = dialect->skip == 0 ? sniffed->skip : dialect->skip;
    dialect->comment_anywhere = dialect->comment_anywhere || sniffed->comment_anywhere;
    dialect->skip_spaces = dialect->skip_spaces || sniffed->skip_spaces;
    if (strcmp(csv->decimal, ".") == 0 && csv->thousands[0] == '\0') {
        csv->decimal = sniffed->decimal;
        csv->thousands = sniffed->thousands;
    }
}

static granary_err
find_dialect(struct gr_file *file)
{
    const struct gr_params_read_csv *params = GR_NODE_PARAMS(read_csv, file->node);
    const Granary__Attr *nulls = params->null_values;
    struct csv *csv = file->own;
    granary_err err = GRANARY_OK;

    csv->decimal = params->decimal;
    csv->thousands = params->thousands;
    csv->dialect = (struct gr_dialect){.delimiter = params->delimiter,
                                       .quote = params->quote,
                                       .escape = params->escape,
                                       .comment = params->comment,
                                       .encoding = params->encoding,
                                       .skip = params->skip,
                                       .skip_spaces = params->skip_spaces,
                                       .comment_anywhere = params->comment_anywhere,
                                       .tolerates = strcmp(params->errors, "refuse") != 0,
                                       .ragged = gr_ragged_of(params->ragged),
                                       .null = nulls != NULL && nulls->n_strings > 0 ? nulls->strings[0] : ""};
    if (params->sniff) {
        enum gr_sniff how = csv->dialect.tolerates                                     ? GR_SNIFF_LOOSE
                            : file->of_many || csv->dialect.ragged != GR_RAGGED_REFUSE ? GR_SNIFF_TABLE
                                                                                       : GR_SNIFF_ANY;

        err = gr_sniff(file->path, params->encoding, how, &csv->sniffed);
        if (err == GRANARY_OK) {
            use_sniffed(csv);
        }
    }
    err = err == GRANARY_OK ? gr_dialect_check(&csv->dialect) : err;
    csv->delimiter[0] = err == GRANARY_OK ? gr_dialect_delimiter(&csv->dialect) : ',';
    return err;
}

/* As it is said, or as a sketch of the file finds it (data/file/csv.c). What is wrong is said when all of it is looked at. */
static void
find_header(struct gr_file *file)
{
    const struct gr_params_read_csv *params = GR_NODE_PARAMS(read_csv, file->node);
    struct csv *csv = file->own;
    struct gr_header_style style = {.delimiter = csv->delimiter[0],
                                    .decimal = csv->decimal[0],
                                    .thousands = csv->thousands[0],
                                    .nulls = params->null_values == NULL ? NULL : params->null_values->strings,
                                    .null_count = params->null_values == NULL ? 0 : params->null_values->n_strings};

    size_t fields = 0;

    csv->guessed = params->header == NULL;
    csv->tolerates = strcmp(params->errors, "refuse") != 0;
    csv->lists = strcmp(params->errors, "list") == 0;
    if (csv->guessed || csv->tolerates) {
        (void)gr_header_of_file(file->path, &csv->dialect, &style, &csv->header, &fields);
    }
    if (params->header != NULL) {
        csv->header = params->header->ints[0] != 0;
    }
    csv->fields = (int64_t)fields;
}

static granary_err
csv_look(struct gr_file *file, int fd)
{
    struct csv *csv = file->own = calloc(1, sizeof *csv);
    bool must_unpack = false;
    granary_err err;

    if (csv == NULL) {
        return tile_no_memory();
    }
    err = find_dialect(file);
    if (err == GRANARY_OK) {
        find_header(file);
    }
    csv->records.is_whole = csv->tolerates; /* what is left out of a part may reach beyond it */
    err = err == GRANARY_OK ? records_look_packed(file, fd, !gr_dialect_is_plain(&csv->dialect), &must_unpack) : err;
    if (err == GRANARY_OK && gr_dialect_is_plain(&csv->dialect)) {
        err = csv_find_known(file);
    }
    if (err == GRANARY_OK && file->is_part && !must_unpack) {
        err = csv_find_text(file, fd);
    }
    return err == GRANARY_OK && !must_unpack ? enter_first(file) : err; /* CSV_UNPACK is the first stage */
}

static void
blocks_free(struct csv *csv)
{
    for (size_t i = 0; i < csv->block_count; i++) {
        granary__csv_split__free_unpacked(csv->blocks[i].split, NULL);
    }
    free(csv->blocks);
    csv->blocks = NULL;
    csv->block_count = 0;
}

static void
csv_free(struct gr_file *file)
{
    struct csv *csv = file->own;

    blocks_free(csv);
    granary__csv_split__free_unpacked(csv->head, NULL);
    records_fini(&csv->records);
    gr_texts_free(&csv->names);
    gr_schema_free(&csv->all);
    free(csv->job_ranges);
    free(csv->known);
    free(csv);
}

/* ---- answers ---- */

static granary_err
wrong_fields(const struct gr_file *file, size_t range, uint64_t line, uint64_t fields, uint64_t expected)
{
    return records_fail(file, range, line,
                        "record has %" PRIu64 " field%s, expected %" PRIu64
                        "; `ragged` fills or cuts it, or " GR_CSV_REMEDY,
                        fields, fields == 1 ? "" : "s", expected);
}

/* Errors are left out: where nine of ten values or more are alike, the others are errors. */
static uint32_t
tolerated_kinds(const struct csv *csv, size_t column, uint32_t kinds)
{
    enum { ALIKE = 5 }; /* as csv_infer counts them */
    static const uint32_t alike[ALIKE] = {GR_KIND_INT64 | GR_KIND_WIDE | GR_KIND_FLOAT64,
                                          GR_KIND_DATE | GR_KIND_TIMESTAMP | GR_KIND_TIMESTAMPTZ, GR_KIND_TIME,
                                          GR_KIND_BOOL, GR_KIND_STRING};
    uint64_t counts[ALIKE] = {0};
    uint64_t all = 0;

    for (size_t r = 0; r < csv->records.range_count; r++) {
        const Granary__CsvTypes *types = csv->records.types[r];

        for (size_t k = 0; k < ALIKE && ALIKE * (column + 1) <= types->n_counts; k++) {
            counts[k] += types->counts[ALIKE * column + k];
            all += types->counts[ALIKE * column + k];
        }
    }
    for (size_t k = 0; k < ALIKE; k++) {
        if (all > 0 && counts[k] >= all - all / 10) {
            return kinds & (alike[k] | GR_KIND_NULL);
        }
    }
    return kinds;
}

static uint32_t
joined_kinds(const struct gr_file *file, size_t column)
{
    const struct csv *csv = file->own;
    uint32_t kinds = 0;

    for (size_t r = 0; r < csv->records.range_count; r++) {
        kinds |= column < csv->records.types[r]->n_kinds ? csv->records.types[r]->kinds[column] : 0;
    }
    return csv->tolerates ? tolerated_kinds(csv, column, kinds) : kinds;
}

/*
 * How many fields each record must have: as many as the header, or as the first record. A delimiter behind each record and
 * none behind the header makes a field more, which is empty in all of them.
 */
static uint64_t
find_fields(const struct gr_file *file)
{
    const struct csv *csv = file->own;
    const struct records *records = &csv->records;
    uint64_t names = records->types[0]->n_names;
    size_t r = 0;

    if (csv->tolerates) {
        return names > 0 ? names : (uint64_t)csv->fields;
    }
    while (r + 1 < records->range_count && records->types[r]->records == 0) {
        r++;
    }
    if (names == 0) {
        return records->types[r]->fields;
    }
    return records->types[r]->fields == names + 1 && (joined_kinds(file, names) & ~(uint32_t)GR_KIND_NULL) == 0
               ? names + 1
               : names;
}

/* The range's records against the number of fields all must have. */
static granary_err
check_range(const struct gr_file *file, size_t range, uint64_t fields)
{
    const struct csv *csv = file->own;
    const Granary__CsvTypes *types = csv->records.types[range];
    uint64_t line = csv->records.ranges[range].line;
    bool has_error = types->error[0] != '\0';

    if (csv->tolerates) {
        return has_error ? records_fail(file, range, line + types->error_line, "%s", types->error) : GRANARY_OK;
    }
    if (types->fields != 0 && types->fields != fields && (types->records > 0 || types->ragged) &&
        !(has_error && types->error_line < types->first_record_line)) {
        return wrong_fields(file, range, line + types->first_record_line, types->fields, fields);
    }
    if (types->ragged && !(has_error && types->error_line < types->ragged_line)) {
        return wrong_fields(file, range, line + types->ragged_line, types->ragged_fields, fields);
    }
    if (has_error) {
        return records_fail(file, range, line + types->error_line, "%s", types->error);
    }
    if (types->fields != 0 && types->n_kinds != fields) {
        return gr_fail(GRANARY_EPROTO, "csv_infer: kinds of %zu columns instead of %" PRIu64, types->n_kinds, fields);
    }
    return GRANARY_OK;
}

static granary_err
add_column(struct gr_file *file, size_t column)
{
    struct csv *csv = file->own;
    const Granary__CsvTypes *first = csv->records.types[0];
    char *name = NULL;
    granary_err err = GRANARY_OK;

    err = gr_column_name(&csv->names, column, csv->header ? (const char *)first->names[column].data : "",
                         csv->header ? first->names[column].len : 0, &name);
    if (err != GRANARY_OK) {
        return err;
    }
    err = records_add_column(file, name, joined_kinds(file, column));
    free(name);
    return err;
}

/* What is read are errors; columns are only known to be checked. */
static granary_err
show_list(struct gr_file *file)
{
    struct csv *csv = file->own;
    granary_err err = GRANARY_OK;

    csv->all = file->type.schema;
    file->type.schema = (struct gr_schema){.count = 0};
#define COLUMN(name, dtype)                                                                                            \
    err = err == GRANARY_OK                                                                                            \
              ? records_add_column(file, #name, GRANARY_##dtype == GRANARY_INT64 ? GR_KIND_INT64 : GR_KIND_STRING)     \
              : err;
    GR_CSV_LIST(COLUMN)
#undef COLUMN
    return err;
}

static granary_err
enter_known(struct gr_file *file)
{
    struct csv *csv = file->own;
    uint64_t fields = find_fields(file);
    granary_err err = GRANARY_OK;

    csv->fields = (int64_t)fields;
    for (size_t r = 0; r < csv->records.range_count && err == GRANARY_OK; r++) {
        err = check_range(file, r, fields);
    }
    if (csv->header && csv->records.types[0]->n_names > 0) {
        fields = csv->records.types[0]->n_names;
    }
    if (err == GRANARY_OK && csv->header && csv->records.types[0]->n_names == 0) {
        err = gr_fail(GRANARY_EINVAL, "node '%s': %s: empty: no header", file->node->name, file->name);
    }
    if (err == GRANARY_OK && fields == 0 && csv->guessed) {
        csv->fields = fields = 1; /* an empty file: a column without rows */
    }
    if (err == GRANARY_OK && fields == 0) {
        err = gr_fail(GRANARY_EINVAL, "node '%s': %s: empty: no record", file->node->name, file->name);
    }
    if (err == GRANARY_OK && fields > RECORDS_COLUMNS_MAX) {
        err = records_fail(file, 0, 1, "%" PRIu64 " columns; at most %d can be read", fields, RECORDS_COLUMNS_MAX);
    }
    for (size_t c = 0; c < fields && err == GRANARY_OK; c++) {
        err = add_column(file, c);
    }
    err = err == GRANARY_OK ? records_settle(file) : err;
    return err == GRANARY_OK && csv->lists ? show_list(file) : err;
}

/* The range with which the column became a string; range_count: it has not. */
static size_t
range_of_text(const struct gr_file *file, size_t column)
{
    const struct csv *csv = file->own;
    uint32_t kinds = 0;
    size_t r = 0;

    for (; r < csv->records.range_count; r++) {
        kinds |= column < csv->records.types[r]->n_kinds ? csv->records.types[r]->kinds[column] : 0;
        if (gr_kinds_are_text(kinds)) {
            break;
        }
    }
    return r;
}

static bool
csv_tell_odd(const struct gr_file *file, size_t column, struct gr_buf *out)
{
    const struct records *records = file->own;
    size_t r =
        file->type.schema.fields[column].dtype == GRANARY_STRING ? range_of_text(file, column) : records->range_count;
    const Granary__CsvTypes *types = r == records->range_count ? NULL : records->types[r];

    for (size_t i = 0; types != NULL && i < types->n_odd; i++) {
        const Granary__CsvOdd *odd = types->odd[i];

        if (odd->column == column) {
            records_place(file, r, records->ranges[r].line + odd->line, out);
            gr_buf_addf(out, ": '%.*s' makes column '%s' a string", (int)odd->value.len, (const char *)odd->value.data,
                        file->type.schema.fields[column].name);
            return true;
        }
    }
    return false;
}

/* All blocks were told. */
static granary_err
enter_ranges(struct gr_file *file)
{
    struct csv *csv = file->own;
    struct records *records = &csv->records;
    int64_t wrong = -1;
    granary_err err = GRANARY_OK;

    if (csv->block_count > 0) {
        err = gr_csv_ranges(csv->blocks, csv->block_count, file->file_bytes, &records->ranges, &records->range_count,
                            &wrong);
    }
    if (err == GRANARY_OK && wrong >= 0) {
        err = csv_misplaced(file, wrong);
    }
    if (err == GRANARY_OK && file->is_part && !records->is_whole) {
        err = csv_choose_ranges(file);
    } else if (err == GRANARY_OK) {
        records->types = calloc(records->range_count, sizeof *records->types);
        err = records->types == NULL ? tile_no_memory() : GRANARY_OK;
        records_read_all(file);
    }
    if (err == GRANARY_OK) {
        take_types(file);
    }
    blocks_free(csv);
    return err == GRANARY_OK ? enter_infer(file) : err;
}

granary_err
csv_take_split(const ProtobufCBinaryData *answer, int64_t size, Granary__CsvSplit **ret_split)
{
    Granary__CsvSplit *split;
    granary_err err;

    errno = 0;
    split = granary__csv_split__unpack(NULL, answer->len, answer->data);
    err = split == NULL ? records_unreadable("csv_split") : gr_csv_split_check(split, size);
    if (err != GRANARY_OK) {
        granary__csv_split__free_unpacked(split, NULL);
        return err;
    }
    *ret_split = split;
    return GRANARY_OK;
}

static granary_err
feed_split(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer)
{
    struct csv *csv = file->own;
    granary_err err;

    if (csv->blocks[job].split != NULL) {
        return GRANARY_OK;
    }
    err = csv_take_split(answer, csv->blocks[job].size, &csv->blocks[job].split);
    return err == GRANARY_OK && --file->waiting == 0 ? enter_ranges(file) : err;
}

static granary_err
feed_seek(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer)
{
    bool done = false;
    granary_err err = csv_feed_seek(file, job, answer, &done);

    return err == GRANARY_OK && done ? enter_split(file) : err;
}

static granary_err
csv_feed(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer)
{
    const struct csv *csv = file->own;
    granary_err err;

    if (csv->stage == CSV_UNPACK) {
        err = records_take_pieces(file, answer);
        records_read_all(file);
        return err == GRANARY_OK ? enter_infer(file) : err;
    }
    if (csv->stage == CSV_SEEK) {
        return feed_seek(file, job, answer);
    }
    if (csv->stage == CSV_SPLIT) {
        return feed_split(file, job, answer);
    }
    err = records_take(file, "csv_infer", csv->job_ranges[job], answer);
    return err == GRANARY_OK && file->waiting == 0 ? enter_known(file) : err;
}

const struct gr_source gr_source_csv = {.look = csv_look,
                                        .tile = csv_tile,
                                        .start = csv_start,
                                        .feed = csv_feed,
                                        .tell_odd = csv_tell_odd,
                                        .free_own = csv_free};
