/* Texts in other dialects and encodings, as RFC 4180 and UTF-8; what is sniffed. */
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
#include "data/text/header.h"
#include "data/text/sniff.h"

/* The whole text of a file with these bytes. */
static granary_err
read_all(const void *bytes, size_t size, const struct gr_dialect *dialect, struct gr_buf *out)
{
    struct gr_text *text;
    char path[64];
    bool more = true;
    int fd = memfd_create("text", MFD_CLOEXEC);
    granary_err err;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    err = gr_text_open(path, dialect, &text);
    if (err == GRANARY_OK) {
        while (err == GRANARY_OK && more) {
            err = gr_text_read(text, 1, out, &more);
        }
        gr_text_close(text);
    }
    (void)close(fd);
    return err;
}

#pragma GCC diagnostic ignored "-Woverride-init" /* what all have, and then what one has */
#define DIALECT(...)                                                                                                   \
    {                                                                                                                  \
        .delimiter = ",", .quote = "\"", .escape = "", .comment = "", .encoding = "", .null = "", __VA_ARGS__          \
    }

static void
each_dialect_becomes_the_plain_one(void **state)
{
    static const struct {
        struct gr_dialect dialect;
        const char *text;
        const char *plain; /* where it begins with '!', what is in the message */
    } cases[] = {
        {DIALECT(.delimiter = ";"), "a;b\n1;\"x;\"\n", "a;b\n1;\"x;\"\n"},
        {DIALECT(.quote = "'"), "a,b\n'x,y','it''s'\n\"q\",2\r\n", "a,b\n\"x,y\",\"it's\"\n\"\"\"q\"\"\",2\r\n"},
        {DIALECT(.quote = "'"), "'x' y,'z'  ,'it''s' b\n'a, b' c,'d' \n",
         "\"'x' y\",\"z\",\"'it''s' b\"\n\"'a, b' c\",\"d\"\n"},
        {DIALECT(.comment = "#", .comment_anywhere = true), "\"x\" y,\"z\" # no\n\"a\"",
         "\"\"\"x\"\" y\",\"z\"\n\"a\""},
        {DIALECT(.quote = ""), "a,b\n\"x,y\n", "a,b\n\"\"\"x\",y\n"},
        {DIALECT(.escape = "\\"), "a,b\n\"x\\\"y\\\\\",2\nc\\,d,\\N\n\\Name,\n",
         "a,b\n\"x\"\"y\\\",2\n\"c,d\",\\N\nName,\n"},
        {DIALECT(.comment = "#"), "# a\na,b\n#b,\"\n1,#2\n", "\na,b\n\n1,#2\n"},
        {DIALECT(.comment = "//"), "a,b\n//x\n/,2\n", "a,b\n\n/,2\n"},
        {DIALECT(.comment = "#", .comment_anywhere = true), "a,b #c\n1,\"x#y\"#z\n#\n#2,3\n4,# 5",
         "a,b\n1,\"x#y\"\n\n\n4,"},
        {DIALECT(.comment = "//", .comment_anywhere = true), "a/b,c//d\n", "a/b,c\n"},
        {DIALECT(.skip = 2), "My \"report\nof\r\na,b\n1,2\n", "\n\r\na,b\n1,2\n"},
        {DIALECT(.skip = 9), "a\nb", "\n"},
        {DIALECT(.skip_spaces = true), "a,  b\n 1, \"x, y\"\n2,  \n", "a,b\n1,\"x, y\"\n2,\n"},
        {DIALECT(.ragged = GR_RAGGED_FILL), "a,b,c\n1\n1,2\n1,2,3,4\n\n", "a,b,c\n1,,\n1,2,\n1,2,3,4\n\n"},
        {DIALECT(.ragged = GR_RAGGED_CUT), "a,b\n1\n1,2,\"3\n4\"\n5,6", "a,b\n1,\n1,2\n\n5,6"},
        {DIALECT(.ragged = GR_RAGGED_FILL, .null = "NA"), "a,b\n1\n", "a,b\n1,NA\n"},
        {DIALECT(.delimiter = "||"), "a||b|\n\"x||\"||y,z\n", "a,b|\n\"x||\",\"y,z\"\n"},
        {DIALECT(.delimiter = "||", .quote = "'"), "a||'b\n'||", "a,\"b\n\","},
        {DIALECT(.quote = "'"), "a\n'x\n\n", "!:2: the quotes that begin here do not end"},
        {DIALECT(.encoding = "latin-1"), "a\xe9,\xff\n", "a\xc3\xa9,\xc3\xbf\n"},
        {DIALECT(.encoding = "windows-1252"), "\x80\x95\xe4\n", "\xe2\x82\xac\xe2\x80\xa2\xc3\xa4\n"},
        {DIALECT(.delimiter = ";", .comment = "#"), "\xef\xbb\xbf#x\na;b\n", "\na;b\n"},
        {DIALECT(.delimiter = ""), "a", "!delimiter ''"},
        {DIALECT(.quote = ","), "a", "!has the quote in it"},
        {DIALECT(.quote = "''"), "a", "!quote '''': one byte"},
        {DIALECT(.escape = "\n"), "a", "!escape"},
        {DIALECT(.encoding = "ebcdic"), "a", "!encoding 'ebcdic': utf-8, latin-1"},
        {DIALECT(.skip = -1), "a", "!skip -1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_buf out = {0};
        granary_err err = read_all(cases[i].text, strlen(cases[i].text), &cases[i].dialect, &out);

        if (cases[i].plain[0] == '!') {
            assert_int_equal(err, GRANARY_EINVAL);
            assert_non_null(strstr(granary_error_message(), cases[i].plain + 1));
        } else {
            assert_int_equal(err, GRANARY_OK);
            gr_buf_add(&out, "", 1);
            assert_string_equal(out.bytes, cases[i].plain);
        }
        gr_buf_free(&out);
    }
}

static void
utf_16_is_told_by_its_mark(void **state)
{
    static const char little[] = "\xff\xfe"
                                 "a\0,\0\xac\x20\x3d\xd8\x00\xde\n";
    static const char big[] = "\xfe\xff"
                              "\0a\0,\x20\xac\xd8\x3d\xde\x00\0\n";
    static const char want[] = "a,\xe2\x82\xac\xf0\x9f\x98\x80\n";
    static const char half[] = "\0a\0\n\xd8\x3d\0b";
    const struct gr_dialect plain = GR_DIALECT_PLAIN;
    const struct gr_dialect named = DIALECT(.encoding = "utf-16be");
    struct gr_buf out = {0};

    (void)state;
    assert_true(gr_text_is_marked(little, 2) && gr_text_is_marked(big, 2) && !gr_text_is_marked(want, 2));
    assert_int_equal(read_all(little, sizeof little, &plain, &out), GRANARY_OK);
    assert_int_equal(out.size, sizeof want - 1);
    assert_memory_equal(out.bytes, want, out.size);
    out.size = 0;
    assert_int_equal(read_all(big, sizeof big - 1, NULL, &out), GRANARY_OK);
    assert_memory_equal(out.bytes, want, out.size);
    out.size = 0;
    assert_int_equal(read_all(big + 2, sizeof big - 3, &named, &out), GRANARY_OK);
    assert_memory_equal(out.bytes, want, out.size);
    out.size = 0;
    assert_int_equal(read_all(half, sizeof half - 1, &named, &out), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), ":2: half a character of UTF-16"));
    assert_int_equal(read_all(big, sizeof big - 2, &plain, &out), GRANARY_EINVAL);
    gr_buf_free(&out);
}

/* What stands at the end of what is unpacked at a time is told like anything else. */
static void
long_texts_are_cut_nowhere(void **state)
{
    const struct gr_dialect dialect = DIALECT(.delimiter = "::", .quote = "'", .comment = "##", .escape = "\\");
    struct gr_buf text = {0};
    struct gr_buf want = {0};
    struct gr_buf out = {0};

    (void)state;
    for (int i = 0; i < 40000; i++) {
        gr_buf_addf(&text, "%s'a''%d'::\\'%d::x\n", i % 3 == 0 ? "## no\n" : "", i, i);
        gr_buf_addf(&want, "%s\"a'%d\",'%d,x\n", i % 3 == 0 ? "\n" : "", i, i);
    }
    assert_int_equal(read_all(text.bytes, text.size, &dialect, &out), GRANARY_OK);
    assert_int_equal(out.size, want.size);
    assert_memory_equal(out.bytes, want.bytes, want.size);
    gr_buf_free(&text);
    gr_buf_free(&want);
    gr_buf_free(&out);
}

static void
dialects_are_sniffed(void **state)
{
    static const struct {
        const char *text;
        const char *told; /* delimiter, quote, comment or -, decimal, thousands or -, skip */
    } cases[] = {
        {"a,b\n1,2\n3,4\n", ",\"-.-0"},
        {"a;b\n1,5;2\n3,4;1\n", ";\"-,-0"},
        {"a;b\n1.234,5;2\n3,4;1\n", ";\"-,.0"},
        {"a;b\n1.5;2,0\n", ";\"-.-0"},
        {"a\tb\tc\n1\t2\t3\n", "\t\"-.-0"},
        {"a|b\n'x|y'|2\n", "|'-.-0"},
        {"Report of May\nall, of it\na;b\n1;2\n3;4\n", ";\"-.-2"},
        {"# one\n# two\na;b\n1;2\n", ";\"#.-0"},
        {"#a;b\n1;2\n", ";\"-.-0"},
        {"a\n1\n2\n", ",\"-.-0"},
        {"", ",\"-.-0"},
        {"a,b\n1,2,3\n4,5,6\n", ",\"-.-0"}, /* a header that is too short is not left out */
        {"\"a\"\t\"b, c\"\n1\t2\n", "\t\"-.-0"},
        {"a|b\n\"x\\\"|y\"|2\n", "|\"-.-0"},
        {"one\ntwo,2\na,b,c\n1,2,3\n4,5,6\n", ",\"-.-2"},
        {"# one\na;b\n1;3#5;7\n6;\"7#t\"\n", ";\"#.-0"},
        {"a,b\n# no\n1,2\n", ",\"#.-0"},
        {"a\tb\n1\t\"x\n", ",\"-.-0"},      /* quotes that do not end: it may be cut off */
        {"a\tb\n1\t\"x\n2\ty\n", "\t-.-0"}, /* it is not: a record follows, and no quotes end */
        {"a\tb\n\"1\"\t\"x\n2\ty\n", ",\"-.-0"},
        {"a,b\n'x',1\n2,'y, z'\n", ",'-.-0"},
        {"a,b\n'x',1\n2,\"y\"\n", ",\"-.-0"},
        {"a,b\n1,2\nx,y\n3,'z'\n", ",\"-.-0"}, /* one value is in quotes by accident */
        {"'a',b\n1,2\nx,y\n3,4\n", ",'-.-0"},
        {"a,b\n'x' y,1\n2,z\n", ",\"-.-0"},
        {"a,b\n1,2\n\"x\" ,3\n", ",\"-.-0"},
        {"a;b\n1; \"x;y\"\nz;\"2\"\n", ";\"-.-0"},
        {"one, two\nthree\n\nfour\n", "\x1f\"-.-0"}, /* lines are values */
        {"a,b\n1,2\n3\n", "\x1f\"-.-0"},
        {"\"x\" y, z\na, b\n\nc\n", "\x1f-.-0"},
        {"\"x\"\n\"z, 1\nu", ",\"-.-0"},
        {"say \"x\n\"y, z\n1\n", "\x1f-.-0"},
        {"a,b\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n3\n", ",\"-.-0"}, /* nine of ten divide alike: that is told */
        {"a,b\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n4\n3\n", "\x1f\"-.-0"},
        {"#one, two\n#two\nthree, 4\nfive\n", "\x1f\"#.-0"},
        {"a\tb\n1\t\"x\" y\n2\ty\n", "\t-.-0"},
        {"\"a;b\"\n\"c;d\"\n", ",\"-.-0"},          /* a column in quotes */
        {"T\tx\na\tb\tc\n1\t2\t3\t\n", "\t\"-.-1"}, /* a delimiter behind each record but the header */
        {"a;b\n\"x\n;\";2\n3;\"", ";\"-.-0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_sniffed sniffed;
        char told[64];

        (void)gr_sniff_bytes(cases[i].text, strlen(cases[i].text), i + 1 < sizeof cases / sizeof cases[0], GR_SNIFF_ANY,
                             &sniffed);
        (void)snprintf(told, sizeof told, "%s%s%s%s%s%lld", sniffed.delimiter, sniffed.quote,
                       sniffed.comment[0] == '\0' ? "-" : sniffed.comment, sniffed.decimal,
                       sniffed.thousands[0] == '\0' ? "-" : sniffed.thousands, (long long)sniffed.skip);
        assert_string_equal(told, cases[i].told);
    }
}

static void
headers_are_guessed(void **state)
{
    static const struct {
        const char *text;
        enum gr_guess guess;
    } cases[] = {
        {"", GR_GUESS_NONE},
        {"\n\n", GR_GUESS_NONE},
        {"a,b\n1,2\n", GR_GUESS_SURE},
        {"1,2\n3,4\n", GR_GUESS_NONE},
        {"1,2", GR_GUESS_NONE},
        {"a,b", GR_GUESS_TEXT},
        {"a,1", GR_GUESS_NONE},
        {"a,b\nc,d\n", GR_GUESS_TEXT},
        {"a,b\n1,\n2,\n", GR_GUESS_SURE},
        {",\n1,2\n", GR_GUESS_TEXT},
        {"1,\n2,3\n", GR_GUESS_NONE},
        {"x,2019,2020\ny,1,2\n", GR_GUESS_SURE},
        {"x,2019,2021\ny,1,2\n", GR_GUESS_NONE},
        {"2019,2020\n2019,2020\n", GR_GUESS_NONE},
        {"\"1\",\"x, 1\"\n\"2\",\"y\"\n", GR_GUESS_NONE},
        {"1.5e3,-inf\n2,nan\n", GR_GUESS_NONE},
        {"a\n1e\n", GR_GUESS_TEXT},
        {"t\n12:30:00\n", GR_GUESS_SURE},
        {"2020-01-01T10:00:00Z\n2020-01-01 10:00\n", GR_GUESS_NONE},
        {"ok\nTRUE\nfalse\n", GR_GUESS_SURE},
        {"\\N,1\n1,2\n", GR_GUESS_NONE},
        {"\xef\xbb\xbf-1,2\n3,4\n", GR_GUESS_NONE},
        {"a,b\n1,2,3\n", GR_GUESS_SURE},
        {"09001,x\n09002,y\n", GR_GUESS_TEXT},
        {"\"1\" st,2\n1,2\n", GR_GUESS_SURE},
        {"1\n\"", GR_GUESS_SURE},
    };
    static char dash[] = "-";
    const struct gr_header_style plain = {.delimiter = ',', .decimal = '.'};
    const struct gr_header_style other = {
        .delimiter = ';', .decimal = ',', .thousands = '.', .nulls = &(char *){dash}, .null_count = 1};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(gr_header_guess(cases[i].text, strlen(cases[i].text), &plain, NULL), cases[i].guess);
    }
    assert_int_equal(gr_header_guess("1.234,5;-\n-;2,5\n", 17, &other, NULL), GR_GUESS_NONE);
    assert_int_equal(gr_header_guess("x;2,5\n1.234,5;-\n", 17, &other, NULL), GR_GUESS_SURE);
}

static void
a_list_of_records_becomes_lines(void **state)
{
    static const struct {
        const char *text;
        const char *lines; /* where it begins with '!', what is in the message */
    } cases[] = {
        {"[]", "\n"},
        {" [{\"a\":1}]\n", "{\"a\":1}\n"},
        {"[{\"a\":1},{\"a\":2}]", "{\"a\":1}\n{\"a\":2}\n"},
        {"[\n {\"a\": [1,\n2]},\n\n {\"b\": \"],[\\\"\"}\n]\n", "\n{\"a\": [1, 2]}\n\n\n{\"b\": \"],[\\\"\"}\n"},
        {"[1, \"x\", {}]", "1\n\"x\"\n{}\n"},
        {"{\"a\":1}\n", "{\"a\":1}\n"},
        {"[{}\n{}]", "!:2: no comma stands between two records"},
        {"[{},]", "!:1: a comma stands before the end of the list"},
        {"[,{}]", "!:1: a comma stands where a record should begin"},
        {"[{}]\n\nx", "!:3: something stands outside of the list"},
        {"[{}", "!:1: the list does not end"},
        {"[{\"a", "!:1: the list does not end"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_buf out = {0};
        granary_err err = read_all(cases[i].text, strlen(cases[i].text), NULL, &out);

        if (cases[i].lines[0] == '!') {
            assert_int_equal(err, GRANARY_EINVAL);
            assert_non_null(strstr(granary_error_message(), cases[i].lines + 1));
        } else {
            assert_int_equal(err, GRANARY_OK);
            gr_buf_add(&out, "", 1);
            assert_string_equal(out.bytes, cases[i].lines);
        }
        gr_buf_free(&out);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_dialect_becomes_the_plain_one), cmocka_unit_test(utf_16_is_told_by_its_mark),
        cmocka_unit_test(long_texts_are_cut_nowhere),         cmocka_unit_test(dialects_are_sniffed),
        cmocka_unit_test(a_list_of_records_becomes_lines),    cmocka_unit_test(headers_are_guessed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
