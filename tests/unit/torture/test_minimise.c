/* Of a schedule that fails, the few blows that matter are found, and blows stand in files as they were drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "torture/instance/blows.h"
#include "torture/minimise.h"

#define PLACES_MOST 200u

/* It fails when all of these are in it. */
struct bug {
    const size_t *needs;
    size_t need_count;
    unsigned runs;
};

static bool
fails(void *context, const size_t *places, size_t count)
{
    struct bug *bug = context;
    size_t found = 0;

    bug->runs++;
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || places[i - 1] < places[i]);
        for (size_t j = 0; j < bug->need_count; j++) {
            found += places[i] == bug->needs[j];
        }
    }
    return found == bug->need_count;
}

static void
assert_found(const size_t *needs, size_t need_count, size_t count, unsigned most_runs)
{
    struct bug bug = {needs, need_count, 0};
    size_t places[PLACES_MOST];

    minimise_places(places, &count, fails, &bug);
    assert_int_equal(count, need_count);
    assert_memory_equal(places, needs, need_count * sizeof *places);
    assert_in_range(bug.runs, 1, most_runs);
}

static void
what_matters_is_found(void **state)
{
    (void)state;
    assert_found((const size_t[]){137}, 1, PLACES_MOST, 20);
    assert_found((const size_t[]){0}, 1, PLACES_MOST, 20);
    assert_found((const size_t[]){199}, 1, PLACES_MOST, 20);
    assert_found((const size_t[]){3, 100, 101}, 3, PLACES_MOST, 60);
    assert_found((const size_t[]){0}, 1, 1, 4);
    assert_found(NULL, 0, PLACES_MOST, 2); /* it fails without any blow */
}

static void
blows_are_read_as_they_were_written(void **state)
{
    struct dealer dealer = {.seed = 7,
                            .pause_ms = 500,
                            .rest_ms = 20000,
                            .upgrade_ms = 25000,
                            .stop_least_ms = 1000,
                            .stop_most_ms = 10000,
                            .standby = true};
    struct dealer again = dealer;
    unsigned kinds[BLOW_KINDS] = {0};
    unsigned victims[ROLES] = {0};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct blow blow = blows_draw(&dealer);
        struct blow same = blows_draw(&again);
        struct blow read;
        char *line = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&line, &size);

        assert_non_null(file);
        blows_write(file, &blow);
        assert_int_equal(fclose(file), 0);
        assert_true(blows_read(line, &read));
        free(line);
        assert_int_equal(read.after_ms, blow.after_ms);
        assert_int_equal(read.kind, blow.kind);
        assert_int_equal(read.victim, blow.victim);
        assert_int_equal(read.which, blow.which);
        assert_int_equal(read.stop_ms, blow.stop_ms);
        assert_int_equal(same.which, blow.which); /* the seed decides */
        kinds[blow.kind]++;
        victims[blow.victim] += blow.kind < BLOW_REST;
        assert_false(blow.kind == BLOW_TERM && (blow.victim == ROLE_STORE || blow.victim == ROLE_SUPERVISOR));
    }
    for (size_t i = 0; i < BLOW_KINDS; i++) {
        assert_true(kinds[i] > 10);
    }
    for (enum role role = 0; role < ROLES; role++) { /* nobody is spared */
        assert_in_range(victims[role], victims[0] - 1, victims[0] + 1);
    }
}

/* Of a kind that was not there for long, more fall until it has come up to the others. */
static void
who_fell_less_often_falls_twice(void **state)
{
    uint64_t kills[ROLES];
    struct dealer dealer = {.seed = 7,
                            .pause_ms = 500,
                            .rest_ms = 20000,
                            .stop_least_ms = 1000,
                            .stop_most_ms = 10000,
                            .standby = true,
                            .kills = kills};

    (void)state;
    for (enum role role = 0; role < ROLES; role++) {
        kills[role] = role == ROLE_SLOT ? 0 : 100;
    }
    for (int i = 0; i < 8000; i++) {
        const struct blow blow = blows_draw(&dealer);

        kills[blow.victim] += blow.kind == BLOW_KILL;
    }
    for (enum role role = 0; role < ROLES; role++) {
        assert_in_range(kills[role], kills[ROLE_SLOT] - 60, kills[ROLE_SLOT] + 60);
    }
}

static void
what_is_no_blow_is_refused(void **state)
{
    static const char *const lines[] = {"",
                                        "12",
                                        "12 hug store 1",
                                        "-1 kill store 1",
                                        "x kill store 1",
                                        "12 kill king 1",
                                        "12 kill store",
                                        "12 stop store 1"};
    struct blow blow;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_false(blows_read(lines[i], &blow));
    }
    assert_true(blows_read("12 rest\n", &blow));
    assert_int_equal(blow.kind, BLOW_REST);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_matters_is_found),
        cmocka_unit_test(blows_are_read_as_they_were_written),
        cmocka_unit_test(who_fell_less_often_falls_twice),
        cmocka_unit_test(what_is_no_blow_is_refused),
    };

    return cmocka_run_group_tests_name("minimise", tests, NULL, NULL);
}
