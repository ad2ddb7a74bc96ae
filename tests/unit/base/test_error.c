#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static const granary_err all[] = {
#define ERR(name, value, exit, text) GRANARY_##name,
#include "contract/errors.def"
#undef ERR
};

static void
every_error_has_name_text_and_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_true(strlen(granary_error_name(all[i])) >= 2);
        assert_true(strlen(granary_error_text(all[i])) > 3);
        assert_in_range(granary_error_exit_status(all[i]), 0, 8);
        assert_int_equal(granary_error_exit_status(all[i]) == 0, all[i] == GRANARY_OK);
    }
    assert_string_equal(granary_error_name(GRANARY_ENOENT), "ENOENT");
    assert_int_equal(granary_error_exit_status(GRANARY_ENOENT), 4);
    assert_int_equal(granary_error_exit_status(GRANARY_EFULL), 5);
    assert_string_equal(granary_error_name((granary_err)-999), "E?");
    assert_string_equal(granary_error_text((granary_err)1), "unknown error");
    assert_int_equal(granary_error_exit_status((granary_err)-999), 1);
}

static void
errno_is_translated(void **state)
{
    static const struct {
        int error;
        granary_err err;
    } cases[] = {
        {0, GRANARY_OK},
        {ENOENT, GRANARY_ENOENT},
        {EEXIST, GRANARY_EEXIST},
        {EACCES, GRANARY_EPERM},
        {EPERM, GRANARY_EPERM},
        {ENOMEM, GRANARY_ENOMEM},
        {EMFILE, GRANARY_ENOMEM},
        {ENOSPC, GRANARY_EFULL},
        {EDQUOT, GRANARY_EFULL},
        {EISDIR, GRANARY_EINVAL},
        {ENAMETOOLONG, GRANARY_EINVAL},
        {ECONNREFUSED, GRANARY_EUNREACHABLE},
        {EPIPE, GRANARY_EUNREACHABLE},
        {EHOSTUNREACH, GRANARY_EUNREACHABLE},
        {ETIMEDOUT, GRANARY_ETIMEDOUT},
        {EBUSY, GRANARY_EBUSY},
        {EIO, GRANARY_EIO},
        {EXDEV, GRANARY_EIO},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(gr_err_from_errno(cases[i].error), cases[i].err);
    }
    errno = ENOSPC;
    assert_int_equal(gr_fail_errno("%s: write", "/a/file"), GRANARY_EFULL);
    assert_string_equal(granary_error_message(), "/a/file: write: No space left on device");
    errno = 0; /* who failed has told no reason: it is no success */
    assert_int_equal(gr_fail_errno("%s: read", "/a/file"), GRANARY_EIO);
    assert_string_equal(granary_error_message(), "/a/file: read: no reason was given");
}

static void
messages_get_their_context(void **state)
{
    char longer[3000];

    (void)state;
    assert_int_equal(gr_fail(GRANARY_ENOENT, "object %d: not found", 7), GRANARY_ENOENT);
    assert_int_equal(gr_fail_in(GRANARY_ENOENT, "node '%s'", "a"), GRANARY_ENOENT);
    assert_string_equal(granary_error_message(), "node 'a': object 7: not found");
    /* the message may be made of the one before */
    assert_int_equal(gr_fail(GRANARY_EFAILED, "again: %s", granary_error_message()), GRANARY_EFAILED);
    assert_string_equal(granary_error_message(), "again: node 'a': object 7: not found");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(gr_fail(GRANARY_EINVAL, "%s", longer), GRANARY_EINVAL);
    assert_in_range(strlen(granary_error_message()), 1000, 1023);
    assert_int_equal(gr_fail_in(GRANARY_EINVAL, "%s", longer), GRANARY_EINVAL);
    assert_in_range(strlen(granary_error_message()), 500, 1023);
}

static void *
fail_elsewhere(void *result)
{
    *(bool *)result = strcmp(granary_error_message(), "") == 0;
    (void)gr_fail(GRANARY_EIO, "elsewhere");
    return NULL;
}

static void
messages_belong_to_their_thread(void **state)
{
    pthread_t thread;
    bool was_empty = false;

    (void)state;
    (void)gr_fail(GRANARY_ENOENT, "here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &was_empty), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(was_empty);
    assert_string_equal(granary_error_message(), "here");
    assert_string_equal(granary_version(), GRANARY_VERSION);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_name_text_and_status),
        cmocka_unit_test(errno_is_translated),
        cmocka_unit_test(messages_get_their_context),
        cmocka_unit_test(messages_belong_to_their_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
