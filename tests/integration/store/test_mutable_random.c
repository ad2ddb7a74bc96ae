/*
 * Random operations on mutable frames, beside a naive model. Between two of them the store is killed now and then, and now and
 * then a process in the midst of one. GRANARY_RANDOM_OPERATIONS says how many, GRANARY_RANDOM_SEED which.
 */
#include <stdio.h>

#include "fixture.h"
#include "mutable_model.h"

#define RESTART_ONE_OF 700 /* operations */

static void
random_operations_equal_a_model(void **state)
{
    const size_t count = (size_t)setting("GRANARY_RANDOM_OPERATIONS", 8000);
    struct model model = {.state = state,
                          .course = {.client = fixture_connect(state), .seed = setting("GRANARY_RANDOM_SEED", 1)}};
    size_t restarts = 0;

    while (model.course.operations < count) {
        model_begin(&model);
        do {
            model_step(&model);
            if (draw(&model.course, RESTART_ONE_OF) == 0) {
                fixture_restart(state);
                restarts++;
            }
        } while (model.course.operations % TABLE_LIFE != 0 && model.course.operations < count);
        model_check_past(&model);
        if (draw(&model.course, 2) == 0) {
            model_seal(&model);
        }
        model_end(&model);
    }
    (void)printf(
        "%zu operations: %zu reads, %zu rows deleted, %zu written over, %zu writes refused; killed: %zu stores, %zu "
        "writers\n",
        model.course.operations, model.reads, model.deleted, model.overwritten, model.refused, restarts, model.killed);
    assert_true(model.reads > 0 && model.deleted > 0 && model.overwritten > 0 && model.refused > 0);
    assert_true(restarts > 0 && model.killed > 0);
    granary_disconnect(model.course.client);
}

/* The same with power cuts: of a table that is durable on commit, and of one that is flushed before. */
static void
durable_tables_equal_a_model(void **state)
{
    const size_t count = (size_t)setting("GRANARY_RANDOM_OPERATIONS", 1200);
    struct model model = {
        .course = {.client = fixture_connect_briefly(state), .seed = setting("GRANARY_RANDOM_SEED", 2)}};
    size_t cuts = 0;

    while (model.course.operations < count) {
        const bool on_commit = draw(&model.course, 2) == 0;

        model.course.how =
            (granary_mutable_options){.durability = on_commit ? GRANARY_DURABLE_COMMIT : GRANARY_DURABLE_INTERVAL,
                                      .interval_ns = on_commit ? 0 : 1 + (int64_t)draw(&model.course, 10000000)};
        model_begin(&model);
        do {
            model_step(&model);
            if (draw(&model.course, 40) == 0) {
                if (!on_commit) {
                    assert_ok(granary_mutable_flush(draw_handle(&model.course)));
                }
                course_cut_power(&model.course, state);
                model_check_past(&model);
                cuts++;
            }
        } while (model.course.operations % TABLE_LIFE != 0 && model.course.operations < count);
        model_check_past(&model);
        if (draw(&model.course, 2) == 0) {
            model_seal(&model);
        }
        model_end(&model);
    }
    (void)printf("%zu operations, %zu power cuts: %zu reads\n", model.course.operations, cuts, model.reads);
    assert_true(cuts > 0);
    granary_disconnect(model.course.client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_operations_equal_a_model, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(durable_tables_equal_a_model, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
