/*
 * Random operations on mutable frames, beside a naive model. In the midst of one the store is killed now and then, and now and
 * then the process that does it. GRANARY_RANDOM_OPERATIONS says how many, GRANARY_RANDOM_SEED which.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "integration/store/fixture.h"
#include "mutable_model.h"

#define RESTART_ONE_OF 700 /* operations */
#define CUT_ONE_OF     40
#define YIELDS_MOST    200

/* Tables until there were so many operations: made by how, and after one of so many operations something interrupts them. */
static void
play(struct model *model, size_t count, uint64_t one_of, void (*how)(struct model *), void (*interrupt)(struct model *))
{
    size_t interrupted = 0;

    while (model->course.operations < count) {
        how(model);
        model_begin(model);
        do {
            model_step(model);
            if (draw(&model->course, one_of) == 0) {
                interrupt(model);
                interrupted++;
            }
        } while (model->course.operations % TABLE_LIFE != 0 && model->course.operations < count);
        model_check_past(model);
        if (draw(&model->course, 2) == 0) {
            model_seal(model);
        }
        model_end(model);
    }
    (void)printf(
        "%zu operations: %zu reads, %zu rows deleted, %zu written over, %zu writes refused; %zu interruptions, %zu "
        "writers killed\n",
        model->course.operations, model->reads, model->deleted, model->overwritten, model->refused, interrupted,
        model->killed);
    assert_true(model->reads > 0 && model->deleted > 0 && model->overwritten > 0 && model->refused > 0);
    assert_true(interrupted > 0 && model->killed > 0);
    granary_disconnect(model->course.client);
}

static void
in_memory(struct model *model)
{
    model->course.how = (granary_mutable_options){.durability = GRANARY_DURABLE_NONE};
}

static void *
step(void *model)
{
    model_step(model);
    return NULL;
}

/* The store is killed while an operation is done, at any of its instants. What needs the store waits for the next one. */
static void
kill_store(struct model *model)
{
    void **state = model->state;
    const uint64_t yields = draw(&model->course, YIELDS_MOST);
    pthread_t thread;

    model->state = NULL; /* a child could not connect */
    assert_int_equal(pthread_create(&thread, NULL, step, model), 0);
    for (uint64_t i = 0; i < yields; i++) {
        (void)sched_yield();
    }
    fixture_restart(state);
    assert_int_equal(pthread_join(thread, NULL), 0);
    model->state = state;
}

static void
random_operations_equal_a_model(void **state)
{
    struct model model = {.state = state,
                          .course = {.client = fixture_connect(state), .seed = setting("GRANARY_RANDOM_SEED", 1)}};

    play(&model, (size_t)setting("GRANARY_RANDOM_OPERATIONS", 8000), RESTART_ONE_OF, in_memory, kill_store);
}

static void
on_disk(struct model *model)
{
    const bool on_commit = draw(&model->course, 2) == 0;

    model->course.how =
        (granary_mutable_options){.durability = on_commit ? GRANARY_DURABLE_COMMIT : GRANARY_DURABLE_INTERVAL,
                                  .interval_ns = on_commit ? 0 : 1 + (int64_t)draw(&model->course, 10000000)};
}

static void
cut_power(struct model *model)
{
    if (model->course.how.durability == GRANARY_DURABLE_INTERVAL) {
        assert_ok(granary_mutable_flush(draw_handle(&model->course)));
    }
    course_cut_power(&model->course, model->state);
    model_check(model, model->course.frontier); /* which makes it final, if there was no write yet */
    model_check_past(model);
}

/* The same with power cuts: of a table that is durable on commit, and of one that is flushed before. */
static void
durable_tables_equal_a_model(void **state)
{
    struct model model = {
        .state = state,
        .course = {.client = fixture_connect_briefly(state), .seed = setting("GRANARY_RANDOM_SEED", 2)}};

    play(&model, (size_t)setting("GRANARY_RANDOM_OPERATIONS", 1200), CUT_ONE_OF, on_disk, cut_power);
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
