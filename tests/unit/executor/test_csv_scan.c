/* The scan of a block from every start state, against the automaton run byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/csv/find/csv_scan.h"
#include "kernel/simd/csv.h"

/* The table of csv_scan.h, written down once more. 'R' at record, ... ; '!' in the second place: a record ends. */
static void
reference(const char *bytes, size_t size, char delimiter, int start, struct csv_scan *ret)
{
    static const char *const table[CSV_STATES][5] = {
        /* quote, delimiter, LF, CR, other */
        {"3", "1", "0", "5", "2"}, {"3", "1", "0!", "5!", "2"}, {"2", "1", "0!", "5!", "2"},
        {"4", "3", "3", "3", "3"}, {"3", "1", "0!", "5!", "2"}, {"3", "1", "0", "5", "2"},
    };
    int state = start;

    *ret = (struct csv_scan){.first_record = -1};
    if (start == CSV_AT_RECORD) {
        ret->first_record = 0;
    } else if (start == CSV_AFTER_CR) {
        ret->first_record = size > 0 && bytes[0] == '\n';
    }
    for (size_t i = 0; i < size; i++) {
        int kind = bytes[i] == '"' ? 0 : bytes[i] == delimiter ? 1 : bytes[i] == '\n' ? 2 : bytes[i] == '\r' ? 3 : 4;
        const char *next = table[state][kind];

        state = next[0] - '0';
        if (next[1] == '!') {
            ret->records++;
            if (ret->first_record < 0) {
                ret->first_record = (int64_t)i + 1 + (bytes[i] == '\r' && i + 1 < size && bytes[i + 1] == '\n');
            }
        }
    }
    ret->end = (enum csv_state)state;
}

static void
check_scans(const char *bytes, size_t size, char delimiter, const struct csv_scan scans[CSV_STATES])
{
    for (int s = 0; s < CSV_STATES; s++) {
        struct csv_scan want;

        reference(bytes, size, delimiter, s, &want);
        if (scans[s].end != want.end || scans[s].records != want.records ||
            scans[s].first_record != want.first_record) {
            fail_msg("start %d: end %d records %llu first %lld, not %d %llu %lld, in %zu bytes: %.*s", s, scans[s].end,
                     (unsigned long long)scans[s].records, (long long)scans[s].first_record, want.end,
                     (unsigned long long)want.records, (long long)want.first_record, size, (int)(size > 80 ? 80 : size),
                     bytes);
        }
    }
}

static void
check(const char *bytes, size_t size, char delimiter)
{
    struct csv_scan scans[CSV_STATES];
    struct csv_looks looks = {0};

    csv_scan(bytes, size, delimiter, scans);
    check_scans(bytes, size, delimiter, scans);
    SIMD_CALL(csv_look)(bytes, size / 3, &looks); /* in two steps */
    SIMD_CALL(csv_look)(bytes + size / 3, size - size / 3, &looks);
    assert_int_equal(looks.quotes, size > 0 && memchr(bytes, '"', size) != NULL);
    assert_int_equal(looks.lines, csv_count_lines(bytes, size));
    assert_int_equal(looks.line_ends, SIMD_CALL(csv_line_ends)(bytes, size, false));
    assert_false(looks.wide);
    if (!looks.quotes) {
        csv_scan_unquoted(bytes, size, delimiter, looks.line_ends, scans);
        check_scans(bytes, size, delimiter, scans);
    }
}

/* Every text of up to seven bytes over the alphabet that matters. */
static void
short_texts_are_scanned_like_the_table_says(void **state)
{
    static const char alphabet[] = {'"', ',', '\n', '\r', 'x'};
    char text[7];

    (void)state;
    for (size_t length = 0; length <= sizeof text; length++) {
        size_t count = 1;

        for (size_t i = 0; i < length; i++) {
            count *= sizeof alphabet;
        }
        for (size_t number = 0; number < count; number++) {
            size_t rest = number;

            for (size_t i = 0; i < length; i++, rest /= sizeof alphabet) {
                text[i] = alphabet[rest % sizeof alphabet];
            }
            check(text, length, ',');
        }
    }
}

static void
random_texts_are_scanned_like_the_table_says(void **state)
{
    static const char alphabet[] = "\"\"\",;\n\nxxxxxxxxxx\r";
    size_t room = 20000;
    char *text = malloc(room);

    (void)state;
    assert_non_null(text);
    srandom(7);
    for (int round = 0; round < 300; round++) {
        size_t letters = 1 + (size_t)random() % (sizeof alphabet - 1);
        size_t size = (size_t)random() % room;

        for (size_t i = 0; i < size; i++) {
            text[i] = alphabet[sizeof alphabet - 2 - (size_t)random() % letters];
        }
        check(text, size, round % 2 == 0 ? ',' : ';');
    }
    free(text);
}

/* Scanning two halves and joining them is scanning the whole, wherever it is cut. */
static void
halves_join_to_the_whole(void **state)
{
    static const char text[] = "a,b\r\n\"x\r\ny\",2\r3,\"\"\"4\"\"\"\n\n5,6\r\n\"7\"x\"y,8";
    size_t size = sizeof text - 1;
    struct csv_scan whole[CSV_STATES];

    (void)state;
    csv_scan(text, size, ',', whole);
    for (size_t cut = 0; cut <= size; cut++) {
        struct csv_scan left[CSV_STATES];
        struct csv_scan right[CSV_STATES];

        csv_scan(text, cut, ',', left);
        csv_scan(text + cut, size - cut, ',', right);
        for (int s = 0; s < CSV_STATES; s++) {
            assert_int_equal(right[left[s].end].end, whole[s].end);
            assert_int_equal(left[s].records + right[left[s].end].records, whole[s].records);
        }
    }
}

static void
lines_are_counted(void **state)
{
    (void)state;
    assert_int_equal(csv_count_lines("", 0), 0);
    assert_int_equal(csv_count_lines("\"\n\n\"\r\n\r", 7), 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_texts_are_scanned_like_the_table_says),
        cmocka_unit_test(random_texts_are_scanned_like_the_table_says),
        cmocka_unit_test(halves_join_to_the_whole),
        cmocka_unit_test(lines_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
