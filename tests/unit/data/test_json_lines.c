/* Lines of a file, whole and in ranges; and the values of a record of JSON lines, or what is wrong with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "data/file/json_record.h"
#include "data/file/lines.h"

struct seen {
    struct gr_json_records records;
    struct gr_buf text; /* "NAME=KIND TEXT;" of each value */
};

static granary_err
note_value(void *to, const struct gr_json_value *value)
{
    struct seen *seen = to;
    size_t size;
    const char *name = gr_texts_at(&seen->records.names, value->name, &size);

    gr_buf_addf(&seen->text, "%.*s=%c %.*s;", (int)size, name, "0bnsl"[value->kind], (int)value -> size,
                value -> bytes);
    return GRANARY_OK;
}

/* A record yields these values, in order; or, where it begins with '!', fails with that in its message. */
static void
a_record_is_its_values(void **state)
{
    static const struct {
        const char *line;
        const char *want;
    } cases[] = {
        {"{}", ""},
        {" {\"a\": 1 , \"b\" :null}\r", "a=n 1;b=0 null;"},
        {"{\"a\": {\"b\": {\"c\": true}}, \"d\": {}}", "a.b.c=b true;"},
        {"{\"a\": [1, {\"b\": \"]\"}, []], \"c\": false}", "a=l [1, {\"b\": \"]\"}, []];c=b false;"},
        {"{\"a\": \"x\\ty\\u00e9\\ud83d\\ude00\"}", "a=s x\ty\xc3\xa9\xf0\x9f\x98\x80;"},
        {"{\"\\u0061\": \"\", \"\": 0}", "a=s ;=n 0;"},
        {"{\"n\": -0.50e+10}", "n=n -0.50e+10;"},
        {"{\"n\": 123456789012345678901234567890}", "n=n 123456789012345678901234567890;"},
        {"", "!none"},
        {" \t\r", "!none"},
        {"[]", "!byte 1: a record is an object"},
        {"{\"a\": 1}x", "!byte 9: more text"},
        {"{\"a\": 1, \"a\": 1}", "!byte 13: 'a' is there twice"},
        {"{\"a\": {\"b\": 1, \"b\": 1}}", "!'a.b' is there twice"},
        {"{\"a\": [{\"b\": 1, \"b\": 1}]}", "a=l [{\"b\": 1, \"b\": 1}];"}, /* nobody is told of those */
        {"{\"a\": 1.}", "!no value"},
        {"{\"a\": -}", "!no value"},
        {"{\"a\": 1e}", "!no value"},
        {"{\"a\": 00}", "!',' or '}'"},
        {"{\"a\": nul}", "!no value"},
        {"{\"a\": \"\\u12g4\"}", "!four hexadecimal digits"},
        {"{\"a\": \"\\ud83d\\u0041\"}", "!half a character"},
        {"{\"a\": \"\\q\"}", "!no escape"},
        {"{\"a\": \"x}", "!does not end"},
        {"{\"a\": \"\x01\"}", "!control character"},
        {"{\"a\": \"\xc3\"}", "!byte 8: not UTF-8"},
        {"{\"a\\u0000\": 1}", "!zero byte"},
        {"{a: 1}", "!byte 2: a name in quotes"},
        {"{\"a\"", "!':' is expected"},
        {"{\"a\": ", "!no value"},
        {"{\"a\": [1,]}", "!no value"},
        {"{\"a\": {\"b\": 1]}", "!',' or '}'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen seen = {.text = {0}};
        const char *want = cases[i].want;
        bool is_record;
        granary_err err =
            gr_json_record(&seen.records, cases[i].line, strlen(cases[i].line), note_value, &seen, &is_record);

        if (strcmp(want, "!none") == 0) {
            assert_int_equal(err, GRANARY_OK);
            assert_false(is_record);
        } else if (want[0] == '!') {
            assert_int_equal(err, GRANARY_EINVAL);
            if (strstr(granary_error_message(), want + 1) == NULL) {
                fail_msg("%s: %s", cases[i].line, granary_error_message());
            }
        } else {
            assert_int_equal(err, GRANARY_OK);
            assert_true(is_record);
            assert_string_equal(seen.text.bytes == NULL ? "" : seen.text.bytes, want);
        }
        gr_json_records_free(&seen.records);
        gr_buf_free(&seen.text);
    }
}

/* Names are numbered as they come, and are the same in all records; those with others within them are flagged. */
static void
names_last_beyond_a_record(void **state)
{
    static const char *const lines[] = {"{\"b\": 1, \"a\": null}", "{\"a\": {\"c\": 2}, \"b\": 3}"};
    struct seen seen = {.text = {0}};
    bool flags[8] = {false};
    bool is_record;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gr_json_record(&seen.records, lines[i], strlen(lines[i]), note_value, &seen, &is_record),
                         GRANARY_OK);
    }
    assert_string_equal(seen.text.bytes, "b=n 1;a=0 null;a.c=n 2;b=n 3;");
    assert_int_equal(seen.records.names.count, 3);
    gr_json_mark_objects(&seen.records.names, flags);
    assert_false(flags[0]);
    assert_true(flags[1]);
    assert_false(flags[2]);
    gr_json_records_free(&seen.records);
    gr_buf_free(&seen.text);
}

static void
deep_nesting_is_refused(void **state)
{
    char line[1024] = "{\"a\": ";
    struct seen seen = {.text = {0}};
    bool is_record;

    (void)state;
    memset(line + strlen(line), '[', 500);
    assert_int_equal(gr_json_record(&seen.records, line, strlen(line), note_value, &seen, &is_record), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "too deep"));
    gr_json_records_free(&seen.records);
    gr_buf_free(&seen.text);
}

static void
add_lines(const char *path, int64_t offset, int64_t size, struct gr_buf *out)
{
    struct gr_lines lines;
    const char *line;
    size_t length;

    assert_int_equal(gr_lines_open(&lines, path, offset, size), GRANARY_OK);
    assert_int_equal(gr_lines_next(&lines, &line, &length), GRANARY_OK);
    for (uint64_t number = 1; line != NULL; number++) {
        assert_int_equal(lines.number, number);
        gr_buf_add(out, line, length);
        gr_buf_add(out, "|", 1);
        assert_int_equal(gr_lines_next(&lines, &line, &length), GRANARY_OK);
    }
    gr_lines_close(&lines);
}

/* Ranges that follow one another have each line once, wherever they meet. */
static void
ranges_share_no_line(void **state)
{
    static const char text[] = "\xef\xbb\xbfone\n\ntwo two\r\n\n\nthree";
    static const char want[] = "one||two two\r|||three|";
    int fd = memfd_create("lines", MFD_CLOEXEC);
    int64_t size = (int64_t)sizeof text - 1;
    char path[64];

    (void)state;
    assert_int_equal(write(fd, text, (size_t)size), size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int64_t first = 0; first <= size; first++) {
        for (int64_t second = first; second <= size; second++) {
            struct gr_buf out = {0};

            add_lines(path, 0, first, &out);
            add_lines(path, first, second - first, &out);
            add_lines(path, second, size - second, &out);
            assert_string_equal(out.bytes, want);
            gr_buf_free(&out);
        }
    }
    (void)close(fd);
}

/* A line may be longer than any window, up to a limit; and a file must not become shorter. */
static void
a_line_has_a_limit(void **state)
{
    size_t size = GR_LINE_MAX + 2;
    char *text = malloc(size);
    int fd = memfd_create("lines", MFD_CLOEXEC);
    struct gr_lines lines;
    const char *line;
    size_t length;
    char path[64];

    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    text[GR_LINE_MAX] = '\n';
    assert_int_equal(write(fd, text, size), size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(gr_lines_open(&lines, path, 0, (int64_t)size), GRANARY_OK);
    assert_int_equal(gr_lines_next(&lines, &line, &length), GRANARY_OK);
    assert_int_equal(length, GR_LINE_MAX);
    gr_lines_close(&lines);
    assert_int_equal(pwrite(fd, "x", 1, GR_LINE_MAX), 1);
    assert_int_equal(gr_lines_open(&lines, path, 0, (int64_t)size), GRANARY_OK);
    assert_int_equal(gr_lines_next(&lines, &line, &length), GRANARY_EINVAL);
    assert_int_equal(lines.number, 1);
    gr_lines_close(&lines);
    assert_int_equal(gr_lines_open(&lines, path, 5, 10), GRANARY_OK); /* all of it within the line */
    assert_int_equal(gr_lines_next(&lines, &line, &length), GRANARY_OK);
    assert_null(line);
    gr_lines_close(&lines);
    assert_int_equal(gr_lines_open(&lines, path, 0, (int64_t)size + 1), GRANARY_EIO);
    gr_lines_close(&lines);
    (void)close(fd);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_its_values),  cmocka_unit_test(names_last_beyond_a_record),
        cmocka_unit_test(deep_nesting_is_refused), cmocka_unit_test(ranges_share_no_line),
        cmocka_unit_test(a_line_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
