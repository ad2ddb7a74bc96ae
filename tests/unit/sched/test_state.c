/* One suite for every state backend; then what only a file can suffer. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "state/state.h"

struct fixture {
    const struct state_ops *ops;
    void *self;
    char directory[64];
    char path[96];
};

static void
fixture_open(struct fixture *f)
{
    f->self = calloc(1, f->ops->self_size);
    assert_int_equal(f->ops->open(f->self, f->path), GRANARY_OK);
}

static void
fixture_close(struct fixture *f)
{
    f->ops->close(f->self);
    free(f->self);
    f->self = NULL;
}

static struct fixture *
fixture_create(const struct state_ops *ops)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->ops = ops;
    (void)snprintf(f->directory, sizeof f->directory, "/tmp/granary-state-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->path, sizeof f->path, "%s/state.db", f->directory);
    fixture_open(f);
    return f;
}

static int
setup_memory(void **state)
{
    *state = fixture_create(&state_memory);
    return 0;
}

static int
setup_sqlite(void **state)
{
    *state = fixture_create(&state_sqlite);
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    if (f->self != NULL) {
        fixture_close(f);
    }
    gr_remove_tree(f->directory);
    free(f);
    return 0;
}

static struct state_put
put_of(const char *space, const char *key, const char *value, uint64_t expected)
{
    return (struct state_put){.space = space,
                              .key = key,
                              .key_size = strlen(key),
                              .value = value,
                              .value_size = strlen(value),
                              .expected = expected};
}

static granary_err
put(struct fixture *f, const char *space, const char *key, const char *value, uint64_t expected, uint64_t *ret_version)
{
    struct state_put entry = put_of(space, key, value, expected);

    return f->ops->put(f->self, &entry, ret_version);
}

static void
assert_entry(struct fixture *f, const char *space, const char *key, const char *value, uint64_t version)
{
    struct gr_buf buf = {0};
    uint64_t found = 0;

    assert_int_equal(f->ops->get(f->self, space, key, strlen(key), &buf, &found), GRANARY_OK);
    assert_int_equal(buf.size, strlen(value));
    assert_memory_equal(buf.bytes, value, buf.size);
    assert_int_equal(found, version);
    gr_buf_free(&buf);
}

static void
assert_absent(struct fixture *f, const char *space, const char *key)
{
    struct gr_buf buf = {0};

    assert_int_equal(f->ops->get(f->self, space, key, strlen(key), &buf, NULL), GRANARY_ENOENT);
    assert_int_equal(buf.size, 0);
}

/* Versions begin at 1 and go up by one; a put that expects another version changes nothing. */
static void
put_checks_the_version(void **state)
{
    struct fixture *f = *state;
    uint64_t version = 0;

    assert_absent(f, "graphs", "a");
    assert_int_equal(put(f, "graphs", "a", "one", 1, NULL), GRANARY_ESTATE);
    assert_int_equal(put(f, "graphs", "a", "one", STATE_ABSENT, &version), GRANARY_OK);
    assert_int_equal(version, 1);
    assert_int_equal(put(f, "graphs", "a", "two", STATE_ABSENT, &version), GRANARY_ESTATE);
    assert_entry(f, "graphs", "a", "one", 1);
    assert_int_equal(put(f, "graphs", "a", "two", 1, &version), GRANARY_OK);
    assert_int_equal(version, 2);
    assert_int_equal(put(f, "graphs", "a", "", STATE_ANY, &version), GRANARY_OK);
    assert_int_equal(version, 3);
    assert_entry(f, "graphs", "a", "", 3);
    assert_absent(f, "graphs", "A");
    assert_absent(f, "metas", "a");
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    assert_entry(f, "graphs", "a", "", 3);
}

static void
names_have_bounds(void **state)
{
    struct fixture *f = *state;
    char key[STATE_KEY_MAX + 2];

    memset(key, 'k', sizeof key);
    key[STATE_KEY_MAX + 1] = '\0';
    assert_int_equal(put(f, "graphs", key, "v", STATE_ANY, NULL), GRANARY_EINVAL);
    key[STATE_KEY_MAX] = '\0';
    assert_int_equal(put(f, "graphs", key, "v", STATE_ANY, NULL), GRANARY_OK);
    assert_entry(f, "graphs", key, "v", 1);
    assert_int_equal(put(f, "graphs", "", "v", STATE_ANY, NULL), GRANARY_EINVAL);
    assert_int_equal(put(f, "", "k", "v", STATE_ANY, NULL), GRANARY_EINVAL);
    assert_int_equal(put(f, "a-space-with-a-name-of-33-letters", "k", "v", STATE_ANY, NULL), GRANARY_EINVAL);
}

struct seen {
    char text[256];
    bool values;
};

static granary_err
note(void *context, const struct state_entry *entry)
{
    struct seen *seen = context;
    size_t length = strlen(seen->text);

    if (strncmp(entry->key, "stop", entry->key_size) == 0) {
        return GRANARY_ECANCELLED;
    }
    assert_int_equal(entry->value != NULL, seen->values);
    (void)snprintf(seen->text + length, sizeof seen->text - length, "%.*s=%.*s/%d ", (int)entry->key_size,
                   (const char *)entry->key, (int)entry->value_size, seen->values ? (const char *)entry->value : "",
                   (int)entry->version);
    return GRANARY_OK;
}

static void
assert_scan(struct fixture *f, bool values, const char *after, size_t limit, const char *want)
{
    struct seen seen = {.values = values};
    struct state_range range = {.space = "graphs", .after = after, .after_size = strlen(after), .limit = limit};

    assert_int_equal((values ? f->ops->scan : f->ops->scan_keys)(f->self, &range, note, &seen), GRANARY_OK);
    assert_string_equal(seen.text, want);
}

/* Entries come in the order of their keys' bytes, from behind the cursor, and of one space only. */
static void
scan_walks_in_order(void **state)
{
    struct fixture *f = *state;
    struct seen seen = {.values = true};
    struct state_range none = {.space = "empty"};
    struct state_range all = {.space = "graphs"};

    assert_int_equal(put(f, "graphs", "b", "2", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(put(f, "graphs", "a", "1", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(put(f, "graphs", "ab", "3", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(put(f, "graphs", "\xc3\xa4", "4", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(put(f, "graph", "x", "5", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(put(f, "graphs2", "y", "6", STATE_ANY, NULL), GRANARY_OK);

    assert_scan(f, true, "", 0, "a=1/1 ab=3/1 b=2/1 \xc3\xa4=4/1 ");
    assert_scan(f, false, "", 0, "a=/1 ab=/1 b=/1 \xc3\xa4=/1 ");
    assert_scan(f, true, "", 2, "a=1/1 ab=3/1 ");
    assert_scan(f, true, "ab", 2, "b=2/1 \xc3\xa4=4/1 ");
    assert_scan(f, true, "aa", 1, "ab=3/1 "); /* the cursor need not exist */
    assert_scan(f, true, "\xff", 0, "");
    assert_int_equal(f->ops->scan(f->self, &none, note, &seen), GRANARY_OK);
    assert_string_equal(seen.text, "");

    /* What the visitor returns ends the scan, and the state is good afterwards. */
    assert_int_equal(put(f, "graphs", "stop", "7", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->scan(f->self, &all, note, &seen), GRANARY_ECANCELLED);
    assert_string_equal(seen.text, "a=1/1 ab=3/1 b=2/1 ");
    assert_int_equal(put(f, "graphs", "c", "8", STATE_ANY, NULL), GRANARY_OK);
    assert_entry(f, "graphs", "c", "8", 1);
}

static void
put_txn_is_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct state_put good[] = {put_of("graphs", "a", "2", 1), put_of("graphs", "b", "1", STATE_ABSENT),
                               put_of("graphs", "a", "3", 2)};
    struct state_put bad[] = {put_of("graphs", "a", "4", STATE_ANY), put_of("graphs", "a", "5", STATE_ANY),
                              put_of("graphs", "new", "1", STATE_ABSENT), put_of("graphs", "b", "2", 7)};
    struct state_put broken[] = {put_of("graphs", "new", "1", STATE_ABSENT), put_of("", "k", "2", STATE_ANY)};

    assert_int_equal(put(f, "graphs", "a", "1", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->put_txn(f->self, good, 3), GRANARY_OK);
    assert_entry(f, "graphs", "a", "3", 3);
    assert_entry(f, "graphs", "b", "1", 1);
    assert_int_equal(f->ops->put_txn(f->self, bad, 4), GRANARY_ESTATE);
    assert_int_equal(f->ops->put_txn(f->self, broken, 2), GRANARY_EINVAL);
    assert_entry(f, "graphs", "a", "3", 3);
    assert_entry(f, "graphs", "b", "1", 1);
    assert_absent(f, "graphs", "new");
    assert_int_equal(f->ops->put_txn(f->self, NULL, 0), GRANARY_OK);
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    assert_entry(f, "graphs", "a", "3", 3);
}

static void
mv_and_delete(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(put(f, "graphs", "a", "1", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(put(f, "graphs", "b", "2", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->mv(f->self, "graphs", "a", 1, "graphs", "b", 1), GRANARY_EEXIST);
    assert_int_equal(f->ops->mv(f->self, "graphs", "x", 1, "graphs", "y", 1), GRANARY_ENOENT);
    assert_int_equal(f->ops->mv(f->self, "graphs", "a", 1, "graphs", "", 0), GRANARY_EINVAL);
    assert_int_equal(f->ops->mv(f->self, "graphs", "a", 1, "ended", "c", 1), GRANARY_OK);
    assert_absent(f, "graphs", "a");
    assert_entry(f, "ended", "c", "1", 2);
    assert_int_equal(f->ops->delete (f->self, "ended", "c", 1), GRANARY_OK);
    assert_int_equal(f->ops->delete (f->self, "ended", "c", 1), GRANARY_ENOENT);
    assert_absent(f, "ended", "c");
    assert_entry(f, "graphs", "b", "2", 1);
    /* A new entry of an old name begins anew. */
    assert_int_equal(put(f, "ended", "c", "3", STATE_ABSENT, NULL), GRANARY_OK);
    assert_entry(f, "ended", "c", "3", 1);
}

static void
many_entries(void **state)
{
    struct fixture *f = *state;
    char *large = calloc(1, 3000001);
    char key[16];

    memset(large, 'x', 3000000);
    assert_int_equal(put(f, "graphs", "large", large, STATE_ANY, NULL), GRANARY_OK);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "%d", (i * 7919) % 1000);
        assert_int_equal(put(f, "many", key, key, STATE_ABSENT, NULL), GRANARY_OK);
    }
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    for (int i = 0; i < 1000; i += 37) {
        (void)snprintf(key, sizeof key, "%d", i);
        assert_entry(f, "many", key, key, 1);
    }
    assert_entry(f, "graphs", "large", large, 1);
    free(large);
}

/* ---- the file ---- */

static void
committed_is_kept_and_the_rest_is_not(void **state)
{
    struct fixture *f = *state;
    struct stat info;

    assert_int_equal(put(f, "graphs", "a", "1", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    assert_int_equal(put(f, "graphs", "a", "2", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->delete (f->self, "graphs", "a", 1), GRANARY_OK);
    fixture_close(f);
    fixture_open(f);
    assert_entry(f, "graphs", "a", "1", 1);
    assert_int_equal(stat(f->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static granary_err
open_again(struct fixture *f)
{
    granary_err err;

    f->self = calloc(1, f->ops->self_size);
    err = f->ops->open(f->self, f->path);
    return err;
}

static void
write_at(const char *path, off_t offset, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, offset), size);
    (void)close(fd);
}

/* user_version is a big-endian word at byte 60 of an SQLite file, application_id at 68. */
static void
other_schema_is_refused_with_a_remedy(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    write_at(f->path, 60, "\0\0\0\7", 4);
    assert_int_equal(open_again(f), GRANARY_EVERSION);
    assert_non_null(strstr(granary_error_message(), "schema version 7, but this granary reads 2"));
    assert_non_null(strstr(granary_error_message(), "move the file away"));
    fixture_close(f);
    write_at(f->path, 60, "\0\0\0\1", 4);
    write_at(f->path, 68, "abcd", 4);
    assert_int_equal(open_again(f), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "another program"));
}

static void
damage_is_told(void **state)
{
    struct fixture *f = *state;
    char garbage[8192];

    fixture_close(f);
    memset(garbage, 'g', sizeof garbage);
    write_at(f->path, 0, garbage, sizeof garbage);
    assert_int_equal(open_again(f), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), f->path));
    assert_non_null(strstr(granary_error_message(), "restore a copy, or move the file away"));
}

static void
unwritable_is_told(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    (void)snprintf(f->path, sizeof f->path, "%s/missing/state.db", f->directory);
    assert_int_equal(open_again(f), GRANARY_EPERM);
    assert_non_null(strstr(granary_error_message(), "check that its directory exists"));
    fixture_close(f);
    (void)snprintf(f->path, sizeof f->path, "%s", f->directory);
    assert_int_not_equal(open_again(f), GRANARY_OK);
    if (geteuid() != 0) {
        fixture_close(f);
        (void)snprintf(f->path, sizeof f->path, "%s/state.db", f->directory);
        assert_int_equal(chmod(f->path, 0400), 0);
        assert_int_equal(open_again(f), GRANARY_EPERM);
    }
}

/* No room on the disk: an error, and what was there before is there afterwards. */
static void
full_disk_loses_nothing(void **state)
{
    struct fixture *f = *state;
    struct rlimit before;
    struct rlimit small;
    char *large = calloc(1, 4000001);

    memset(large, 'x', 4000000);
    assert_int_equal(put(f, "graphs", "a", "1", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 1000000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    granary_err err = put(f, "graphs", "b", large, STATE_ANY, NULL);
    if (err == GRANARY_OK) {
        err = f->ops->commit(f->self);
    } else {
        (void)f->ops->commit(f->self);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(err == GRANARY_EFULL || err == GRANARY_EIO);
    assert_absent(f, "graphs", "b");
    assert_entry(f, "graphs", "a", "1", 1);
    assert_int_equal(put(f, "graphs", "c", "2", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    assert_entry(f, "graphs", "c", "2", 1);
    free(large);
}

/* All with a prefix, none beside it, bytes of 0xff included. */
static void
delete_all_takes_a_prefix(void **state)
{
    struct fixture *f = *state;

    for (const char *const *key = (const char *const[]){"a", "ab", "ab\xff", "ab\xff\xff", "abc", "ac", "b", NULL};
         *key != NULL; key++) {
        assert_int_equal(put(f, "events", *key, "1", STATE_ANY, NULL), GRANARY_OK);
    }
    assert_int_equal(put(f, "graphs", "ab", "1", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->delete_all(f->self, "events", "ab\xff", 3), GRANARY_OK);
    assert_absent(f, "events", "ab\xff");
    assert_absent(f, "events", "ab\xff\xff");
    assert_entry(f, "events", "abc", "1", 1);
    assert_int_equal(f->ops->delete_all(f->self, "events", "ab", 2), GRANARY_OK);
    assert_absent(f, "events", "ab");
    assert_absent(f, "events", "abc");
    assert_int_equal(f->ops->delete_all(f->self, "events", "\xff", 1), GRANARY_OK);
    assert_int_equal(f->ops->delete_all(f->self, "events", "", 0), GRANARY_EINVAL);
    assert_entry(f, "events", "a", "1", 1);
    assert_entry(f, "events", "ac", "1", 1);
    assert_entry(f, "events", "b", "1", 1);
    assert_entry(f, "graphs", "ab", "1", 1);
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    assert_entry(f, "events", "b", "1", 1);
}

/* Fences of a name only grow, whoever takes it. */
static void
locks_have_fences(void **state)
{
    struct fixture *f = *state;
    uint64_t fence = 77;

    assert_int_equal(state_fence(f->ops, f->self, "scheduler", &fence), GRANARY_OK);
    assert_int_equal(fence, 0);
    assert_int_equal(state_lock(f->ops, f->self, "scheduler", "process 1", 0, &fence), GRANARY_OK);
    assert_int_equal(fence, 1);
    assert_int_equal(state_lock(f->ops, f->self, "scheduler", "process 2", 1000, &fence), GRANARY_OK);
    assert_int_equal(fence, 1000);
    assert_int_equal(state_lock(f->ops, f->self, "scheduler", "process 3", 5, &fence), GRANARY_OK);
    assert_int_equal(fence, 1001);
    assert_int_equal(state_lock(f->ops, f->self, "other", "process 2", 0, &fence), GRANARY_OK);
    assert_int_equal(state_fence(f->ops, f->self, "scheduler", &fence), GRANARY_OK);
    assert_int_equal(fence, 1001);
}

static bool syncs_fail;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int
__wrap_fdatasync(int fd)
{
    errno = EIO;
    return syncs_fail ? -1 : __real_fdatasync(fd);
}

/* Linux may drop what it could not write, and call the next sync a success: the log counts no more. */
static void
a_sync_that_failed_is_made_good(void **state)
{
    struct fixture *f = *state;
    char log[128];
    struct stat st;

    assert_int_equal(put(f, "graphs", "a", "1", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    syncs_fail = true;
    assert_int_equal(f->ops->sync(f->self), GRANARY_EIO);
    syncs_fail = false;
    assert_int_equal(f->ops->sync(f->self), GRANARY_EIO);
    assert_int_equal(put(f, "graphs", "b", "2", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    (void)snprintf(log, sizeof log, "%s-wal", f->path);
    assert_int_equal(stat(log, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(f->ops->sync(f->self), GRANARY_OK);
    assert_int_equal(put(f, "graphs", "c", "3", STATE_ANY, NULL), GRANARY_OK);
    assert_int_equal(f->ops->commit(f->self), GRANARY_OK);
    assert_int_equal(f->ops->sync(f->self), GRANARY_OK);
    fixture_close(f);
    fixture_open(f);
    assert_entry(f, "graphs", "a", "1", 1);
    assert_entry(f, "graphs", "b", "2", 1);
    assert_entry(f, "graphs", "c", "3", 1);
}

static void
backends_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(state_find("memory"), &state_memory);
    assert_ptr_equal(state_find("sqlite"), &state_sqlite);
    assert_null(state_find("SQLite"));
    assert_null(state_find(""));
}

#define BOTH(test)                                                                                                     \
    cmocka_unit_test_setup_teardown(test, setup_memory, teardown),                                                     \
        cmocka_unit_test_setup_teardown(test, setup_sqlite, teardown)
#define FILE_ONLY(test) cmocka_unit_test_setup_teardown(test, setup_sqlite, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(put_checks_the_version),
        BOTH(names_have_bounds),
        BOTH(scan_walks_in_order),
        BOTH(put_txn_is_all_or_nothing),
        BOTH(mv_and_delete),
        BOTH(many_entries),
        BOTH(delete_all_takes_a_prefix),
        BOTH(locks_have_fences),
        FILE_ONLY(committed_is_kept_and_the_rest_is_not),
        FILE_ONLY(other_schema_is_refused_with_a_remedy),
        FILE_ONLY(damage_is_told),
        FILE_ONLY(unwritable_is_told),
        FILE_ONLY(full_disk_loses_nothing),
        FILE_ONLY(a_sync_that_failed_is_made_good),
        cmocka_unit_test(backends_are_found_by_name),
    };

    (void)signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
