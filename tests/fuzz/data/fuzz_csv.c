/* Any bytes as a CSV file: looked at, then read with the dtypes that were seen, whole and in two parts. What could be
 * looked at can be read, and is the same however it is cut; so are records that fit, and those that do not. The first byte: delimiter, header, where it is cut. With some
 * delimiters, numbers, dates and timestamps are written in other styles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/print/print.h"
#include "fuzz/fuzz.h"
#include "kernel/csv/find/csv_scan.h"
#include "unit/executor/op.h"

enum { COLUMNS_MAX = 64, FIELDS = 2 };

struct file {
    char path[64];
    const char *delimiter;
    bool header;
    const char *errors; /* as read_csv has it */
};

static Granary__ChunkOp *
range_op(const struct file *file, const char *name, size_t offset, size_t size)
{
    Granary__ChunkOp *op = op_new(name);

    op_attr(op, gr_attr_new_string("path", file->path));
    op_attr(op, gr_attr_new_string("delimiter", file->delimiter));
    op_attr(op, gr_attr_new_int("offset", (int64_t)offset));
    op_attr(op, gr_attr_new_int("size", (int64_t)size));
    op_attr(op, gr_attr_new_bool("header", file->header && offset == 0));
    op_attr(op, gr_attr_new_string("errors", file->errors));
    if (file->delimiter[0] == ';') {
        op_attr(op, gr_attr_new_string("decimal", ","));
        op_attr(op, gr_attr_new_string("thousands", "."));
    } else if (file->delimiter[0] == '|') {
        op_attr(op, gr_attr_new_string("thousands", " "));
        op_attr(op, gr_attr_new_string("date_format", "%d.%m.%Y"));
        op_attr(op, gr_attr_new_string("timestamp_format", "%d %b %y %I:%M:%S.%f %p"));
    }
    return op;
}

/* The answer of csv_split or csv_infer, to be freed; it may be empty. */
static struct gr_buf
ask(const struct file *file, gr_kernel *kernel, const char *name, size_t offset, size_t size)
{
    Granary__ChunkOp *op = range_op(file, name, offset, size);
    struct gr_buf answer = {0};

    if (strcmp(file->errors, "refuse") != 0) {
        op_attr(op, gr_attr_new_int("fields", FIELDS));
    }
    if (op_run(kernel, op, NULL, 0, NULL, 0, &answer) != GRANARY_OK) {
        abort(); /* whatever is wrong with the file is part of the answer */
    }
    granary__chunk_op__free_unpacked(op, NULL);
    return answer;
}

/* Rows as text, appended; columns c0, c1, ... */
static void
read_range(const struct file *file, const Granary__CsvTypes *types, size_t offset, size_t size, struct gr_buf *out)
{
    static const struct gr_csv_style style = {.delimiter = ',', .header = false, .null_value = ""};
    Granary__ChunkOp *op = range_op(file, "csv_read", offset, size);
    struct gr_value output = {0};
    char names[COLUMNS_MAX][8];
    char *name_list[COLUMNS_MAX];
    char *dtypes[COLUMNS_MAX];
    int64_t positions[COLUMNS_MAX] = {0, 1, 2};
    static char string[] = "string", reason[] = "reason", text[] = "text", column[] = "column_name";
    char *const list[] = {reason, text, column};
    char *const strings[] = {string, string, string};

    for (size_t i = 0; i < types->n_kinds; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%zu", i);
        name_list[i] = names[i];
        dtypes[i] = (char *)(uintptr_t)granary_dtype_name(gr_dtype_of_kinds(types->kinds[i]));
        positions[i] = (int64_t)i;
    }
    op_attr(op, gr_attr_new_int("line", 1));
    op_attr(op, gr_attr_new_int("fields", (int64_t)types->fields));
    op_attr(op, gr_attr_new_strings("names", name_list, types->n_kinds));
    op_attr(op, gr_attr_new_strings("all_dtypes", dtypes, types->n_kinds));
    if (strcmp(file->errors, "list") == 0) {
        op_attr(op, gr_attr_new_strings("columns", list, 3));
        op_attr(op, gr_attr_new_strings("dtypes", strings, 3));
        op_attr(op, gr_attr_new_ints("positions", positions, 3));
    } else {
        op_attr(op, gr_attr_new_strings("columns", name_list, types->n_kinds));
        op_attr(op, gr_attr_new_strings("dtypes", dtypes, types->n_kinds));
        op_attr(op, gr_attr_new_ints("positions", positions, types->n_kinds));
    }
    if (op_run(run_csv_read, op, NULL, 0, &output, 1, NULL) != GRANARY_OK) {
        (void)fprintf(stderr, "%s\n", granary_error_message());
        abort();
    }
    gr_print_csv_style(output.frame, &style, out);
    gr_value_free(&output);
    granary__chunk_op__free_unpacked(op, NULL);
}

/* Where the first record begins behind the first `cut` bytes and some other record; 0: nowhere. As the planner does. */
static size_t
record_behind(const struct file *file, size_t cut, size_t size)
{
    struct gr_buf answers[2] = {ask(file, run_csv_split, "csv_split", 0, cut),
                                ask(file, run_csv_split, "csv_split", cut, size - cut)};
    uint64_t records = 0;
    uint32_t state = CSV_AT_RECORD;
    size_t at = 0;

    for (int i = 0; i < 2; i++) {
        Granary__CsvSplit *split = granary__csv_split__unpack(NULL, answers[i].size, (uint8_t *)answers[i].bytes);

        if (split == NULL || split->n_end_state != CSV_STATES) {
            abort();
        }
        if (i == 1 && split->first_record[state] >= 0 &&
            records + (state != CSV_AT_RECORD && state != CSV_AFTER_CR) > 0) {
            at = cut + (size_t)split->first_record[state];
        }
        records += split->records[state];
        state = split->end_state[state];
        granary__csv_split__free_unpacked(split, NULL);
        gr_buf_free(&answers[i]);
    }
    return at;
}

static void
check_file(const struct file *file, size_t size, size_t cut)
{
    struct gr_buf answer = ask(file, run_csv_infer, "csv_infer", 0, size);
    Granary__CsvTypes *types = granary__csv_types__unpack(NULL, answer.size, (uint8_t *)answer.bytes);
    size_t at = record_behind(file, cut, size);
    struct gr_buf whole = {0};
    struct gr_buf parts = {0};

    if (types == NULL) {
        abort();
    }
    if (types->error[0] == '\0' && !types->ragged && types->fields > 0 && types->n_kinds <= COLUMNS_MAX) {
        read_range(file, types, 0, size, &whole);
        if (at > 0) {
            read_range(file, types, 0, at, &parts);
            read_range(file, types, at, size - at, &parts);
            if (whole.size != parts.size || (whole.size > 0 && memcmp(whole.bytes, parts.bytes, whole.size) != 0)) {
                abort();
            }
        }
    }
    granary__csv_types__free_unpacked(types, NULL);
    gr_buf_free(&answer);
    gr_buf_free(&whole);
    gr_buf_free(&parts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const delimiters[] = {",", ";", "\t", "|"};
    struct file file;
    size_t cut;
    int fd;

    if (size < 2) {
        return 0;
    }
    file.delimiter = delimiters[bytes[0] & 3];
    file.header = (bytes[0] & 4) != 0;
    cut = (size_t)(bytes[0] >> 3) * (size - 1) / 32;
    cut = cut < 3 && size > 3 ? 3 : cut; /* a byte order mark lies in one block */
    fd = memfd_create("csv", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes + 1, size - 1) != (ssize_t)(size - 1)) {
        abort();
    }
    (void)snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", fd);
    for (int i = 0; i < 3; i++) {
        static const char *const errors[] = {"refuse", "skip", "list"};

        file.errors = errors[i];
        check_file(&file, size - 1, cut);
    }
    (void)close(fd);
    return 0;
}
