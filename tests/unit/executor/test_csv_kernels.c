/* csv_split, csv_infer and csv_read on files: quotes, line ends, nulls, errors with their lines, and cuts anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/text/packing.h"
#include "kernel/simd/simd.h"
#include "unit/executor/op.h"

static Granary__CsvSplit *
split(const char *path, size_t offset, size_t size, size_t behind)
{
    Granary__ChunkOp *op = op_range("csv_split", path, offset, size);
    struct gr_buf answer = {0};
    Granary__CsvSplit *result;

    op_attr(op, gr_attr_new_int("behind", (int64_t)behind));
    op_attr(op, gr_attr_new_bool("header", offset == 0));
    assert_int_equal(op_run(run_csv_split, op, NULL, 0, NULL, 0, &answer), GRANARY_OK);
    result = granary__csv_split__unpack(NULL, answer.size, (const uint8_t *)answer.bytes);
    assert_non_null(result);
    gr_buf_free(&answer);
    granary__chunk_op__free_unpacked(op, NULL);
    return result;
}

static Granary__CsvTypes *
infer(const char *path, size_t offset, size_t size, bool header)
{
    Granary__ChunkOp *op = op_range("csv_infer", path, offset, size);
    struct gr_buf answer = {0};
    Granary__CsvTypes *result;

    op_attr(op, gr_attr_new_bool("header", header));
    assert_int_equal(op_run(run_csv_infer, op, NULL, 0, NULL, 0, &answer), GRANARY_OK);
    result = granary__csv_types__unpack(NULL, answer.size, (const uint8_t *)answer.bytes);
    assert_non_null(result);
    gr_buf_free(&answer);
    granary__chunk_op__free_unpacked(op, NULL);
    return result;
}

static Granary__CsvTypes *
infer_text(const char *text, size_t size, bool header)
{
    char *path = file_write(text, size);
    Granary__CsvTypes *types = infer(path, 0, size, header);

    file_remove(path);
    return types;
}

/* columns "a:int64@0,b:string@1" */
static Granary__ChunkOp *
read_op(const char *path, size_t offset, size_t size, bool header, const char *columns)
{
    Granary__ChunkOp *op = op_range("csv_read", path, offset, size);
    char *copy = strdup(columns);
    char *names[16];
    char *dtypes[16];
    int64_t positions[16];
    size_t count = 0;

    for (char *part = strtok(copy, ","); part != NULL; part = strtok(NULL, ",")) {
        char *colon = strrchr(part, ':');
        char *at = strrchr(part, '@');

        *colon = '\0';
        *at = '\0';
        names[count] = part;
        dtypes[count] = colon + 1;
        positions[count++] = atoi(at + 1);
    }
    op_attr(op, gr_attr_new_bool("header", header));
    op_attr(op, gr_attr_new_strings("columns", names, count));
    op_attr(op, gr_attr_new_strings("dtypes", dtypes, count));
    op_attr(op, gr_attr_new_ints("positions", positions, count));
    free(copy);
    return op;
}

static granary_err
read_range(const char *path, size_t offset, size_t size, bool header, const char *columns, granary_frame **ret_frame)
{
    Granary__ChunkOp *op = read_op(path, offset, size, header, columns);
    struct gr_value output = {0};
    granary_err err;

    op_attr(op, gr_attr_new_int("line", 1));
    err = op_run(run_csv_read, op, NULL, 0, &output, 1, NULL);
    assert_int_equal(output.kind, err == GRANARY_OK ? GR_VALUE_FRAME : GR_VALUE_NONE);
    granary__chunk_op__free_unpacked(op, NULL);
    *ret_frame = output.frame;
    return err;
}

static granary_err
read_text(const char *text, size_t size, bool header, const char *columns, granary_frame **ret_frame)
{
    char *path = file_write(text, size);
    granary_err err = read_range(path, 0, size, header, columns, ret_frame);

    file_remove(path);
    return err;
}

/* A frame as text, to compare: "1|x\n-|y\n", nulls "-". */
static void
add_frame(const granary_frame *frame, struct gr_buf *out)
{
    for (int64_t row = 0; row < frame->rows; row++) {
        for (size_t i = 0; i < frame->count; i++) {
            gr_buf_addf(out, "%s", i > 0 ? "|" : "");
            const granary_column *column = &frame->columns[i].view;

            if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
                gr_buf_addf(out, "-");
            } else {
                gr_value_format(&frame->columns[i].view, row, out);
            }
        }
        gr_buf_addf(out, "\n");
    }
}

static void
assert_frame(granary_frame *frame, const char *want)
{
    struct gr_buf text = {0};

    add_frame(frame, &text);
    assert_string_equal(text.bytes == NULL ? "" : text.bytes, want);
    gr_buf_free(&text);
    gr_frame_destroy(frame);
}

static void
assert_read(const char *text, bool header, const char *columns, const char *want)
{
    granary_frame *frame;

    if (read_text(text, strlen(text), header, columns, &frame) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
    assert_frame(frame, want);
}

static void
assert_read_fails(const char *text, bool header, const char *columns, granary_err err, const char *part)
{
    granary_frame *frame = NULL;

    assert_int_equal(read_text(text, strlen(text), header, columns, &frame), err);
    assert_null(frame);
    if (strstr(granary_error_message(), part) == NULL) {
        fail_msg("'%s' does not tell of '%s'", granary_error_message(), part);
    }
}

/* ---- csv_read ---- */

static void
reads_every_dtype(void **state)
{
    (void)state;
    assert_read("i,f,b,d,t,s\n1,2.5,true,2020-02-29,2020-01-02 03:04:05.25,x\n-3,4,FALSE,1969-12-31,2020-01-01,\n",
                true, "i:int64@0,f:float64@1,b:bool@2,d:date@3,t:timestamp@4,s:string@5",
                "1|2.5|true|2020-02-29|2020-01-02T03:04:05.250000|x\n-3|4.0|false|1969-12-31|2020-01-01T00:00:00|-\n");
}

static void
quotes_and_line_ends_are_taken_out(void **state)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char text[200];

        (void)snprintf(text, sizeof text, "1,\"a,b\"%s\"2\",\"say \"\"hi\"\"\"%s%s3,\"x\"y\"z%s4,\"\"\"\"%s5,a\"b",
                       ends[i], ends[i], ends[i], ends[i], ends[i]);
        assert_read(text, false, "n:int64@0,s:string@1", "1|a,b\n2|say \"hi\"\n3|\"x\"y\"z\n4|\"\n5|a\"b\n");
    }
    assert_read("\"line 1\nline 2\r\nline 3\",7\n", false, "s:string@0,n:int64@1", "line 1\nline 2\r\nline 3|7\n");
}

static void
quotes_make_text_of_nulls(void **state)
{
    (void)state;
    /* A number cannot be "", so it is null there. */
    assert_read("1,a\n,\n\\N,\\N\n\"\",\"\"\n\"\\N\",\"\\N\"\n5,b\n", false, "n:int64@0,s:string@1",
                "1|a\n-|-\n-|-\n-|\n-|\\N\n5|b\n");
    assert_read_fails("\\N\n", false, "x:null@0", GRANARY_EINVAL, "no dtype 'null'");
}

static void
own_nulls_replace_the_usual_ones(void **state)
{
    static char na[] = "NA";
    char *const nulls[] = {na};
    char *path = file_write("NA\n\n\\N\n", 7);
    Granary__ChunkOp *op = read_op(path, 0, 7, false, "s:string@0");
    struct gr_value output = {0};

    (void)state;
    op_attr(op, gr_attr_new_strings("null_values", nulls, 1));
    assert_int_equal(op_run(run_csv_read, op, NULL, 0, &output, 1, NULL), GRANARY_OK);
    assert_frame(output.frame, "-\n\\N\n");
    granary__chunk_op__free_unpacked(op, NULL);
    file_remove(path);
}

static void
only_wanted_columns_are_read_in_their_order(void **state)
{
    (void)state;
    assert_read("a,b,c,d\n1,x,2,not a number\n3,y,4,\n", true, "c:int64@2,\xc3\xa4 $:int64@0", "2|1\n4|3\n");
    assert_read("a,b\n1,2\n3,4\n", true, "", "\n\n"); /* rows without columns are rows */
}

static void
a_byte_order_mark_is_no_text(void **state)
{
    (void)state;
    assert_read("\xef\xbb\xbf\"1\",2\n", false, "a:int64@0,b:int64@1", "1|2\n");
}

static void
nothing_gives_an_empty_frame(void **state)
{
    (void)state;
    assert_read("", false, "a:int64@0,s:string@1", "");
    assert_read("", true, "a:int64@0", "");
    assert_read("a,b\n", true, "a:int64@0,b:string@1", "");
    assert_read("\n\r\n\n", false, "a:int64@0", "");
}

static void
errors_name_file_line_and_column(void **state)
{
    (void)state;
    assert_read_fails("n\n1\n\n\"x\ny\"\n", true, "n:int64@0", GRANARY_ETYPE, ":4: column 'n': 'x");
    assert_read_fails("n\n1\n2.5\n", true, "n:int64@0", GRANARY_ETYPE, ":3: column 'n': '2.5' is not int64");
    assert_read_fails("2021-02-29\n", false, "d:date@0", GRANARY_ETYPE, "is not date");
    assert_read_fails("yes\n", false, "b:bool@0", GRANARY_ETYPE, "is not bool");
    assert_read_fails("a,b\n1,2\n\"\n\",3,4\n", true, "a:string@0", GRANARY_EINVAL, ":3: 3 fields");
    assert_read_fails("1,2\n3\n", false, "a:int64@0", GRANARY_EINVAL, ":2: 1 fields");
    assert_read_fails("1\n2\n", false, "a:int64@0,b:int64@4", GRANARY_EINVAL, ":1: 1 fields");
    assert_read_fails("1,2\n3,\"x\n\n", false, "b:string@1", GRANARY_EINVAL,
                      ":2: the quotes that begin here do not end");
    assert_read_fails("a\nb\n\xff\n", false, "s:string@0", GRANARY_EINVAL, ":3: not UTF-8");
    assert_read_fails("\xed\xa0\x80\n", false, "s:string@0", GRANARY_EINVAL, ":1: not UTF-8");
}

static void
the_expected_number_of_fields_is_checked(void **state)
{
    char *path = file_write("1,2\n", 4);
    Granary__ChunkOp *op = read_op(path, 0, 4, false, "a:int64@0");
    struct gr_value output = {0};

    (void)state;
    op_attr(op, gr_attr_new_int("fields", 3));
    op_attr(op, gr_attr_new_int("line", 41));
    assert_int_equal(op_run(run_csv_read, op, NULL, 0, &output, 1, NULL), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), ":41: 2 fields, the records before have 3"));
    granary__chunk_op__free_unpacked(op, NULL);
    file_remove(path);
}

static void
files_that_cannot_be_read_are_errors(void **state)
{
    granary_frame *frame;
    char *path = file_write("1\n", 2);

    (void)state;
    assert_int_equal(read_range("/tmp/granary-no-such-file", 0, 1, false, "a:int64@0", &frame), GRANARY_ENOENT);
    assert_int_equal(read_range("/tmp", 0, 1, false, "a:int64@0", &frame), GRANARY_EINVAL);
    assert_int_equal(read_range("/dev/null", 0, 0, false, "a:int64@0", &frame), GRANARY_EINVAL);
    assert_int_equal(read_range(path, 0, 3, false, "a:int64@0", &frame), GRANARY_EIO); /* it was longer */
    assert_int_equal(read_range(path, 3, 0, false, "a:int64@0", &frame), GRANARY_EIO);
    file_remove(path);
}

/* ---- csv_infer ---- */

static void
infers_kinds_and_names(void **state)
{
    static const char text[] = "\xef\xbb\xbf\"a,\"\"1\"\"\",b,\xc3\xa4$,d\n\n1,true,,x\n2.5,2020-01-01,\\N,\n";
    Granary__CsvTypes *types = infer_text(text, sizeof text - 1, true);

    (void)state;
    assert_string_equal(types->error, "");
    assert_false(types->ragged);
    assert_int_equal(types->n_names, 4);
    assert_memory_equal(types->names[0].data, "a,\"1\"", 5);
    assert_int_equal(types->names[0].len, 5);
    assert_int_equal(types->names[2].len, 3);
    assert_int_equal(types->fields, 4);
    assert_int_equal(types->records, 2);
    assert_int_equal(types->first_record_line, 2);
    assert_int_equal(types->kinds[0], 4 | 8);
    assert_int_equal(types->kinds[1], 2 | 16);
    assert_int_equal(types->kinds[2], 1);
    assert_int_equal(types->kinds[3] & ~1u, 64);
    granary__csv_types__free_unpacked(types, NULL);
}

static void
infers_nothing_from_nothing(void **state)
{
    Granary__CsvTypes *types = infer_text("", 0, true);

    (void)state;
    assert_int_equal(types->fields, 0);
    assert_int_equal(types->n_names, 0);
    granary__csv_types__free_unpacked(types, NULL);
    types = infer_text("a,b", 3, true);
    assert_int_equal(types->records, 0);
    assert_int_equal(types->n_names, 2);
    granary__csv_types__free_unpacked(types, NULL);
}

static void
answers_ragged_records_with_their_line(void **state)
{
    static const struct {
        const char *text;
        bool header;
        unsigned line;
        unsigned fields;
    } cases[] = {
        {"a,b\n1,2\n\"\n\",3\n4\n", true, 4, 1},
        {"a,b\n1,2,3\n", true, 1, 3},
        {"1\n1\n\n1,\n", false, 3, 2},
        {"a,b\r\n1,2\r\n3\r\n", true, 2, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Granary__CsvTypes *types = infer_text(cases[i].text, strlen(cases[i].text), cases[i].header);

        assert_true(types->ragged);
        assert_int_equal(types->ragged_line, cases[i].line);
        assert_int_equal(types->ragged_fields, cases[i].fields);
        granary__csv_types__free_unpacked(types, NULL);
    }
}

static void
answers_bad_text_with_its_line(void **state)
{
    static const struct {
        const char *text;
        const char *error;
        unsigned line;
        size_t size;
    } cases[] = {
        {"a\nb\n\"c\nd\n", "do not end", 2, 8},
        {"\"a", "do not end", 0, 2},
        {"a\n\xc3\n", "not UTF-8", 1, 4},
        {"a\n\xf0\x9f\x98", "not UTF-8", 1, 5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Granary__CsvTypes *types = infer_text(cases[i].text, cases[i].size, true);

        assert_non_null(strstr(types->error, cases[i].error));
        assert_int_equal(types->error_line, cases[i].line);
        granary__csv_types__free_unpacked(types, NULL);
    }
}

/* ---- cuts ---- */

static const char hard_text[] =
    "\xef\xbb\xbfid,\"name, "
    "\"\"full\"\"\",note\r\n1,\"a\nb\",x\r\n\r\n2,,\"1,2\"\n\"3\",\xc3\xa4\xe2\x82\xac,\"q\"\"q\"\r"
    "4,\\N,y\"z\r\n5,\"\r\n\r\n\",\"\"\n6,last,\"no line end\"";

#define HARD_COLUMNS "id:int64@0,name:string@1,note:string@2"

/* What a block's answer says of types is what csv_infer says of the same bytes. */
static void
check_types(const char *path, const Granary__CsvSplit *answer, size_t *told)
{
    if (answer->types != NULL) {
        size_t offset = (size_t)answer->types_offset;
        Granary__CsvTypes *types = infer(path, offset, (size_t)answer->types_size, offset == 0);
        uint8_t want[4096];
        uint8_t got[4096];
        size_t size = granary__csv_types__get_packed_size(types);

        assert_in_range(size, 0, sizeof want);
        assert_int_equal(granary__csv_types__get_packed_size(answer->types), size);
        (void)granary__csv_types__pack(types, want);
        (void)granary__csv_types__pack(answer->types, got);
        assert_memory_equal(want, got, size);
        granary__csv_types__free_unpacked(types, NULL);
        ++*told;
    }
}

/* Cut a file into blocks, join their answers to the starts of whole records, and read chunk by chunk. */
static void
read_in_blocks(const char *path, size_t size, size_t block, struct gr_buf *out, unsigned kinds[3])
{
    size_t begin = 0;
    size_t told = 0;
    unsigned state = 0;

    for (size_t at = 0; at < size || begin < size; at += block) {
        size_t end = size;
        granary_frame *frame;
        Granary__CsvTypes *types;

        if (at + block < size) {
            /* Where the first record of the next block starts ends this chunk. */
            size_t left = size - at - block;
            Granary__CsvSplit *this = split(path, at, block, left < 40 ? left : 40);
            Granary__CsvSplit *next = split(path, at + block, left < block ? left : block, 0);

            check_types(path, this, &told);

            state = this->end_state[state];
            assert_int_equal(next->n_first_record, 6);
            if (next->first_record[state] < 0) {
                granary__csv_split__free_unpacked(this, NULL);
                granary__csv_split__free_unpacked(next, NULL);
                continue;
            }
            end = at + block + (size_t)next->first_record[state];
            granary__csv_split__free_unpacked(this, NULL);
            granary__csv_split__free_unpacked(next, NULL);
        }
        types = infer(path, begin, end - begin, begin == 0);
        assert_string_equal(types->error, "");
        assert_false(types->ragged);
        for (size_t i = 0; i < types->n_kinds; i++) {
            kinds[i] |= types->kinds[i];
        }
        granary__csv_types__free_unpacked(types, NULL);
        if (read_range(path, begin, end - begin, begin == 0, HARD_COLUMNS, &frame) != GRANARY_OK) {
            fail_msg("block %zu: %s", block, granary_error_message());
        }
        add_frame(frame, out);
        gr_frame_destroy(frame);
        begin = end;
    }
    assert_true(told > 0 || size < 1000);
}

static void
cuts_do_not_change_what_is_read(void **state)
{
    static const char want[] =
        "1|a\nb|x\n2|-|1,2\n3|\xc3\xa4\xe2\x82\xac|q\"q\n4|-|y\"z\n5|\r\n\r\n|\n6|last|no line end\n";
    size_t size = sizeof hard_text - 1;
    char *path = file_write(hard_text, size);

    (void)state;
    for (size_t block = 4; block <= size + 1; block++) { /* the mark is not cut: blocks are larger */
        struct gr_buf text = {0};
        unsigned kinds[3] = {0};

        read_in_blocks(path, size, block, &text, kinds);
        assert_string_equal(text.bytes, want);
        assert_int_equal(kinds[0], 4);
        assert_int_equal(kinds[1] & ~1u, 64);
        assert_int_equal(kinds[2] & 64u, 64);
        gr_buf_free(&text);
    }
    file_remove(path);
}

/* A record "number,name,note" with quotes, line ends and delimiters in the texts. */
static void
add_random_record(struct gr_buf *text, int number)
{
    static const char *const ends[] = {"\n", "\r\n", "\r", "\n\n"};
    static const char *const texts[] = {"",     "a",      "\"\"",    "\",\"", "\"\n\"", "\"\r\n\"\"\"",
                                        "x\"y", "\"q\"z", "\xc3\xa4"};

    gr_buf_addf(text, "%d,%s,%s%s", number, texts[random() % 9], texts[random() % 9], ends[random() % 4]);
}

static void
random_files_are_read_the_same_in_any_blocks(void **state)
{
    (void)state;
    srandom(17);
    for (int round = 0; round < 20; round++) {
        struct gr_buf text = {0}, whole = {0};
        unsigned kinds[3] = {0};
        char *path;

        gr_buf_addf(&text, "id,name,note\n");
        for (int i = 0; i < 60; i++) {
            add_random_record(&text, i);
        }
        path = file_write(text.bytes, text.size);
        read_in_blocks(path, text.size, text.size, &whole, kinds);
        for (int i = 0; i < 20; i++) {
            struct gr_buf cut = {0};

            read_in_blocks(path, text.size, 1 + (size_t)random() % 100, &cut, kinds);
            assert_string_equal(cut.bytes, whole.bytes);
            gr_buf_free(&cut);
        }
        assert_int_equal(kinds[0], 4);
        file_remove(path);
        gr_buf_free(&text);
        gr_buf_free(&whole);
    }
}

static void
split_counts_records_and_lines(void **state)
{
    size_t size = sizeof hard_text - 1;
    char *path = file_write(hard_text, size);
    Granary__CsvSplit *answer = split(path, 0, size, 0);

    (void)state;
    assert_int_equal(answer->n_end_state, 6);
    assert_int_equal(answer->records[0], 6); /* with the header; the last has no line end */
    assert_int_equal(answer->end_state[0], 4);
    assert_int_equal(answer->lines[0], 9);
    assert_int_equal(answer->first_record[0], 0);
    assert_int_equal(answer->first_lines[0], 0);
    assert_int_equal(answer->first_record[2], 29); /* the header's end, behind the mark */
    assert_int_equal(answer->first_lines[2], 1);
    granary__csv_split__free_unpacked(answer, NULL);

    answer = split(path, size, 0, 0);
    assert_int_equal(answer->first_record[0], 0);
    assert_int_equal(answer->first_record[1], -1);
    assert_int_equal(answer->end_state[3], 3);
    granary__csv_split__free_unpacked(answer, NULL);
    file_remove(path);
}

static void
bad_options_are_errors(void **state)
{
    static const char *const delimiters[] = {"", ",,", "\"", "\n", "\xc3\xa4"};
    char *path = file_write("1\n", 2);

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        Granary__ChunkOp *op = op_range("csv_split", path, 0, 2);
        struct gr_buf answer = {0};

        op_attr(op, gr_attr_new_string("delimiter", delimiters[i]));
        assert_int_equal(op_run(run_csv_split, op, NULL, 0, NULL, 0, &answer), GRANARY_EINVAL);
        assert_int_equal(answer.size, 0);
        gr_buf_free(&answer);
        granary__chunk_op__free_unpacked(op, NULL);
    }
    file_remove(path);
}

/* ---- long files: blocks of records, dictionaries ---- */

enum { LONG_ROWS = 9000 };

/*
 * Row i in one of many ways to write it. Columns: few different strings, many, long ones, ones with a zero byte inside
 * (not in want), integer, real, date. Every 7th field or so is null; now and then quotes, CRs, empty lines.
 */
static void
add_long_row(struct gr_buf *text, struct gr_buf *want, int i)
{
    bool odd = i % 501 == 77 || i % 2048 == 2047;
    bool null = i % 7 == 3;
    int few = i * 7919 % 20;
    int many = i * 31 % LONG_ROWS;

    gr_buf_addf(text, odd ? "\"few,%d\"," : "few%d,", few);
    gr_buf_addf(want, odd ? "few,%d|" : "few%d|", few);
    gr_buf_addf(text, "id%010d,", many);
    gr_buf_addf(want, "id%010d|", many);
    gr_buf_addf(text, null ? "," : odd ? "\"a long text \"\"%d\"\"\"," : "a long text with number %d,", few);
    gr_buf_addf(want, null ? "-|" : odd ? "a long text \"%d\"|" : "a long text with number %d|", few);
    gr_buf_addf(text, few % 2 == 0 ? "z," : "z");
    gr_buf_add(text, "\0,", few % 2 == 0 ? 0 : 2);
    gr_buf_addf(text, null ? "\\N," : "%lld,", i % 3 == 0 ? -i * 123456789LL : i * 1234567LL);
    gr_buf_addf(want, null ? "-|" : "%lld|", i % 3 == 0 ? -i * 123456789LL : i * 1234567LL);
    gr_buf_addf(text, null ? "," : "%d.%02d,", i, i % 100);
    gr_buf_addf(want,
                null           ? "-|"
                : i % 100 == 0 ? "%d.0|"
                : i % 10 == 0  ? "%d.%d|"
                               : "%d.%02d|",
                i, i % 100 % 10 == 0 ? i % 100 / 10 : i % 100);
    gr_buf_addf(text, "20%02d-0%d-1%d%s", i % 100, 1 + i % 9, i % 10, i % 333 == 5 ? "\r\n\n" : odd ? "\r" : "\n");
    gr_buf_addf(want, "20%02d-0%d-1%d\n", i % 100, 1 + i % 9, i % 10);
}

static void
long_files_are_read_in_blocks(void **state)
{
    static const char columns[] = "few:string@0,many:string@1,long:string@2,i:int64@4,x:float64@5,d:date@6";
    struct gr_buf text = {0};
    struct gr_buf want = {0};
    enum gr_simd level = gr_simd_level();
    Granary__CsvTypes *types;
    char *path;

    (void)state;
    for (int i = 0; i < LONG_ROWS; i++) {
        add_long_row(&text, &want, i);
    }
    assert_true(gr_buf_ok(&text) && gr_buf_ok(&want));
    path = file_write(text.bytes, text.size);
    for (int limit = GR_SIMD_BASE; limit <= (int)level; limit++) {
        granary_frame *frame;

        gr_simd_limit((enum gr_simd)limit);
        if (read_range(path, 0, text.size, false, columns, &frame) != GRANARY_OK) {
            fail_msg("%s", granary_error_message());
        }
        assert_non_null(frame->columns[0].view.dictionary);
        assert_null(frame->columns[1].view.dictionary);
        assert_non_null(frame->columns[2].view.dictionary);
        assert_frame(frame, want.bytes);
        assert_int_equal(read_range(path, 0, text.size, false, "zero:string@3", &frame), GRANARY_OK);
        assert_int_equal(frame->rows, LONG_ROWS);
        assert_non_null(frame->columns[0].view.dictionary);
        assert_int_equal(frame->columns[0].view.dictionary->rows, 2);
        assert_int_equal(frame->columns[0].view.dictionary->offsets[2], 3); /* "z", "z\0" */
        gr_frame_destroy(frame);
    }
    types = infer(path, 0, text.size, false);
    assert_int_equal(types->records, LONG_ROWS);
    assert_int_equal(types->fields, 7);
    assert_int_equal(types->kinds[2] & ~(unsigned)GR_KIND_NULL, GR_KIND_STRING);
    assert_int_equal(types->kinds[4], GR_KIND_INT64 | GR_KIND_NULL);
    assert_int_equal(types->kinds[5], GR_KIND_FLOAT64 | GR_KIND_NULL);
    assert_int_equal(types->kinds[6], GR_KIND_DATE);
    granary__csv_types__free_unpacked(types, NULL);
    file_remove(path);
    gr_buf_free(&text);
    gr_buf_free(&want);
}

/* In the middle of a block, behind columns that fit: still the first in the file. */
static void
errors_in_blocks_are_those_of_their_record(void **state)
{
    struct gr_buf text = {0};
    granary_frame *frame = NULL;

    (void)state;
    for (int i = 1; i <= 3000; i++) {
        gr_buf_addf(&text, "%s,%s,%d\n", i == 2500 ? "x" : "1", i == 2400 ? "y" : "2", i);
    }
    assert_int_equal(read_text(text.bytes, text.size, false, "a:int64@0,b:int64@1", &frame), GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), ":2400: column 'b': 'y' is not int64"));
    assert_null(frame);
    gr_buf_free(&text);
}

/* ---- text_unpack ---- */

static uint64_t
count_char(const char *bytes, size_t size, char what)
{
    uint64_t count = 0;

    for (size_t i = 0; i < size; i++) {
        count += bytes[i] == what;
    }
    return count;
}

enum { PIECES = 40 };

/* Records, some with line ends in quotes, of several pieces. */
static void
make_text(struct gr_buf *text)
{
    for (int i = 0; text->size < (5 << 20); i++) {
        gr_buf_addf(text, "%d,\"say \"\"%d\"\"%s\",%d%s", i, i % 10, i % 3 == 0 ? "\n,\r\n" : "", i * 7,
                    i % 2 == 0 ? "\n" : "\r\n");
    }
}

static void
a_packed_text_is_cut_at_records(void **state)
{
    struct gr_value outputs[PIECES] = {{0}};
    struct gr_buf text = {0};
    struct gr_buf packed = {0};
    struct gr_buf answer = {0};
    Granary__ChunkOp *op = op_new("text_unpack");
    Granary__TextPieces *pieces;
    uint64_t lines = 0;
    size_t at = 0;
    char *path;

    (void)state;
    make_text(&text);
    assert_int_equal(gr_pack_text(GR_PACKING_ZSTD, text.bytes, text.size / 3, &packed), GRANARY_OK);
    assert_int_equal(gr_pack_text(GR_PACKING_ZSTD, text.bytes + text.size / 3, text.size - text.size / 3, &packed),
                     GRANARY_OK);
    path = file_write(packed.bytes, packed.size);
    op_attr(op, gr_attr_new_string("path", path));
    op_attr(op, gr_attr_new_string("delimiter", ","));
    op_attr(op, gr_attr_new_int("first", 100000));
    op_attr(op, gr_attr_new_int("most", 1 << 20));
    assert_int_equal(op_run(run_text_unpack, op, NULL, 0, outputs, PIECES, &answer), GRANARY_OK);
    pieces = granary__text_pieces__unpack(NULL, answer.size, (const uint8_t *)answer.bytes);
    assert_non_null(pieces);
    assert_true(pieces->n_bytes > 3 && pieces->n_bytes < PIECES);
    assert_int_equal(pieces->n_lines, pieces->n_bytes);
    for (size_t i = 0; i < pieces->n_bytes; i++) {
        Granary__ChunkOp *infer_op = op_range("csv_infer", path, at, pieces->bytes[i]);
        struct gr_buf told = {0};
        Granary__CsvTypes *types;

        assert_int_equal(outputs[i].bytes_size, pieces->bytes[i]);
        assert_memory_equal(outputs[i].bytes, text.bytes + at, pieces->bytes[i]);
        assert_int_equal(op_run(run_csv_infer, infer_op, &outputs[i], 1, NULL, 0, &told), GRANARY_OK);
        types = granary__csv_types__unpack(NULL, told.size, (const uint8_t *)told.bytes);
        assert_non_null(types);
        assert_string_equal(types->error, "");
        assert_true(!types->ragged && types->fields == 3 && types->records > 0);
        granary__csv_types__free_unpacked(types, NULL);
        granary__chunk_op__free_unpacked(infer_op, NULL);
        gr_buf_free(&told);
        at += pieces->bytes[i];
        lines += pieces->lines[i];
    }
    assert_int_equal(at, text.size);
    assert_int_equal(lines, count_char(text.bytes, text.size, '\n'));
    for (size_t i = 0; i < PIECES; i++) {
        assert_true(i < pieces->n_bytes || outputs[i].bytes_size == 0);
        gr_value_free(&outputs[i]);
    }
    granary__text_pieces__free_unpacked(pieces, NULL);
    gr_buf_free(&answer);

    /* Too few outputs for it all, and a piece that is not what was asked for. */
    assert_int_equal(op_run(run_text_unpack, op, NULL, 0, outputs, 2, &answer), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "unpack it first"));
    for (size_t i = 0; i < 2; i++) {
        gr_value_free(&outputs[i]);
    }
    gr_buf_free(&answer);
    granary__chunk_op__free_unpacked(op, NULL);
    op = op_range("csv_infer", path, 0, 10);
    outputs[0] = (struct gr_value){.kind = GR_VALUE_BYTES, .bytes = "a,b\n", .bytes_size = 4};
    assert_int_equal(op_run(run_csv_infer, op, outputs, 1, NULL, 0, NULL), GRANARY_ETYPE);
    granary__chunk_op__free_unpacked(op, NULL);
    (void)unlink(path);
    free(path);
    gr_buf_free(&text);
    gr_buf_free(&packed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_files_are_read_in_blocks),
        cmocka_unit_test(errors_in_blocks_are_those_of_their_record),
        cmocka_unit_test(reads_every_dtype),
        cmocka_unit_test(quotes_and_line_ends_are_taken_out),
        cmocka_unit_test(quotes_make_text_of_nulls),
        cmocka_unit_test(own_nulls_replace_the_usual_ones),
        cmocka_unit_test(only_wanted_columns_are_read_in_their_order),
        cmocka_unit_test(a_byte_order_mark_is_no_text),
        cmocka_unit_test(nothing_gives_an_empty_frame),
        cmocka_unit_test(errors_name_file_line_and_column),
        cmocka_unit_test(the_expected_number_of_fields_is_checked),
        cmocka_unit_test(files_that_cannot_be_read_are_errors),
        cmocka_unit_test(infers_kinds_and_names),
        cmocka_unit_test(infers_nothing_from_nothing),
        cmocka_unit_test(answers_ragged_records_with_their_line),
        cmocka_unit_test(answers_bad_text_with_its_line),
        cmocka_unit_test(cuts_do_not_change_what_is_read),
        cmocka_unit_test(random_files_are_read_the_same_in_any_blocks),
        cmocka_unit_test(split_counts_records_and_lines),
        cmocka_unit_test(bad_options_are_errors),
        cmocka_unit_test(a_packed_text_is_cut_at_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
