/* The thread that waits for the disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "sched/durable/syncer.h"

static atomic_int runs;
static atomic_bool failing;

static granary_err
count_run(void *context)
{
    (void)context;
    atomic_fetch_add(&runs, 1);
    return atomic_load(&failing) ? gr_fail(GRANARY_EIO, "disk: it is gone") : GRANARY_OK;
}

/* Wait until what was asked as `number` is done. */
static granary_err
await(struct syncer *syncer, uint64_t number, char message[256])
{
    struct pollfd event = {.fd = syncer_fd(syncer), .events = POLLIN};
    granary_err err;

    while (syncer_done(syncer, &err, message) < number) {
        assert_int_equal(poll(&event, 1, 30000), 1);
    }
    return err;
}

static void
what_was_asked_is_done(void **state)
{
    struct syncer *syncer = syncer_create(count_run, NULL);
    char message[256];
    uint64_t last = 0;

    (void)state;
    assert_non_null(syncer);
    for (int i = 0; i < 1000; i++) {
        last = syncer_ask(syncer);
    }
    assert_int_equal(last, 1000);
    assert_int_equal(await(syncer, last, message), GRANARY_OK);
    assert_true(atomic_load(&runs) >= 1 && atomic_load(&runs) <= 1000);

    atomic_store(&failing, true);
    assert_int_equal(await(syncer, syncer_ask(syncer), message), GRANARY_EIO);
    assert_string_equal(message, "disk: it is gone");
    atomic_store(&failing, false);
    assert_int_equal(await(syncer, syncer_ask(syncer), message), GRANARY_OK);
    syncer_destroy(syncer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
