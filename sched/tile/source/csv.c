/* The stages of a CSV file, each begun by the answers of the one before. */
#include "tile/source/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

#define MIB ((int64_t)1 << 20)

/* Automatic chunks: four a slot so that slots stay even, within these, and small beside the store. */
#define CHUNK_MIN       MIB
#define CHUNK_MAX       (32 * MIB)
#define CHUNK_LEAST     (64 * 1024)
#define MEMORY_PARTS    16
#define CHUNKS_PER_SLOT 4
#define BLOCKS_MAX      65536 /* smaller chunks than this allows are made larger */

/* Work on a schema grows with the square of its columns, and the scheduler serves nobody else meanwhile. */
#define COLUMNS_MAX 16384

static granary_err
no_memory(const struct gr_csv *csv)
{
    return gr_fail(GRANARY_ENOMEM, "node '%s' (read_csv): out of memory", csv->node->name);
}

static granary_err enter_ready(struct gr_csv *csv);

/* ---- the file ---- */

int64_t
gr_csv_block(int64_t file_bytes, const struct gr_csv_options *options)
{
    int64_t block = options->chunk_bytes;

    if (block <= 0) {
        block = file_bytes / (CHUNKS_PER_SLOT * (options->slots > 0 ? options->slots : 1));
        block = block < CHUNK_MIN ? CHUNK_MIN : block > CHUNK_MAX ? CHUNK_MAX : block;
        if (options->memory_bytes > 0 && (uint64_t)block > options->memory_bytes / MEMORY_PARTS) {
            block = (int64_t)(options->memory_bytes / MEMORY_PARTS);
            block = block < CHUNK_LEAST ? CHUNK_LEAST : block;
        }
    }
    return block > file_bytes / BLOCKS_MAX ? block : file_bytes / BLOCKS_MAX + 1;
}

/* Open for a moment: whether it can be read shows now, not in an executor. */
static granary_err
look_at_file(struct gr_csv *csv)
{
    struct stat info;
    granary_err err = GRANARY_OK;
    /* O_NONBLOCK: a pipe without a writer must not hold us up */
    int fd = open(csv->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 || fstat(fd, &info) < 0) {
        err = gr_fail_errno("%s", csv->path);
    } else if (S_ISDIR(info.st_mode)) {
        err = gr_fail(GRANARY_EINVAL, "%s: is a directory; give a CSV file", csv->path);
    } else if (!S_ISREG(info.st_mode)) {
        err = gr_fail(GRANARY_EINVAL, "%s: is no regular file; give a CSV file", csv->path);
    } else if (info.st_size == 0) {
        err = gr_fail(GRANARY_EINVAL, "%s: empty: no header", csv->path);
    } else {
        csv->file_bytes = info.st_size;
        csv->modified_ns = info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        err = gr_csv_find_known(csv, fd);
    }
    gr_fd_close(&fd);
    return err == GRANARY_OK ? err : gr_fail_in(err, "node '%s' (read_csv)", csv->node->name);
}

char *
gr_absolute_path(const char *directory, const char *name)
{
    char *path = NULL;

    if (name[0] == '/' || directory == NULL || directory[0] == '\0') {
        return strdup(name);
    }
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* Ask for the types of the ranges whose types are not there. */
static granary_err
enter_infer(struct gr_csv *csv)
{
    csv->stage = GR_CSV_INFER;
    csv->jobs = 0;
    csv->job_ranges = calloc(csv->range_count, sizeof *csv->job_ranges);
    if (csv->job_ranges == NULL) {
        return no_memory(csv);
    }
    for (size_t r = 0; r < csv->range_count; r++) {
        if (csv->types[r] == NULL) {
            csv->job_ranges[csv->jobs++] = r;
        }
    }
    csv->waiting = csv->jobs;
    return csv->jobs > 0 ? GRANARY_OK : enter_ready(csv);
}

/* Types that csv_split has told of the very bytes that are a range. */
static void
take_types(struct gr_csv *csv)
{
    size_t range = 0;

    for (size_t i = 0; i < csv->jobs; i++) {
        Granary__CsvSplit *split = csv->splits[i];

        while (range < csv->range_count && csv->ranges[range].offset < split->types_offset) {
            range++;
        }
        if (split->types != NULL && range < csv->range_count && csv->types[range] == NULL &&
            csv->ranges[range].offset == split->types_offset && csv->ranges[range].size == split->types_size) {
            csv->types[range] = split->types;
            split->types = NULL;
        }
    }
}

/* One range, or blocks to be split into ranges first. */
static granary_err
enter_first(struct gr_csv *csv)
{
    if (csv->file_bytes <= csv->block_bytes) {
        csv->ranges = malloc(sizeof *csv->ranges);
        if (csv->ranges == NULL) {
            return no_memory(csv);
        }
        csv->ranges[0] = (struct gr_csv_range){.offset = 0, .size = csv->file_bytes, .line = 1};
        csv->range_count = 1;
        csv->types = calloc(1, sizeof *csv->types);
        return csv->types == NULL ? no_memory(csv) : enter_infer(csv);
    }
    csv->stage = GR_CSV_SPLIT;
    csv->jobs = csv->waiting = (size_t)((csv->file_bytes + csv->block_bytes - 1) / csv->block_bytes);
    csv->splits = calloc(csv->jobs, sizeof *csv->splits);
    return csv->splits == NULL ? no_memory(csv) : GRANARY_OK;
}

granary_err
gr_csv_create(const Granary__Node *node, const struct gr_csv_options *options, struct gr_csv **ret_csv)
{
    struct gr_csv *csv = calloc(1, sizeof *csv);
    granary_err err;

    if (csv == NULL) {
        return gr_fail(GRANARY_ENOMEM, "node '%s' (read_csv): out of memory", node->name);
    }
    csv->node = node;
    csv->name = gr_attr_string(node->attrs, node->n_attrs, "path", "");
    csv->delimiter = gr_attr_string(node->attrs, node->n_attrs, "delimiter", ",");
    csv->header = gr_attr_bool(node->attrs, node->n_attrs, "header", true);
    csv->path = gr_absolute_path(options->directory, csv->name);
    err = csv->path == NULL ? no_memory(csv) : look_at_file(csv);
    if (err == GRANARY_OK) {
        csv->block_bytes = gr_csv_block(csv->file_bytes, options);
        err = enter_first(csv);
    }
    if (err != GRANARY_OK) {
        gr_csv_destroy(csv);
        return err;
    }
    *ret_csv = csv;
    return GRANARY_OK;
}

static void
splits_free(struct gr_csv *csv)
{
    for (size_t i = 0; csv->splits != NULL && i < csv->jobs; i++) {
        granary__csv_split__free_unpacked(csv->splits[i], NULL);
    }
    free(csv->splits);
    csv->splits = NULL;
}

void
gr_csv_destroy(struct gr_csv *csv)
{
    if (csv == NULL) {
        return;
    }
    splits_free(csv);
    for (size_t i = 0; csv->types != NULL && i < csv->range_count; i++) {
        granary__csv_types__free_unpacked(csv->types[i], NULL);
    }
    free(csv->types);
    free(csv->job_ranges);
    free(csv->known);
    free(csv->ranges);
    free(csv->path);
    gr_schema_free(&csv->schema);
    free(csv);
}

/* ---- answers ---- */

static granary_err
file_error(const struct gr_csv *csv, uint64_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));

static granary_err
file_error(const struct gr_csv *csv, uint64_t line, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return gr_fail(GRANARY_EINVAL, "node '%s': %s:%" PRIu64 ": %s", csv->node->name, csv->name, line, text);
}

static granary_err
wrong_fields(const struct gr_csv *csv, uint64_t line, uint64_t fields, uint64_t expected)
{
    return file_error(csv, line, "record has %" PRIu64 " field%s, expected %" PRIu64, fields, fields == 1 ? "" : "s",
                      expected);
}

/* The range's records against the number of fields all must have (0: not known yet, then it is learnt here). */
static granary_err
check_range(const struct gr_csv *csv, size_t range, uint64_t *fields)
{
    const Granary__CsvTypes *types = csv->types[range];
    uint64_t line = csv->ranges[range].line;
    bool has_error = types->error[0] != '\0';

    if (*fields == 0) {
        *fields = types->n_names > 0 ? types->n_names : types->fields;
    }
    if (types->fields != 0 && types->fields != *fields &&
        !(has_error && types->error_line < types->first_record_line)) {
        return wrong_fields(csv, line + types->first_record_line, types->fields, *fields);
    }
    if (types->ragged && !(has_error && types->error_line < types->ragged_line)) {
        return wrong_fields(csv, line + types->ragged_line, types->ragged_fields, *fields);
    }
    if (has_error) {
        return file_error(csv, line + types->error_line, "%s", types->error);
    }
    if (types->fields != 0 && types->n_kinds != *fields) {
        return gr_fail(GRANARY_EPROTO, "node '%s' (read_csv): csv_infer: kinds of %zu columns instead of %" PRIu64,
                       csv->node->name, types->n_kinds, *fields);
    }
    return GRANARY_OK;
}

/* What the user says about dtypes wins over what was seen. */
static granary_err
override_dtypes(struct gr_csv *csv)
{
    const Granary__Attr *dtypes = gr_attr_find(csv->node->attrs, csv->node->n_attrs, "dtypes");
    granary_err err = GRANARY_OK;

    for (size_t i = 0; dtypes != NULL && i < dtypes->n_keys && err == GRANARY_OK; i++) {
        int at = gr_schema_find(&csv->schema, dtypes->keys[i]);
        granary_dtype dtype;

        if (at < 0) {
            err = gr_schema_no_column(&csv->schema, dtypes->keys[i]);
        } else if (!gr_csv_dtype_parse(dtypes->strings[i], &dtype)) {
            err = gr_fail(GRANARY_EINVAL, "column '%s': no dtype '%s'", dtypes->keys[i], dtypes->strings[i]);
        } else {
            csv->schema.fields[at].dtype = dtype;
        }
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "node '%s' (read_csv): dtypes", csv->node->name);
}

static uint32_t
joined_kinds(const struct gr_csv *csv, size_t column)
{
    uint32_t kinds = 0;

    for (size_t r = 0; r < csv->range_count; r++) {
        kinds |= column < csv->types[r]->n_kinds ? csv->types[r]->kinds[column] : 0;
    }
    return kinds;
}

static granary_err
add_column(struct gr_csv *csv, size_t column)
{
    const Granary__CsvTypes *first = csv->types[0];
    char *name = NULL;
    granary_err err = GRANARY_OK;

    if (!csv->header) {
        char text[32];

        (void)snprintf(text, sizeof text, "c%zu", column);
        name = strdup(text);
    } else if (first->names[column].len == 0) { /* its data may be NULL */
        name = strdup("");
    } else if (memchr(first->names[column].data, '\0', first->names[column].len) != NULL) {
        return file_error(csv, 1, "the name of column %zu in the header has a zero byte", column + 1);
    } else {
        name = strndup((const char *)first->names[column].data, first->names[column].len);
    }
    if (name == NULL) {
        return no_memory(csv);
    }
    if (gr_schema_find(&csv->schema, name) >= 0) {
        err = file_error(csv, 1, "the header names column '%s' twice", name);
    } else {
        err = gr_schema_add(&csv->schema, name, gr_dtype_of_kinds(joined_kinds(csv, column)));
    }
    free(name);
    return err;
}

static granary_err
enter_ready(struct gr_csv *csv)
{
    uint64_t fields = 0;
    granary_err err = GRANARY_OK;

    for (size_t r = 0; r < csv->range_count && err == GRANARY_OK; r++) {
        err = check_range(csv, r, &fields);
    }
    if (err == GRANARY_OK && csv->header && csv->types[0]->n_names == 0) {
        err = gr_fail(GRANARY_EINVAL, "node '%s': %s: empty: no header", csv->node->name, csv->name);
    }
    if (err == GRANARY_OK && fields == 0) {
        err = gr_fail(GRANARY_EINVAL, "node '%s': %s: empty: no record", csv->node->name, csv->name);
    }
    if (err == GRANARY_OK && fields > COLUMNS_MAX) {
        err = file_error(csv, 1, "%" PRIu64 " columns; at most %d can be read", fields, COLUMNS_MAX);
    }
    for (size_t c = 0; c < fields && err == GRANARY_OK; c++) {
        err = add_column(csv, c);
    }
    if (err == GRANARY_OK) {
        err = override_dtypes(csv);
    }
    if (err == GRANARY_OK) {
        csv->stage = GR_CSV_READY;
        csv->jobs = 0;
    }
    return err;
}

/* The range with which the column became a string; range_count: it has not. */
static size_t
range_of_text(const struct gr_csv *csv, size_t column)
{
    uint32_t kinds = 0;
    size_t r = 0;

    for (; r < csv->range_count; r++) {
        kinds |= column < csv->types[r]->n_kinds ? csv->types[r]->kinds[column] : 0;
        if (gr_kinds_are_text(kinds)) {
            break;
        }
    }
    return r;
}

bool
gr_csv_tell_odd(const struct gr_csv *csv, size_t column, struct gr_buf *out)
{
    size_t r = csv->schema.fields[column].dtype == GRANARY_STRING ? range_of_text(csv, column) : csv->range_count;
    const Granary__CsvTypes *types = r == csv->range_count ? NULL : csv->types[r];

    for (size_t i = 0; types != NULL && i < types->n_odd; i++) {
        const Granary__CsvOdd *odd = types->odd[i];

        if (odd->column == column) {
            gr_buf_addf(out, "%s:%" PRIu64 ": '%.*s' makes column '%s' a string", csv->name,
                        csv->ranges[r].line + odd->line, (int)odd->value.len, (const char *)odd->value.data,
                        csv->schema.fields[column].name);
            return true;
        }
    }
    return false;
}

/* An answer that cannot be unpacked: there is no memory for it (errno is 0 before), or it is none. */
static granary_err
unreadable(const char *op)
{
    return errno == ENOMEM ? gr_fail(GRANARY_ENOMEM, "%s: scheduler: out of memory", op)
                           : gr_fail(GRANARY_EPROTO, "%s: an answer that is none", op);
}

static granary_err
feed_split(struct gr_csv *csv, size_t job, const ProtobufCBinaryData *answer)
{
    int64_t offset = (int64_t)job * csv->block_bytes;
    int64_t left = csv->file_bytes - offset;
    Granary__CsvSplit *split;
    granary_err err;

    if (csv->splits[job] != NULL) {
        return GRANARY_OK;
    }
    errno = 0;
    split = granary__csv_split__unpack(NULL, answer->len, answer->data);
    err = split == NULL ? unreadable("csv_split")
                        : gr_csv_split_check(split, left < csv->block_bytes ? left : csv->block_bytes);
    if (err != GRANARY_OK) {
        granary__csv_split__free_unpacked(split, NULL);
        return gr_fail_in(err, "node '%s' (read_csv)", csv->node->name);
    }
    csv->splits[job] = split;
    if (--csv->waiting > 0) {
        return GRANARY_OK;
    }
    err = gr_csv_ranges(csv->splits, csv->jobs, csv->block_bytes, csv->file_bytes, &csv->ranges, &csv->range_count);
    if (err == GRANARY_OK) {
        csv->types = calloc(csv->range_count, sizeof *csv->types);
        if (csv->types != NULL) {
            take_types(csv);
        }
    }
    splits_free(csv);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "node '%s' (read_csv)", csv->node->name);
    }
    return csv->types == NULL ? no_memory(csv) : enter_infer(csv);
}

static granary_err
feed_types(struct gr_csv *csv, size_t job, const ProtobufCBinaryData *answer)
{
    size_t range = csv->job_ranges[job];

    if (csv->types[range] != NULL) {
        return GRANARY_OK;
    }
    errno = 0;
    csv->types[range] = granary__csv_types__unpack(NULL, answer->len, answer->data);
    if (csv->types[range] == NULL) {
        return gr_fail_in(unreadable("csv_infer"), "node '%s' (read_csv)", csv->node->name);
    }
    return --csv->waiting > 0 ? GRANARY_OK : enter_ready(csv);
}

granary_err
gr_csv_feed(struct gr_csv *csv, size_t job, const ProtobufCBinaryData *answer)
{
    if (job >= csv->jobs || csv->stage == GR_CSV_READY) {
        return gr_fail(GRANARY_EPROTO, "node '%s' (read_csv): an answer nobody asked for", csv->node->name);
    }
    return csv->stage == GR_CSV_SPLIT ? feed_split(csv, job, answer) : feed_types(csv, job, answer);
}
