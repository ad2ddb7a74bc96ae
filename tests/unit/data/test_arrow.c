#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "data/arrow/arrow.h"
#include "frames.h"

/* Read an object's data alone, and with its directory: both give the frame. */
static void
assert_reads_back(const granary_frame *frame)
{
    struct object object = object_of(frame);
    granary_frame *back;

    assert_int_equal(gr_arrow_read(object.data, object.data_size, NULL, 0, &back), GRANARY_OK);
    assert_frames_equal(frame, back);
    gr_frame_destroy(back);
    assert_int_equal(gr_arrow_read(object.data, object.data_size, object.meta, object.meta_size, &back), GRANARY_OK);
    assert_frames_equal(frame, back);
    gr_frame_destroy(back);
    object_free(&object);
}

static void
every_dtype_comes_back(void **state)
{
    granary_frame *frame = frame_of_everything();

    (void)state;
    assert_reads_back(frame);
    gr_frame_destroy(frame);
}

static void
empty_frames_come_back(void **state)
{
    granary_frame *frame = frame_of_everything();
    granary_frame *without_rows;
    granary_frame *without_columns = frame_of(0, NULL, NULL);

    (void)state;
    assert_int_equal(gr_frame_slice(frame, 0, 0, &without_rows), GRANARY_OK);
    assert_reads_back(without_rows);
    assert_reads_back(without_columns);
    gr_frame_destroy(without_rows);
    gr_frame_destroy(without_columns);
    gr_frame_destroy(frame);
}

/* Equal frames are equal bytes, however they were made and whatever the memory held. */
static void
equal_frames_are_equal_bytes(void **state)
{
    static const int64_t order[] = {0, 1, 2, 3, 4};
    granary_frame *frame = frame_of_everything();
    granary_frame *again;
    granary_frame *parts[2];
    struct object a = object_of(frame);
    struct object b;

    (void)state;
    assert_int_equal(gr_frame_take(frame, order, 5, &again), GRANARY_OK);
    b = object_of(again);
    assert_int_equal(a.data_size, b.data_size);
    assert_memory_equal(a.data, b.data, a.data_size);
    assert_int_equal(a.meta_size, b.meta_size);
    assert_memory_equal(a.meta, b.meta, a.meta_size);
    object_free(&b);
    gr_frame_destroy(again);

    assert_int_equal(gr_frame_slice(frame, 0, 3, &parts[0]), GRANARY_OK);
    assert_int_equal(gr_frame_slice(frame, 3, 2, &parts[1]), GRANARY_OK);
    assert_int_equal(gr_frame_concat((const granary_frame *const *)parts, 2, &again), GRANARY_OK);
    b = object_of(again);
    assert_int_equal(a.data_size, b.data_size);
    assert_memory_equal(a.data, b.data, a.data_size);
    object_free(&b);
    gr_frame_destroy(again);
    gr_frame_destroy(parts[0]);
    gr_frame_destroy(parts[1]);
    object_free(&a);
    gr_frame_destroy(frame);
}

/* With a directory every buffer is read where it lies; without one, all that needs no conversion. */
static void
our_own_files_are_read_in_place(void **state)
{
    granary_frame *frame = frame_of_everything();
    struct object object = object_of(frame);
    granary_frame *back;

    (void)state;
    assert_int_equal(gr_arrow_read(object.data, object.data_size, object.meta, object.meta_size, &back), GRANARY_OK);
    for (size_t i = 0; i < back->count; i++) {
        const granary_column *column = granary_frame_column(back, i);
        const char *values = column->values;

        assert_false(back->columns[i].owned);
        if (column->dtype != GRANARY_NULLTYPE) {
            assert_true(values >= (char *)object.data && values < (char *)object.data + object.data_size);
            assert_int_equal((uintptr_t)values % 64, 0);
        }
    }
    gr_frame_destroy(back);
    assert_int_equal(gr_arrow_read(object.data, object.data_size, NULL, 0, &back), GRANARY_OK);
    assert_false(back->columns[10].owned);
    gr_frame_destroy(back);
    object_free(&object);
    gr_frame_destroy(frame);
}

/* A column that borrows a part of another's rows: text begins in the middle, bitmaps end within a byte. */
static void
borrowed_parts_are_written_as_if_owned(void **state)
{
    granary_frame *frame = frame_of_everything();
    granary_frame *head = gr_frame_create(2, 3);
    granary_column flag = *granary_frame_column_named(frame, "flag");
    granary_column text = *granary_frame_column_named(frame, "Größe €");
    granary_frame *want;
    struct object a;
    struct object b;

    (void)state;
    flag.rows = 3;
    flag.null_count = 1;
    text.rows = 3;
    text.offsets += 1; /* rows 1 to 3, seen as rows without nulls */
    text.null_count = 0;
    text.validity = NULL;
    assert_int_equal(gr_frame_set_borrowed(head, 0, "flag", &flag), GRANARY_OK);
    assert_int_equal(gr_frame_set_borrowed(head, 1, "text", &text), GRANARY_OK);
    assert_int_equal(gr_frame_slice(head, 0, 3, &want), GRANARY_OK);
    a = object_of(head);
    b = object_of(want);
    assert_int_equal(a.data_size, b.data_size);
    assert_memory_equal(a.data, b.data, a.data_size);
    assert_reads_back(head);
    assert_string_equal(text_at(want, "text", 2), "a,\"b\"\n");
    object_free(&a);
    object_free(&b);
    gr_frame_destroy(want);
    gr_frame_destroy(head);
    gr_frame_destroy(frame);
}

static char *
golden(const char *name, size_t *ret_size)
{
    const char *source = getenv("GRANARY_SOURCE");
    char path[4096];
    char *bytes;

    assert_non_null(source);
    (void)snprintf(path, sizeof path, "%s/tests/golden/arrow/%s", source, name);
    assert_int_equal(gr_file_read(path, 1 << 20, &bytes, ret_size), GRANARY_OK);
    return bytes;
}

static const struct {
    const char *name;
    granary_dtype dtype;
    const char *rows[5]; /* "": null or an empty string */
} foreign[] = {
    {"species", GRANARY_STRING, {"goose", "owl", "", "goose", "heron"}},
    {"tiny", GRANARY_INT8, {"-128", "127", "", "1", "0"}},
    {"small", GRANARY_INT16, {"-32768", "1", "", "2", "0"}},
    {"middle", GRANARY_INT32, {"-2147483648", "2147483647", "", "3", "0"}},
    {"byte", GRANARY_UINT8, {"255", "0", "", "4", "0"}},
    {"word", GRANARY_UINT32, {"4294967295", "1", "", "5", "0"}},
    {"big", GRANARY_INT64, {"-9007199254740993", "9007199254740993", "", "6", "0"}},
    {"half", GRANARY_FLOAT32, {"0.5", "-1.0", "", "7.0", "0.0"}},
    {"real", GRANARY_FLOAT64, {"0.1", "-1e+300", "", "8.0", "0.0"}},
    {"flag", GRANARY_BOOL, {"true", "false", "", "true", "false"}},
    {"größe €", GRANARY_STRING, {"naïve", "日本", "", "", "\"q\",\n"}},
    {"long", GRANARY_STRING, {"", "long", "", "x", "é"}},
    {"day", GRANARY_DATE, {"1969-12-31", "2020-02-29", "", "1970-01-01", "0001-01-01"}},
    {"noon", GRANARY_DATE, {"1969-12-31", "2020-02-29", "", "9999-12-31", "1970-01-01"}},
    {"s",
     GRANARY_TIMESTAMP,
     {"1970-01-01T00:00:00", "2020-01-01T00:00:00", "", "1969-12-31T23:59:59", "1970-01-01T00:00:00"}},
    {"ms",
     GRANARY_TIMESTAMP,
     {"1969-12-31T23:59:59.999000", "2020-01-01T00:00:00.123000", "", "1969-12-31T23:59:58.999000",
      "1970-01-01T00:00:00"}},
    {"us",
     GRANARY_TIMESTAMP,
     {"1970-01-01T00:00:00", "2020-01-01T00:00:00.123000", "", "1970-01-01T00:00:00.005000", "1970-01-01T00:00:00"}},
    {"ns",
     GRANARY_TIMESTAMP,
     {"1970-01-01T00:00:00", "2020-01-01T00:00:00.123000", "", "1970-01-01T00:00:00.006000", "1970-01-01T00:00:00"}},
    {"none", GRANARY_NULLTYPE, {"", "", "", "", ""}},
};

/* Another writer's file: three batches, a dictionary, every type we take. Row 2 is null throughout. */
static void
foreign_files_are_converted(void **state)
{
    size_t size;
    char *bytes = golden("foreign.arrow", &size);
    granary_frame *frame;

    (void)state;
    assert_int_equal(gr_arrow_read(bytes, size, NULL, 0, &frame), GRANARY_OK);
    free(bytes); /* several batches were joined: nothing is borrowed */
    assert_int_equal(frame->rows, 5);
    assert_int_equal(frame->count, sizeof foreign / sizeof foreign[0]);
    for (size_t c = 0; c < frame->count; c++) {
        const granary_column *column = granary_frame_column(frame, c);

        assert_string_equal(column->name, foreign[c].name);
        assert_int_equal(column->dtype, foreign[c].dtype);
        assert_int_equal(column->null_count, column->dtype == GRANARY_NULLTYPE ? 5 : 1);
        for (int64_t i = 0; i < 5; i++) {
            assert_string_equal(text_at(frame, column->name, i), foreign[c].rows[i]);
        }
    }
    assert_reads_back(frame);
    gr_frame_destroy(frame);
}

static void
check_compressed(const granary_frame *frame)
{
    assert_int_equal(frame->rows, 60);
    for (int64_t i = 0; i < 60; i++) {
        char number[32], text[64];

        (void)snprintf(number, sizeof number, "%lld", (long long)(i * i));
        (void)snprintf(text, sizeof text, i % 5 == 2 ? "short %lld" : "longer than twelve bytes %lld",
                       (long long)(i % 5 == 2 ? i : i % 3));
        assert_string_equal(text_at(frame, "number", i), i % 7 == 3 ? "" : number);
        assert_string_equal(text_at(frame, "text", i), i % 5 == 1 ? "" : text);
        assert_string_equal(text_at(frame, "category", i), i % 5 == 1 ? "" : text);
        assert_string_equal(text_at(frame, "big", i), i > 20 ? "true" : "false");
    }
}

/* Each buffer an LZ4 or zstd frame, or raw where that is shorter; strings as views, and with a dictionary of views. */
static void
compressed_files_of_others_are_read(void **state)
{
    (void)state;
    for (int zstd = 0; zstd < 2; zstd++) {
        size_t size;
        char *bytes = golden(zstd ? "zstd.arrow" : "lz4.arrow", &size);
        granary_frame *frame;

        assert_int_equal(gr_arrow_read(bytes, size, NULL, 0, &frame), GRANARY_OK);
        free(bytes); /* what was compressed is not borrowed */
        check_compressed(frame);
        gr_frame_destroy(frame);
    }
}

static void
other_files_are_refused_by_name(void **state)
{
    granary_frame *frame = NULL;

    (void)state;
    assert_int_equal(gr_arrow_read("", 0, NULL, 0, &frame), GRANARY_ETYPE);
    assert_int_equal(gr_arrow_read("PAR1 is another format", 22, NULL, 0, &frame), GRANARY_ETYPE);
    assert_int_equal(gr_arrow_read("ARROW1\0\0", 8, NULL, 0, &frame), GRANARY_ECORRUPT);
    assert_null(frame);
}

/* Columns of any type are passed over, and refused by name and type when they are wanted. */
static void
columns_of_other_types_are_passed_over(void **state)
{
    static const char *const names[] = {"first",  "list",   "struct.x", "struct.y", "struct.z", "text", "map",
                                        "binary", "fixed",  "pair",     "time",     "interval", "half", "number",
                                        "union",  "sparse", "category", "codes",    "last"};
    static const char *const types[] = {NULL, NULL,       NULL, NULL, NULL,    NULL,    "Map", NULL, NULL, NULL,
                                        NULL, "Interval", NULL, NULL, "Union", "Union", NULL,  NULL, NULL};
    struct gr_arrow_file *file;
    granary_frame *frame = NULL;
    size_t size;
    char *bytes = golden("nested.arrow", &size);
    char path[64];
    bool readable[19];
    int fd = memfd_create("nested", 0);

    (void)state;
    assert_int_equal(write(fd, bytes, size), size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(gr_arrow_read(bytes, size, NULL, 0, &frame), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "'map' (Map), 'interval' (Interval)"));
    assert_non_null(strstr(
        granary_error_message(),
        "select other columns ('first', 'list', 'struct.x', 'struct.y', 'struct.z', 'text', 'binary', 'fixed', ..."));
    assert_int_equal(gr_arrow_file_open(path, &file), GRANARY_OK);
    assert_int_equal(gr_arrow_file_columns(file), 19);
    for (size_t i = 0; i < 19; i++) {
        bool wanted[19] = {false};
        granary_dtype dtype;

        assert_string_equal(gr_arrow_file_column(file, i, &dtype), names[i]);
        readable[i] = types[i] == NULL;
        assert_int_equal(dtype == GR_DTYPE_OTHER, !readable[i]);
        wanted[i] = true;
        if (!readable[i]) {
            assert_int_equal(gr_arrow_file_read(file, wanted, 0, 1, &frame), GRANARY_EUNSUPPORTED);
            assert_non_null(strstr(granary_error_message(), names[i]));
            assert_non_null(strstr(granary_error_message(), types[i]));
        }
    }
    assert_int_equal(gr_arrow_file_read(file, readable, 0, 1, &frame), GRANARY_OK);
    for (int64_t i = 0; i < 6; i++) {
        char want[6][16] = {"", "", "", "", "", ""};

        if (i != 2) {
            (void)snprintf(want[0], sizeof want[0], "%d", (int)i);
            (void)snprintf(want[1], sizeof want[1], "text %d", (int)i);
            (void)snprintf(want[2], sizeof want[2], "%.1f", (double)i / 2);
            (void)snprintf(want[3], sizeof want[3], "c%d", (int)i % 2);
            (void)snprintf(want[4], sizeof want[4], "%s", i % 2 == 0 ? "true" : "false");
            (void)snprintf(want[5], sizeof want[5], "y%d", (int)i);
        }
        assert_string_equal(text_at(frame, "first", i), want[0]);
        assert_string_equal(text_at(frame, "struct.x", i), want[0]);
        assert_string_equal(text_at(frame, "struct.y", i), want[5]);
        assert_string_equal(text_at(frame, "text", i), want[1]);
        assert_string_equal(text_at(frame, "number", i), want[2]);
        assert_string_equal(text_at(frame, "category", i), want[3]);
        assert_string_equal(text_at(frame, "last", i), want[4]);
    }
    gr_frame_destroy(frame);
    gr_arrow_file_close(file);
    assert_int_equal(close(fd), 0);
    free(bytes);
}

/* A stream has a file's messages, with nothing before and nothing behind. */
static void
streams_are_read(void **state)
{
    granary_frame *want = NULL;
    size_t size;
    char *bytes = golden("zstd.arrow", &size);
    uint32_t footer;
    size_t end;

    (void)state;
    assert_int_equal(gr_arrow_read(bytes, size, NULL, 0, &want), GRANARY_OK);
    memcpy(&footer, bytes + size - 10, sizeof footer);
    end = size - 10 - footer;
    for (size_t cut = 0; cut < 16; cut += 4) { /* with its end's mark, or without; and in the midst of it */
        char *stream = malloc(end);
        granary_frame *frame = NULL;
        granary_err err;

        memcpy(stream, bytes + 8, end - 8 - cut);
        err = gr_arrow_read(stream, end - 8 - cut, NULL, 0, &frame);
        if (cut == 0 || cut == 8) {
            assert_int_equal(err, GRANARY_OK);
            assert_frames_equal(want, frame);
            gr_frame_destroy(frame);
        } else {
            assert_int_equal(err, GRANARY_EINVAL);
            assert_non_null(strstr(granary_error_message(), "ends in the midst of a message"));
        }
        free(stream);
    }
    gr_frame_destroy(want);
    free(bytes);
}

static void
unsigned_integers_of_others_are_read(void **state)
{
    size_t size;
    char *bytes = golden("uint64.arrow", &size);
    granary_frame *frame;

    (void)state;
    assert_int_equal(gr_arrow_read(bytes, size, NULL, 0, &frame), GRANARY_OK);
    assert_int_equal(granary_frame_column(frame, 0)->dtype, GRANARY_UINT64);
    assert_reads_back(frame);
    gr_frame_destroy(frame);
    free(bytes);
}

/* A metadata region that is no directory of ours is somebody else's business. */
static void
foreign_metadata_is_ignored(void **state)
{
    granary_frame *frame = frame_of_everything();
    struct object object = object_of(frame);
    granary_view view = {.data = object.data, .data_size = object.data_size, .meta = "made by me", .meta_size = 10};
    granary_frame *back;

    (void)state;
    assert_int_equal(granary_frame_open(&view, &back), GRANARY_OK);
    assert_frames_equal(frame, back);
    granary_frame_close(back);
    object_free(&object);
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_comes_back),
        cmocka_unit_test(empty_frames_come_back),
        cmocka_unit_test(equal_frames_are_equal_bytes),
        cmocka_unit_test(our_own_files_are_read_in_place),
        cmocka_unit_test(borrowed_parts_are_written_as_if_owned),
        cmocka_unit_test(foreign_files_are_converted),
        cmocka_unit_test(compressed_files_of_others_are_read),
        cmocka_unit_test(unsigned_integers_of_others_are_read),
        cmocka_unit_test(other_files_are_refused_by_name),
        cmocka_unit_test(columns_of_other_types_are_passed_over),
        cmocka_unit_test(streams_are_read),
        cmocka_unit_test(foreign_metadata_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
