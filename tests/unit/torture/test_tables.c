/* The verdict on writers and readers of tables: what can be true passes, and each kind of what cannot is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/caller.h"
#include "data/frame.h"
#include "torture/tables/row.h"
#include "torture/tables/verdict.h"

/* ---- the verdict ---- */

static void
begin(struct journal *journal)
{
    assert_true(journal_create(journal, "/tmp", "nowhere", 2, 1, 64));
    atomic_store(&journal->board->lives, 3);
}

/* Findings, after which there is nothing. */
static size_t
findings_of(struct journal *journal)
{
    FILE *nowhere = fopen("/dev/null", "w");
    size_t findings;

    assert_non_null(nowhere);
    findings = verdict_of(journal, nowhere);
    (void)fclose(nowhere);
    journal_destroy(journal);
    return findings;
}

/* An append of two rows to table 0, by the writer of that number in the life of that number. */
static struct append *
put(struct journal *journal, uint32_t life, int64_t asked, int64_t after, int64_t time)
{
    struct append *append =
        hand_begin(journal->hands[life % 2], (struct append){.asked = asked, .after = after, .life = life, .rows = 2});

    assert_non_null(append);
    if (time != 0) {
        hand_done(journal->hands[life % 2], append, time);
    }
    return append;
}

/* A read that saw these, all of one life. */
static void
see(struct journal *journal, struct read read, uint32_t life, struct append *const *appends, size_t count)
{
    struct sight sight = {.life = life};
    struct sighting sighting = {.sights = &sight, .count = count > 0};

    for (size_t i = 0; i < count; i++) {
        const struct origin origin = hand_origin(journal->hands[life % 2], appends[i]);

        sight.appends++;
        sight.sum += row_sum(&origin);
    }
    diary_note(journal->diaries[0], read, &sighting);
}

static void
see_at(struct journal *journal, int64_t time, uint32_t life, struct append *const *appends, size_t count)
{
    see(journal, (struct read){.kind = READ_PAST, .from = time, .time = time, .acknowledged = INT64_MIN}, life, appends,
        count);
}

static void
what_can_be_is_accepted(void **state)
{
    struct journal journal;
    struct append *appends[3], *refused;

    (void)state;
    begin(&journal);
    appends[0] = put(&journal, 0, GRANARY_NOW, INT64_MIN, 10);
    appends[1] = put(&journal, 0, 7, INT64_MIN, 7);
    refused = put(&journal, 0, 3, 5, 0);
    hand_refused(refused);
    appends[2] = put(&journal, 0, 12, 10, 0); /* its writer died */
    see_at(&journal, 6, 0, appends, 0);
    see_at(&journal, 7, 0, appends + 1, 1);
    see_at(&journal, 11, 0, appends, 2);
    see_at(&journal, 12, 0, appends, 3);
    see_at(&journal, 20, 0, appends, 3);
    see(&journal, (struct read){.kind = READ_NOW, .from = 7, .time = 12, .acknowledged = 7}, 0, appends, 2);
    (void)put(&journal, 2, GRANARY_NOW, 20, 0); /* this one's, too, and nobody has seen it */
    assert_int_equal(findings_of(&journal), 0);
}

#define NO_TIME INT64_MIN

static void
what_was_acknowledged_is_missed(void **state)
{
    struct journal journal;
    struct append *appends[2];

    (void)state;
    begin(&journal);
    appends[0] = put(&journal, 0, GRANARY_NOW, NO_TIME, 10);
    appends[1] = put(&journal, 0, GRANARY_NOW, NO_TIME, 11);
    see_at(&journal, 11, 0, appends, 1);
    see_at(&journal, 11, 0, appends + 1, 1);
    see_at(&journal, 30, 0, appends, 0);
    see(&journal, (struct read){.kind = READ_NOW, .from = 11, .time = 12, .acknowledged = 11}, 0, appends, 1);
    assert_int_equal(findings_of(&journal), 4);
}

static void
what_is_there_too_soon_is_found(void **state)
{
    struct journal journal;
    struct append *append;

    (void)state;
    begin(&journal);
    append = put(&journal, 0, GRANARY_NOW, NO_TIME, 10);
    see_at(&journal, 9, 0, &append, 1);
    assert_int_equal(findings_of(&journal), 1);
}

static void
what_was_refused_is_found(void **state)
{
    struct journal journal;
    struct append *append;

    (void)state;
    begin(&journal);
    append = put(&journal, 0, 5, NO_TIME, 0);
    hand_refused(append);
    see_at(&journal, 9, 0, &append, 1);
    assert_int_equal(findings_of(&journal), 1);
}

static void
what_nobody_began_is_found(void **state)
{
    struct journal journal;
    struct sight sight = {.life = 100, .appends = 1, .sum = 1};
    const struct sighting sighting = {.sights = &sight, .count = 1};

    (void)state;
    begin(&journal);
    diary_note(journal.diaries[0], (struct read){.from = 9, .time = 9, .acknowledged = NO_TIME}, &sighting);
    assert_int_equal(findings_of(&journal), 1);
}

static void
times_that_were_final_are_found(void **state)
{
    struct journal journal;
    struct append *append;

    (void)state;
    begin(&journal);
    (void)put(&journal, 0, GRANARY_NOW, 10, 10);
    append = put(&journal, 0, 11, 10, 11);
    append->forward = true;
    (void)put(&journal, 1, 11, 10, 12); /* without forward */
    append = put(&journal, 1, 15, 10, 14);
    append->forward = true;
    assert_int_equal(findings_of(&journal), 3);
}

static void
an_append_without_end_is_there_or_not(void **state)
{
    struct journal journal;
    struct append *append;

    (void)state;
    begin(&journal); /* it is there, then it is not */
    append = put(&journal, 0, GRANARY_NOW, 5, 0);
    see_at(&journal, 20, 0, &append, 1);
    see_at(&journal, 21, 0, &append, 0);
    assert_int_equal(findings_of(&journal), 1);
    begin(&journal); /* it came at a time that had been answered */
    append = put(&journal, 0, GRANARY_NOW, 5, 0);
    see_at(&journal, 20, 0, &append, 0);
    see_at(&journal, 20, 0, &append, 1);
    assert_int_equal(findings_of(&journal), 1);
    begin(&journal); /* ... before it began */
    append = put(&journal, 0, GRANARY_NOW, 20, 0);
    see_at(&journal, 20, 0, &append, 1);
    assert_int_equal(findings_of(&journal), 1);
    begin(&journal); /* it is there at another time than it was given */
    append = put(&journal, 0, 18, 5, 0);
    see_at(&journal, 19, 0, &append, 0);
    see_at(&journal, 20, 0, &append, 1);
    assert_int_equal(findings_of(&journal), 1);
}

static void
now_is_not_the_past(void **state)
{
    struct journal journal;
    struct append *append;

    (void)state;
    begin(&journal);
    append = put(&journal, 0, GRANARY_NOW, NO_TIME, 10);
    see(&journal, (struct read){.kind = READ_CUT, .from = 10, .time = 10, .acknowledged = 11}, 0, &append, 1);
    assert_int_equal(findings_of(&journal), 1);
}

/* ---- what a reader sees ---- */

/* A frame of these rows of an append, one behind the other; row 1000: the first one, damaged. */
static granary_frame *
frame_of(const uint64_t *numbers, const uint32_t *indexes, size_t count)
{
    const granary_frame *parts[8];
    granary_frame *whole = NULL;
    struct rows *rows = rows_create();

    assert_non_null(rows);
    for (size_t i = 0; i < count; i++) {
        const struct origin origin = {.life = 1, .number = numbers[i], .asked = GRANARY_NOW, .rows = 3};
        const granary_column *columns = rows_fill(rows, &origin);
        granary_frame *frame = NULL, *part = NULL;

        assert_int_equal(gr_caller_frame(columns, ROW_COLUMNS, origin.rows, &frame), GRANARY_OK);
        assert_int_equal(gr_frame_slice(frame, indexes[i] % 1000, 1, &part), GRANARY_OK);
        if (indexes[i] == 1000) {
            ((int64_t *)(uintptr_t)granary_frame_column_named(part, "number")->values)[0]++;
        }
        gr_frame_destroy(frame);
        parts[i] = part;
    }
    assert_int_equal(gr_frame_concat(parts, count, &whole), GRANARY_OK);
    for (size_t i = 0; i < count; i++) {
        gr_frame_destroy((granary_frame *)(uintptr_t)parts[i]);
    }
    rows_destroy(rows);
    return whole;
}

static enum flaw
flaw_of(const uint64_t *numbers, const uint32_t *indexes, size_t count)
{
    granary_frame *frame = frame_of(numbers, indexes, count);
    struct eye *eye = eye_open();
    enum flaw flaw;

    assert_non_null(eye);
    flaw = eye_look(eye, frame, 0)->flaw;
    assert_int_equal(eye_look(eye, frame, 0)->flaw, flaw); /* it remembers nothing */
    eye_close(eye);
    gr_frame_destroy(frame);
    return flaw;
}

static void
readers_find_what_is_wrong_in_rows(void **state)
{
    const uint64_t one[] = {4, 4, 4, 4, 4, 4}, two[] = {4, 4, 4, 6, 6, 6}, back[] = {6, 6, 6, 4, 4, 4};
    const uint32_t all[] = {0, 1, 2, 0, 1, 2}, gap[] = {0, 2}, twice[] = {0, 0, 1}, damaged[] = {1000, 1, 2};

    (void)state;
    assert_int_equal(flaw_of(two, all, 6), FLAW_NONE);
    assert_int_equal(flaw_of(back, all, 6), FLAW_ORDER);
    assert_int_equal(flaw_of(one, all, 6), FLAW_ORDER); /* twice the same */
    assert_int_equal(flaw_of(two, all, 5), FLAW_HALF);
    assert_int_equal(flaw_of(two, all + 1, 2), FLAW_HALF);
    assert_int_equal(flaw_of(one, gap, 2), FLAW_HALF);
    assert_int_equal(flaw_of(one, twice, 3), FLAW_HALF);
    assert_int_equal(flaw_of(one, damaged, 3), FLAW_ROW);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_is_accepted),
        cmocka_unit_test(what_was_acknowledged_is_missed),
        cmocka_unit_test(what_is_there_too_soon_is_found),
        cmocka_unit_test(what_was_refused_is_found),
        cmocka_unit_test(what_nobody_began_is_found),
        cmocka_unit_test(times_that_were_final_are_found),
        cmocka_unit_test(an_append_without_end_is_there_or_not),
        cmocka_unit_test(now_is_not_the_past),
        cmocka_unit_test(readers_find_what_is_wrong_in_rows),
    };

    return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
