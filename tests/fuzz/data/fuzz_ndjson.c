/* Any bytes as JSON lines: looked at, then read with the dtypes that were seen, whole and in two parts. What could be
 * looked at can be read, is the same however it is cut, and comes back when it is written. The first byte: the cut. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/print/print.h"
#include "fuzz/fuzz.h"
#include "graph/schema.h"
#include "unit/executor/op.h"

/* What is in a range, to be freed. */
static Granary__CsvTypes *
infer_range(const char *path, size_t offset, size_t size)
{
    Granary__ChunkOp *op = op_range("ndjson_infer", path, offset, size);
    struct gr_buf answer = {0};
    Granary__CsvTypes *types;

    if (op_run(run_ndjson_infer, op, NULL, 0, NULL, 0, &answer) != GRANARY_OK) {
        abort(); /* whatever is wrong with the file is part of the answer */
    }
    types = granary__csv_types__unpack(NULL, answer.size, (uint8_t *)answer.bytes);
    if (types == NULL || types->n_names != types->n_kinds) {
        abort();
    }
    gr_buf_free(&answer);
    granary__chunk_op__free_unpacked(op, NULL);
    return types;
}

/* Rows as lines, appended. columns: which there are, and their kinds; types: what is in the range */
static void
read_range(const char *path, const Granary__CsvTypes *columns, const Granary__CsvTypes *types, size_t offset,
           size_t size, struct gr_buf *out)
{
    Granary__ChunkOp *op = op_range("ndjson_read", path, offset, size);
    char **names = calloc(columns->n_names + 1, sizeof *names);
    char **dtypes = calloc(columns->n_names + 1, sizeof *dtypes);
    struct gr_value output = {0};

    if (names == NULL || dtypes == NULL) {
        abort();
    }
    for (size_t i = 0; i < columns->n_names; i++) {
        names[i] =
            strndup(columns->names[i].len > 0 ? (const char *)columns->names[i].data : "", columns->names[i].len);
        dtypes[i] = (char *)(uintptr_t)granary_dtype_name(gr_dtype_of_kinds(columns->kinds[i]));
    }
    op_attr(op, gr_attr_new_int("line", 1));
    op_attr(op, gr_attr_new_int("rows", (int64_t)types->records));
    op_attr(op, gr_attr_new_strings("columns", names, columns->n_names));
    op_attr(op, gr_attr_new_strings("dtypes", dtypes, columns->n_names));
    if (op_run(run_ndjson_read, op, NULL, 0, &output, 1, NULL) != GRANARY_OK) {
        (void)fprintf(stderr, "%s\n", granary_error_message());
        abort();
    }
    gr_print_json_lines(output.frame, out);
    gr_value_free(&output);
    for (size_t i = 0; i < columns->n_names; i++) {
        free(names[i]);
    }
    free(names);
    free(dtypes);
    granary__chunk_op__free_unpacked(op, NULL);
}

static int
text_file(const void *bytes, size_t size, char path[64])
{
    int fd = memfd_create("ndjson", MFD_CLOEXEC);

    if (fd < 0 || (size > 0 && write(fd, bytes, size) != (ssize_t)size)) {
        abort();
    }
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* What was written is read as the same: as lines they are equal to the last byte. */
static void
check_written(const Granary__CsvTypes *columns, const struct gr_buf *text)
{
    char path[64];
    int fd = text_file(text->bytes, text->size, path);
    Granary__CsvTypes *types = infer_range(path, 0, text->size);
    struct gr_buf again = {0};

    if (types->error[0] != '\0' || types->records != columns->records) {
        abort();
    }
    read_range(path, columns, types, 0, text->size, &again);
    if (again.size != text->size || (text->size > 0 && memcmp(again.bytes, text->bytes, text->size) != 0)) {
        abort();
    }
    gr_buf_free(&again);
    granary__csv_types__free_unpacked(types, NULL);
    (void)close(fd);
}

static void
check_file(const char *path, size_t size, size_t cut)
{
    Granary__CsvTypes *types = infer_range(path, 0, size);
    Granary__CsvTypes *parts[2] = {infer_range(path, 0, cut), infer_range(path, cut, size - cut)};
    struct gr_buf whole = {0};
    struct gr_buf both = {0};
    bool fails = types->error[0] != '\0';

    if (fails != (parts[0]->error[0] != '\0' || parts[1]->error[0] != '\0') ||
        (!fails && (types->records != parts[0]->records + parts[1]->records ||
                    types->lines != parts[0]->lines + parts[1]->lines))) {
        abort();
    }
    if (!fails && types->n_names > 0) {
        read_range(path, types, types, 0, size, &whole);
        read_range(path, types, parts[0], 0, cut, &both);
        read_range(path, types, parts[1], cut, size - cut, &both);
        if (whole.size != both.size || (whole.size > 0 && memcmp(whole.bytes, both.bytes, whole.size) != 0)) {
            abort();
        }
        check_written(types, &whole);
    }
    granary__csv_types__free_unpacked(types, NULL);
    granary__csv_types__free_unpacked(parts[0], NULL);
    granary__csv_types__free_unpacked(parts[1], NULL);
    gr_buf_free(&whole);
    gr_buf_free(&both);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[64];
    int fd;

    if (size < 2) {
        return 0;
    }
    fd = text_file(bytes + 1, size - 1, path);
    check_file(path, size - 1, (size_t)bytes[0] * (size - 1) / 256);
    (void)close(fd);
    return 0;
}
