/* Why something waits: every state has an answer; and waits of user code that can never end are found and ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"
#include "build.h"
#include "drive.h"
#include "fake_plan.h"
#include "granary/graph.h"
#include "sched/executors/waits.h"
#include "sched/info/why.h"

/* Ask as a client does; the answer is the rig's. */
static const char *
why(struct rig *rig, const char *subject)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Why body = GRANARY__WHY__INIT;

    body.subject = (char *)(uintptr_t)subject;
    message.body_case = GRANARY__REQUEST__BODY_WHY;
    message.why = &body;
    manager_request(rig->manager, ++rig->ticket, &message, rig->now_ns);
    rig_turn(rig);
    assert_int_equal(rig->answered, rig->ticket);
    return rig->reply->err == GRANARY_OK ? rig->reply->text : rig->reply->message;
}

static void
says(struct rig *rig, const char *subject, const char *words)
{
    const char *text = why(rig, subject);

    if (strstr(text, words) == NULL) {
        print_message("'%s' is not in:\n%s\n", words, text);
    }
    assert_non_null(strstr(text, words));
}

static void
is_silent_about(struct rig *rig, const char *subject, const char *words)
{
    assert_null(strstr(why(rig, subject), words));
}

/* Subtasks of the fake planner are of one kind: 8 that have run make it known. */
static void
waiting_names_what_is_missing_and_who_makes_it(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    char id[GRANARY_ID_TEXT + 1];

    (void)state;
    rig_submit(rig, "k", LINES("a make", "b make a", "!c make b", "!d null c"));
    granary_id_format(fake_plan_object("k", 1), id);
    says(rig, "k/2", "subtask k/2 (node 'c': make) is waiting\nit needs object ");
    says(rig, "k/2", id);
    says(rig, "k/2", "which k/1 (node 'b': make) makes: that is waiting\n  subtask k/1");
    says(rig, "k/2", "    subtask k/0 (node 'a': make) is running\n    executor 1 (pid 1001, band 1) has it for 0 s");
    says(rig, "k/3", "k/2 (node 'c': make)");
    says(rig, "k",
         "graph k of session 's' is running\n0 of 4 subtasks are done, 1 run, 0 are ready, 0 are parked, 3 wait");
    rig_destroy(rig);
}

static void
ready_names_the_lack_of_executors(void **state)
{
    struct rig *rig = rig_create(0, 1000);

    (void)state;
    rig_submit(rig, "k", LINES("!a make"));
    rig->now_ns += 3000000000;
    says(rig, "k/0", "everything it needs is there, for 3 s\nno executor is there: 0 slots of the pool");
    rig_destroy(rig);
}

static void
ready_names_who_has_the_executors_and_whose_turn_it_is(void **state)
{
    struct rig *rig = rig_create(1, 1000);

    (void)state;
    rig_submit(rig, "k", LINES("!a make"));
    rig->now_ns += 1000000000;
    rig_submit(rig, "m", LINES("!a make", "!b make"));
    rig_submit(rig, "n", LINES("!a make"));
    rig->page = (struct gr_executor_state){.pid = 1001, .phase = GR_PHASE_RUN, .subtask = 1ull << 32, .since_ns = 1};
    says(rig, "m/0", "nothing of its kind has run yet, so it runs alone: it needs an idle executor");
    says(
        rig, "m/0",
        "all 1 executor have work:\n  executor 1 (pid 1001) runs k/0 (node 'a': make) for 1 s, run; 0 subtasks behind");
    says(rig, "m/0", "it takes turns with 1 graph of its session");
    says(rig, "m/1", "2 subtasks of its graph are ready; m/0 (node 'a': make) is next");
    is_silent_about(rig, "m/0", "is next");
    rig_destroy(rig);
}

static void
ready_names_the_lack_of_memory_and_who_has_it(void **state)
{
    struct rig *rig = rig_create(2, 1000);

    (void)state;
    rig_submit(rig, "k", LINES("!a make out_bytes=900"));
    rig_submit(rig, "m", LINES("!a make out_bytes=800"));
    says(rig, "m/0",
         "it needs 0.8 KiB of memory (0.0 KiB inputs, about 0.8 KiB outputs), and there is not so much left");
    says(rig, "m/0", "reserved are 0.9 KiB of 1.0 KiB:\n  0.9 KiB by k/0 (node 'a': make) at executor");
    rig_destroy(rig);
}

static void
ready_names_the_resource_it_needs_and_who_has_it(void **state)
{
    struct rig *rig = rig_create(2, 1000);

    (void)state;
    rig_submit(rig, "k", LINES("!a make need_gpu=1"));
    rig_submit(rig, "m", LINES("!a make need_gpu=1"));
    assert_int_equal(rig->count, 1);
    rig->now_ns += 4000000000;
    says(rig, "m/0", "it needs 1 gpu, and there is not so much left:\n  1 gpu by k/0 (node 'a': make) at executor");
    says(rig, "m/0", "for 4 s");
    is_silent_about(rig, "m/0", "have work");
    rig_destroy(rig);
}

static void
running_names_the_executor_and_what_its_page_tells(void **state)
{
    struct rig *rig = rig_create(1, 1000);

    (void)state;
    rig_submit(rig, "k", LINES("!a make"));
    rig->now_ns += 2000000000;
    rig->page = (struct gr_executor_state){
        .pid = 1001, .phase = GR_PHASE_RUN, .subtask = 1ull << 32, .since_ns = 1000000000, .progress = 0.25};
    says(rig, "k/0", "executor 1 (pid 1001, band 1) runs it for 1 s: it is at work\nits code says 25 % are done");
    rig->page.phase = GR_PHASE_LEASE;
    says(rig, "k/0", "it is getting its inputs; if that takes long, the store waits for memory");
    rig->page.phase = GR_PHASE_RUN;
    rig->page.waits_for = fake_plan_object("elsewhere", 3);
    rig->page.waits_since_ns = 1500000000;
    says(rig, "k/0", "for 0.501 s, and keeps the executor meanwhile\nno graph is to make that object");
    rig->page.subtask = 0; /* it has not begun, or has just ended */
    says(rig, "k/0", "has it for 2 s");
    rig_destroy(rig);
}

static void
parked_names_the_room_that_is_missing(void **state)
{
    struct rig *rig = rig_create(2, 1000);

    (void)state;
    rig_submit(rig, "k", LINES("!a make out_bytes=600"));
    rig_submit(rig, "m", LINES("!a make out_bytes=300"));
    assert_int_equal(rig->count, 2);
    rig_report(rig, GRANARY_EFULL);
    says(rig, "k/0",
         "is parked, not for the first time\nthe store had no room for what it makes (about 0.6 KiB), 1 time");
    says(rig, "k/0", "0.3 KiB by m/0");
    says(rig, "k", "1 are parked");
    rig_destroy(rig);
}

static void
away_names_the_graph_it_goes_on_as(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    const struct given *first;
    Granary__Done done = GRANARY__DONE__INIT;
    char *targets[] = {(char *)(uintptr_t) "x"};

    (void)state;
    rig_submit(rig, "k", LINES("a make", "!b make a"));
    first = &rig->given[0];
    done.number = first->number;
    done.attempt = first->attempt;
    done.nanoseconds = 1000;
    done.go_on = build_graph(LINES("!x make"));
    done.go_on_targets = targets;
    done.n_go_on_targets = 1;
    rig->count = 0;
    manager_done(rig->manager, 1, &done);
    rig_turn(rig);
    granary__graph__free_unpacked(done.go_on, NULL);
    says(rig, "k/0", "is away");
    says(rig, "k/0",
         "it goes on as a graph of its own, holds no executor, and ends with that:\n  graph k+0.1 of session");
    says(rig, "k/0", "subtask k+0.1/0 (node 'x': make) is running");
    says(rig, "k", "is away");
    says(rig, "k/1", "which k/0 (node 'a': make) makes: that is away");
    rig_destroy(rig);
}

static void
the_ended_say_how_they_ended(void **state)
{
    struct rig *rig = rig_create(1, 1000);
    char id[GRANARY_ID_TEXT + 1];

    (void)state;
    rig_submit(rig, "k", LINES("!a make"));
    rig_report(rig, GRANARY_OK);
    says(rig, "k", "graph k of session 's' is succeeded\nit ended");
    says(rig, "k/0", "is succeeded\nexecutor 1 ran it, attempt 1, until");
    granary_id_format(fake_plan_object("k", 0), id);
    says(rig, id,
         "it is a chunk of target 'a' of graph k, and stays until that is deleted\nsubtask k/0 (node 'a': make) makes "
         "it");
    rig_submit(rig, "f", LINES("a make", "!b make a"));
    granary_id_format(fake_plan_object("f", 1), id);
    says(rig, id, "subtask f/1 (node 'b': make) makes it\nsubtask f/1 (node 'b': make) is waiting");
    rig_report(rig, GRANARY_EINVAL);
    says(rig, "f", "is failed\nit ended");
    says(rig, "f", "as told");
    says(rig, "f/0", "is failed, not for the first time\nexecutor 1 ran it, attempt 1, until 0 s ago: as told");
    says(rig, "f/1", "is cancelled");
    assert_int_equal(rig->reply->err, GRANARY_OK);
    says(rig, "f/9", "graph 'f': no subtask '9'");
    assert_int_equal(rig->reply->err, GRANARY_ENOENT);
    says(rig, "nosuch", "'nosuch': no graph of that key, and no object that a graph makes");
    assert_int_equal(rig->reply->err, GRANARY_ENOENT);
    rig_destroy(rig);
}

/* ---- waits ---- */

/* Executor number says what its user code waits for. */
static void
waits_for(struct rig *rig, uint32_t executor, granary_id object, int64_t since_ns)
{
    struct manager_seen seen = {.running_ns = 1, .waits_for = object, .waits_since_ns = since_ns, .attempt = 1};

    for (size_t i = 0; i < rig->count; i++) {
        seen.subtask = rig->given[i].executor == executor ? rig->given[i].number : seen.subtask;
    }
    assert_true(seen.subtask != 0);
    manager_watch(rig->manager, executor, &seen, rig->now_ns);
}

/* The executor told to stop, when all have been looked at; 0: nobody. */
static uint32_t
broken(struct rig *rig)
{
    rig->asked_to_stop = 0;
    manager_watched(rig->manager, rig->now_ns);
    rig_turn(rig);
    return rig->asked_to_stop;
}

/* The only executor waits for what would need it. */
static void
a_wait_for_what_needs_the_same_executor_is_ended(void **state)
{
    struct rig *rig = rig_create(1, 1000);

    (void)state;
    rig_submit(rig, "k", LINES("!a make", "!b make"));
    assert_int_equal(rig->count, 1);
    rig->now_ns += 1500000000;
    waits_for(rig, 1, fake_plan_object("k", 1), rig->now_ns - 900000000);
    assert_int_equal(broken(rig), 0); /* not for long enough */
    waits_for(rig, 1, fake_plan_object("k", 1), rig->now_ns - 1100000000);
    assert_int_equal(broken(rig), 1);
    assert_int_equal(broken(rig), 0); /* it is told once */
    says(rig, "k/0", "it was asked to stop: it waited inside a subtask for what cannot be made while it waits");
    says(rig, "k/0", "k/0 at executor 1 waits for object");
    rig_report(rig, GRANARY_ECANCELLED);
    says(rig, "k", "is failed");
    says(rig, "k", "which k/1 is to make");
    rig_destroy(rig);
}

/* As soon as somebody outside can run it, it is no cycle. */
static void
a_wait_that_can_end_is_left_alone(void **state)
{
    struct rig *rig = rig_create(2, 1000);

    (void)state;
    rig_submit(rig, "k", LINES("!a make", "!b make", "!c make"));
    assert_int_equal(rig->count, 2);
    rig->now_ns += 5000000000;
    waits_for(rig, rig->given[0].executor, fake_plan_object("k", 2), 1); /* the other one is at work, and may end */
    assert_int_equal(broken(rig), 0);
    waits_for(rig, rig->given[0].executor, fake_plan_object("other", 0), 1); /* nobody here makes it */
    waits_for(rig, rig->given[1].executor, fake_plan_object("other", 1), 1);
    assert_int_equal(broken(rig), 0);
    rig_destroy(rig);
}

/* Two that wait for one another, and one that waits for itself through what comes behind it. */
static void
cycles_through_several_are_found(void **state)
{
    struct rig *rig = rig_create(2, 1000);
    uint32_t first;
    uint32_t second;

    (void)state;
    rig_submit(rig, "k", LINES("!a make", "!b make", "c make a", "!d make c"));
    first = rig->given[0].executor;
    second = rig->given[1].executor;
    rig->now_ns += 5000000000;
    waits_for(rig, first, fake_plan_object("k", 1), 10);
    waits_for(rig, second, fake_plan_object("k", 0), 20);
    assert_int_equal(broken(rig), second); /* the younger one */
    rig_destroy(rig);

    rig = rig_create(2, 1000);
    rig_submit(rig, "k", LINES("!a make", "!b make", "c make a", "!d make c"));
    first = rig->given[0].executor;
    rig->now_ns += 5000000000;
    waits_for(rig, first, fake_plan_object("k", 3), 10); /* a waits for d, which needs c, which needs a */
    assert_int_equal(broken(rig), first);
    rig_destroy(rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_names_what_is_missing_and_who_makes_it),
        cmocka_unit_test(ready_names_the_lack_of_executors),
        cmocka_unit_test(ready_names_who_has_the_executors_and_whose_turn_it_is),
        cmocka_unit_test(ready_names_the_lack_of_memory_and_who_has_it),
        cmocka_unit_test(ready_names_the_resource_it_needs_and_who_has_it),
        cmocka_unit_test(running_names_the_executor_and_what_its_page_tells),
        cmocka_unit_test(parked_names_the_room_that_is_missing),
        cmocka_unit_test(away_names_the_graph_it_goes_on_as),
        cmocka_unit_test(the_ended_say_how_they_ended),
        cmocka_unit_test(a_wait_for_what_needs_the_same_executor_is_ended),
        cmocka_unit_test(a_wait_that_can_end_is_left_alone),
        cmocka_unit_test(cycles_through_several_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
