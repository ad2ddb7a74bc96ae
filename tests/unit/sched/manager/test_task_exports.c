/* Libraries in the scheduler's core: kept, bound to graphs, sent ahead of what needs them, and gone when nobody does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager_rig.h"
#include "sched/functions/libraries.h"

#include "base/id.h"
#include "graph/graph.h"
#include "unit/sched/build.h"

#define V1 "11111111111111111111111111111111"
#define V2 "22222222222222222222222222222222"

static void
fill_library(Granary__Library *library, Granary__Symbol *symbol, const char *name, const char *version)
{
    static Granary__Symbol *pointer;
    static uint8_t id[16];

    memset(id, version[0], sizeof id);
    *library = (Granary__Library)GRANARY__LIBRARY__INIT;
    *symbol = (Granary__Symbol)GRANARY__SYMBOL__INIT;
    pointer = symbol;
    symbol->name = (char *)(uintptr_t) "f";
    library->session = (char *)(uintptr_t) "s";
    library->name = (char *)(uintptr_t)name;
    library->version = (char *)(uintptr_t)version;
    library->object.data = id;
    library->object.len = sizeof id;
    library->symbols = &pointer;
    library->n_symbols = 1;
}

static granary_err export(struct rig *rig, const char *name, const char *version)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Library library;
    Granary__Symbol symbol;

    fill_library(&library, &symbol, name, version);
    message.body_case = GRANARY__REQUEST__BODY_EXPORT;
    message.export = &library;
    return request(rig, &message, 0);
}

static granary_err
unexport(struct rig *rig, const char *name, const char *version)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Unexport body = GRANARY__UNEXPORT__INIT;

    body.session = (char *)(uintptr_t) "s";
    body.name = (char *)(uintptr_t)name;
    body.version = (char *)(uintptr_t)version;
    message.body_case = GRANARY__REQUEST__BODY_UNEXPORT;
    message.unexport = &body;
    return request(rig, &message, 0);
}

/* What was kept of the last turns, and nothing else from now on. */
static void
assert_kept(struct rig *rig, const char *want)
{
    assert_string_equal(rig->kept, want);
    rig->kept[0] = '\0';
}

/* ---- */

/* The text of a key in rig->kept ends at its first NUL: the session. */
static void
exports_are_kept_and_sent_once(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(export(rig, "a", V1), GRANARY_OK);
    assert_int_equal(rig->last->library->sequence, 1);
    assert_kept(rig, "+functions/s ");
    assert_int_equal(export(rig, "a", V1), GRANARY_OK);
    assert_int_equal(rig->last->library->sequence, 1);
    assert_kept(rig, "");
    assert_int_equal(submit(rig, "k", LINES("a make", "!b make")), GRANARY_OK);
    assert_string_equal(rig->exported, ""); /* nothing of it needs them */
    succeed_all(rig);
    assert_int_equal(submit(rig, "l", LINES("!a call function=f", "!b make", "!c make")), GRANARY_OK);
    succeed_all(rig);
    assert_string_equal(rig->exported, "1:a.1 2:a.1 ");
    rig->exported[0] = '\0';
    assert_int_equal(export(rig, "b", V1), GRANARY_OK);
    assert_int_equal(submit(rig, "m", LINES("!a call function=a:f", "!b make")), GRANARY_OK);
    succeed_all(rig);
    assert_string_equal(rig->exported, "");
    assert_int_equal(submit(rig, "n", LINES("!a call function=f", "!b make")), GRANARY_EINVAL); /* ambiguous */
    assert_int_equal(submit(rig, "n", LINES("!a call function=b:f", "!b make")), GRANARY_OK);
    succeed_all(rig);
    assert_string_equal(rig->exported, "1:b.2 2:b.2 ");
    rig->exported[0] = '\0';
    manager_executor_died(rig->manager, 1);
    manager_executor_died(rig->manager, 2);
    manager_executor_joined(rig->manager, 3, 0, 1003);
    assert_int_equal(submit(rig, "o", LINES("!a call function=a:f")), GRANARY_OK);
    succeed_all(rig);
    assert_string_equal(rig->exported, "3:a.1 3:b.2 "); /* late: everything in order */
    rig_destroy(rig);
}

static void
unknown_functions_are_told_with_their_node(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a call function=g")), GRANARY_ENOENT);
    assert_non_null(strstr(rig->last->message, "node 'a' (call): function 'g' is not exported in session 's'"));
    assert_int_equal(wait_for(rig, "k", 0, 0), GRANARY_ENOENT);
    assert_kept(rig, "");
    assert_int_equal(unexport(rig, "a", ""), GRANARY_ENOENT);
    assert_non_null(strstr(rig->last->message, "library 'a' is not exported in session 's'"));
    rig_destroy(rig);
}

static void
a_running_graph_keeps_what_was_unexported(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(export(rig, "a", V1), GRANARY_OK);
    assert_int_equal(submit(rig, "k", LINES("!a call function=f")), GRANARY_OK);
    rig->kept[0] = '\0';
    assert_int_equal(export(rig, "a", V2), GRANARY_OK);
    assert_int_equal(unexport(rig, "a", ""), GRANARY_OK);
    /* Both leave; nobody uses the second, so it goes, with its object. */
    assert_kept(rig, "+functions/s +functions/s +functions/s -functions/s ");
    assert_string_equal(rig->freed, "32323232323232323232323232323232 ");
    rig->freed[0] = '\0';
    assert_int_equal(submit(rig, "l", LINES("!a call function=f")), GRANARY_ENOENT);
    succeed(rig, "a");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    assert_non_null(strstr(rig->kept, "-functions/s "));
    assert_string_equal(rig->freed, "31313131313131313131313131313131 ");
    rig_destroy(rig);
}

/* ---- restarts ---- */

static void *
packed(const ProtobufCMessage *message, size_t *ret_size)
{
    void *bytes = malloc(protobuf_c_message_get_packed_size(message) + 1);

    *ret_size = protobuf_c_message_pack(message, bytes);
    return bytes;
}

static void
restore_library(struct rig *rig, const char *version, uint64_t sequence, bool unexported)
{
    Granary__Library library;
    Granary__Symbol symbol;
    size_t size;
    void *bytes;

    fill_library(&library, &symbol, "a", version);
    library.sequence = sequence;
    library.unexported = unexported;
    bytes = packed(&library.base, &size);
    manager_restore_library(rig->manager, bytes, size);
    free(bytes);
}

/* A graph is kept with the version it was bound to, and runs with that again, although another one is the newest. */
static void
a_restart_binds_the_same_version(void **state)
{
    struct rig *rig = rig_create(0);
    Granary__Submit submission = GRANARY__SUBMIT__INIT;
    size_t size;
    void *bytes;

    (void)state;
    restore_library(rig, V1, 3, true);
    restore_library(rig, V2, 4, false);
    manager_restore_library(rig->manager, "garbage", 7); /* passed over */
    submission.key = (char *)(uintptr_t) "k";
    submission.serial = 1;
    submission.session = (char *)(uintptr_t) "s";
    submission.graph = build_graph(LINES("!a call function=a@" V1 ":f"));
    bytes = packed(&submission.base, &size);
    manager_restore_graph(rig->manager, "k", bytes, size);
    free(bytes);
    granary__graph__free_unpacked(submission.graph, NULL);
    assert_int_equal(manager_restore_start(rig->manager), 1);
    manager_executor_joined(rig->manager, 1, 0, 1001);
    manager_claims_end(rig->manager);
    turn(rig);
    assert_string_equal(rig->exported, "1:a.3 1:a.4 ");
    assert_string_equal(rig->freed, "");
    succeed(rig, "a");
    assert_string_equal(rig->freed, "31313131313131313131313131313131 ");
    assert_int_equal(export(rig, "a", V1), GRANARY_OK);
    assert_int_equal(rig->last->library->sequence, 5);
    rig_destroy(rig);
}

/* A scheduler's death does not undo a submission whose code has run; work of operators is done again, and waits for nothing. */
static void
users_code_waits_for_the_commit(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    assert_non_null(given_to(rig, "a"));
    assert_false(rig->kept_first);
    succeed(rig, "a");
    assert_int_equal(submit(rig, "u", LINES("!b user function=f")), GRANARY_OK);
    assert_non_null(given_to(rig, "b"));
    assert_true(rig->kept_first);
    rig_destroy(rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exports_are_kept_and_sent_once),
        cmocka_unit_test(unknown_functions_are_told_with_their_node),
        cmocka_unit_test(a_running_graph_keeps_what_was_unexported),
        cmocka_unit_test(a_restart_binds_the_same_version),
        cmocka_unit_test(users_code_waits_for_the_commit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
