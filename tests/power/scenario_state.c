/*
 * A scheduler with executors that run nothing: graphs are submitted, end and are deleted, the scheduler is stopped and
 * killed in between. A graph whose submit was answered is known on every disk, one whose deletion was answered is not.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "integration/sched/rig.h"
#include "power/scenario.h"

enum { GRAPHS = 12 };

static const char *const lines[] = {"a", "b a", "c a", "d b c"};

static void
rig_at(struct stage *stage, struct rig *rig)
{
    *rig = (struct rig){0};
    (void)snprintf(rig->directory, sizeof rig->directory, "%s", stage->instance);
    (void)gr_instance_resolve(rig->directory, &rig->instance);
    rig->context = gr_zmq_context_create(1);
}

static void
rig_end(struct rig *rig)
{
    for (int slot = 0; slot < RIG_EXECUTORS; slot++) {
        rig_executor_kill(rig, slot);
    }
    if (rig->sched > 0) {
        (void)rig_stop(rig, SIGKILL);
    }
    gr_zmq_close(rig->client);
    gr_zmq_context_destroy(rig->context);
}

static void
submit(struct stage *stage, struct rig *rig, int graph)
{
    char key[16];

    (void)snprintf(key, sizeof key, "g%d", graph);
    stage_note(stage, "submitting %d", graph);
    assert_int_equal(rig_submit(rig, key, lines, 4), GRANARY_OK);
    stage_note(stage, "kept %d", graph);
}

static void delete (struct stage *stage, struct rig *rig, int graph)
{
    char key[16];

    (void)snprintf(key, sizeof key, "g%d", graph);
    stage_note(stage, "deleting %d", graph);
    assert_int_equal(rig_ref(rig, GRANARY__REQUEST__BODY_DELETE, key), GRANARY_OK);
    stage_note(stage, "deleted %d", graph);
}

static void
restart(struct rig *rig, int signal)
{
    for (int slot = 0; slot < 2; slot++) {
        rig_executor_kill(rig, slot);
    }
    (void)rig_stop(rig, signal);
    assert_true(rig_start(rig, "sqlite"));
    for (int slot = 0; slot < 2; slot++) {
        rig_executor_start(rig, slot);
    }
}

static bool
record_state(struct stage *stage)
{
    struct rig rig;

    rig_at(stage, &rig);
    if (!rig_start(&rig, "sqlite")) {
        return stage_fail(stage, "%s", rig.said);
    }
    submit(stage, &rig, 0);
    submit(stage, &rig, 1);
    rig_executor_start(&rig, 0);
    rig_executor_start(&rig, 1);
    assert_int_equal(rig_wait(&rig, "g0", NULL), GRANARY_OK);
    delete (stage, &rig, 0);
    submit(stage, &rig, 2);
    restart(&rig, SIGKILL);
    assert_int_equal(rig_wait(&rig, "g2", NULL), GRANARY_OK);
    submit(stage, &rig, 3);
    restart(&rig, SIGTERM);
    submit(stage, &rig, 4);
    delete (stage, &rig, 1);
    restart(&rig, SIGKILL);
    for (int i = 5; i < GRAPHS; i++) {
        submit(stage, &rig, i);
    }
    delete (stage, &rig, 7);
    restart(&rig, SIGTERM);
    submit(stage, &rig, 0);
    rig_end(&rig);
    return true;
}

/* What must be true of a graph. */
enum fate { NOT_YET, KEPT, DELETING, DELETED };

static void
read_promises(const struct disks *disks, enum fate fates[static GRAPHS])
{
    const char *note;
    size_t index = 0;
    int graph;

    memset(fates, 0, GRAPHS * sizeof *fates);
    while ((note = disks_note(disks, &index)) != NULL) {
        if (sscanf(note, "submitting %d", &graph) == 1) {
            fates[graph] = NOT_YET;
        } else if (sscanf(note, "kept %d", &graph) == 1) {
            fates[graph] = KEPT;
        } else if (sscanf(note, "deleting %d", &graph) == 1) {
            fates[graph] = DELETING;
        } else if (sscanf(note, "deleted %d", &graph) == 1) {
            fates[graph] = DELETED;
        }
    }
}

static bool
check_graph(struct stage *stage, struct rig *rig, int graph, enum fate fate)
{
    char key[16];
    granary_err err;

    (void)snprintf(key, sizeof key, "g%d", graph);
    err = rig_ref(rig, GRANARY__REQUEST__BODY_EXPLAIN, key);
    if (err != GRANARY_OK && err != GRANARY_ENOENT) {
        return stage_fail(stage, "graph %s: %s", key, granary_error_name(err));
    }
    if (err != GRANARY_OK && fate == KEPT && !stage->lying) {
        return stage_fail(stage, "graph %s is lost", key);
    }
    return err != GRANARY_OK || fate != DELETED || stage->lying || stage_fail(stage, "graph %s is back", key);
}

static bool
check_state(struct stage *stage, const struct disks *disks)
{
    enum fate fates[GRAPHS];
    struct rig rig;
    bool ok;

    read_promises(disks, fates);
    rig_at(stage, &rig);
    ok = rig_start(&rig, "sqlite");
    if (!ok) {
        rig_end(&rig);
        return (stage->lying && strstr(rig.said, "damaged") != NULL) ||
               stage_fail(stage, "the scheduler does not start: %s", rig.said);
    }
    for (int i = 0; i < GRAPHS && ok; i++) {
        ok = check_graph(stage, &rig, i, fates[i]);
    }
    if (ok && rig_submit(&rig, "new", lines, 4) != GRANARY_OK) {
        ok = stage_fail(stage, "a new graph is refused");
    }
    rig_end(&rig);
    return ok;
}

const struct scenario scenario_state = {.name = "state", .record = record_state, .check = check_state};
