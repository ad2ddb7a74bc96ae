#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/instance.h"
#include "contract/shm.h"

static void
bad_names_are_refused(void **state)
{
    static const char *const names[] = {"with space", "näme", ".hidden", "..",
                                        "a:b",        "a\nb", "$HOME",   "a-name-of-more-than-32-characters"};
    struct gr_instance instance = {.name = "before"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(gr_instance_resolve(names[i], &instance), GRANARY_EINVAL);
        assert_non_null(strstr(granary_error_message(), names[i]));
        assert_string_equal(instance.name, "before");
    }
}

static void
names_and_the_environment_lead_to_directories(void **state)
{
    struct gr_instance instance;
    char want[108];

    (void)state;
    (void)unsetenv("XDG_RUNTIME_DIR");
    (void)unsetenv("GRANARY_INSTANCE");
    assert_int_equal(gr_instance_resolve(NULL, &instance), GRANARY_OK);
    assert_string_equal(instance.name, "default");
    (void)snprintf(want, sizeof want, "/tmp/granary-%u/default", (unsigned)geteuid());
    assert_string_equal(instance.runtime, want);
    (void)setenv("GRANARY_INSTANCE", "other_1.x-y", 1);
    assert_int_equal(gr_instance_resolve("", &instance), GRANARY_OK);
    assert_string_equal(instance.name, "other_1.x-y");
    assert_int_equal(gr_instance_resolve("mine", &instance), GRANARY_OK);
    assert_string_equal(instance.name, "mine");
    (void)setenv("XDG_RUNTIME_DIR", "/tmp", 1);
    assert_int_equal(gr_instance_resolve("mine", &instance), GRANARY_OK);
    assert_string_equal(instance.runtime, "/tmp/granary/mine");
    (void)setenv("XDG_RUNTIME_DIR", "/does/not/exist", 1);
    assert_int_equal(gr_instance_resolve("mine", &instance), GRANARY_OK);
    assert_int_equal(strncmp(instance.runtime, "/tmp/granary-", 13), 0);
    (void)unsetenv("XDG_RUNTIME_DIR");
    (void)unsetenv("GRANARY_INSTANCE");
}

/* Whatever is accepted fits a socket's address; one character more is refused with the limit. */
static void
paths_fit_a_socket_or_are_refused(void **state)
{
    struct gr_instance instance;
    char path[PATH_MAX + 10];
    size_t longest = 0;

    (void)state;
    for (size_t length = 2; length < 200; length++) {
        memset(path, 'p', length);
        path[0] = '/';
        path[length] = '\0';
        if (gr_instance_resolve(path, &instance) == GRANARY_OK) {
            longest = length;
            assert_string_equal(instance.runtime, path);
            assert_true(strlen(instance.store_socket) < sizeof((struct sockaddr_un *)0)->sun_path);
            assert_int_equal(strncmp(instance.store_socket, path, length), 0);
            assert_string_equal(instance.store_socket + length, "/store.sock");
            assert_string_equal(instance.sched_socket + length, "/sched.sock");
            assert_string_equal(instance.pool_socket + length, "/pool.sock");
        } else {
            assert_true(length > longest);
            assert_non_null(strstr(granary_error_message(), "--instance"));
        }
    }
    assert_in_range(longest, 80, 96);
    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_int_equal(gr_instance_resolve(path, &instance), GRANARY_EINVAL);
    path[0] = 'p';
    path[1] = '/';
    assert_int_equal(gr_instance_resolve(path, &instance), GRANARY_EINVAL);
}

/* However a directory is written, it is one instance; another one has other shared memory. */
static void
one_directory_is_one_instance(void **state)
{
    char folder[] = "/tmp/granary-test-XXXXXX";
    char path[256];
    struct gr_instance a;
    struct gr_instance b;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(gr_instance_resolve(folder, &a), GRANARY_OK);
    (void)snprintf(path, sizeof path, "%s///", folder);
    assert_int_equal(gr_instance_resolve(path, &b), GRANARY_OK);
    assert_memory_equal(&a, &b, sizeof a);
    (void)snprintf(path, sizeof path, "/tmp/../tmp/./%s", folder + 5);
    assert_int_equal(gr_instance_resolve(path, &b), GRANARY_OK);
    assert_string_equal(a.shm_prefix, b.shm_prefix);
    (void)snprintf(path, sizeof path, "%s/x", folder);
    assert_int_equal(gr_instance_resolve(path, &b), GRANARY_OK);
    assert_string_not_equal(a.shm_prefix, b.shm_prefix);
    assert_string_equal(b.name, "x");
    assert_int_equal(rmdir(folder), 0);
}

/* What a member runs at a group's store has a directory of its own; a link there tells where the store is. */
static void
a_link_of_ones_own_leads_to_a_groups_store(void **state)
{
    char folder[] = "/tmp/granary-test-XXXXXX";
    char path[64], socket[64];
    struct gr_instance instance;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/store.sock", folder);
    assert_int_equal(symlink("/run/granary/team/store.sock", path), 0);
    assert_int_equal(gr_instance_resolve(folder, &instance), GRANARY_OK);
    assert_string_equal(instance.shared, "/run/granary/team");
    assert_string_equal(instance.name, "team");
    assert_string_equal(instance.store_socket, "/run/granary/team/store.sock");
    assert_string_equal(instance.runtime, folder);
    (void)snprintf(socket, sizeof socket, "%s/sched.sock", folder);
    assert_string_equal(instance.sched_socket, socket);
    assert_int_equal(gr_instance_check_place(&instance), GRANARY_OK);
    assert_int_equal(gr_instance_check_store(&instance), GRANARY_EPERM);
    if (geteuid() == 0) { /* a link of somebody else is not believed */
        assert_int_equal(lchown(path, 61101, 61101), 0);
        assert_int_equal(gr_instance_resolve(folder, &instance), GRANARY_OK);
        assert_string_equal(instance.shared, "");
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gr_instance_resolve(folder, &instance), GRANARY_OK);
    assert_string_equal(instance.shared, "");
    assert_int_equal(gr_instance_check_store(&instance), GRANARY_OK);
    assert_int_equal(rmdir(folder), 0);
}

/* On the way to an instance's directory: here or behind a link of one's own, with whatever bits its directory has. */
static void
a_link_of_somebody_else_is_not_followed(void **state)
{
    char folder[] = "/tmp/granary-test-XXXXXX";
    char link[64], second[64], path[96], home[64];
    struct gr_instance instance;

    (void)state;
    if (geteuid() != 0) {
        skip(); /* there is nobody else then */
    }
    assert_non_null(mkdtemp(folder));
    (void)snprintf(link, sizeof link, "%s/link", folder);
    (void)snprintf(second, sizeof second, "%s/second", folder);
    (void)snprintf(home, sizeof home, "%s/home", folder);
    assert_int_equal(mkdir(home, 0700), 0);
    assert_int_equal(symlink("home", link), 0);
    assert_int_equal(symlink("link/.", second), 0);
    (void)snprintf(path, sizeof path, "%s/x", second);
    assert_int_equal(gr_instance_resolve(path, &instance), GRANARY_OK);
    assert_int_equal(gr_instance_make(&instance), GRANARY_OK);
    assert_int_equal(lchown(link, 12345, 12345), 0);
    assert_int_equal(gr_instance_resolve(path, &instance), GRANARY_OK);
    assert_int_equal(gr_instance_make(&instance), GRANARY_EPERM);
    assert_non_null(strstr(granary_error_message(), link));
    assert_int_equal(setenv("XDG_RUNTIME_DIR", second, 1), 0);
    assert_int_equal(gr_instance_resolve("x", &instance), GRANARY_EPERM); /* nor by those who look for it */
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    (void)snprintf(path, sizeof path, "%s/x", home);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(home), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(second), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void
sweeping_removes_only_our_shared_memory(void **state)
{
    char folder[] = "/tmp/granary-test-XXXXXX";
    struct gr_instance instance;
    char ours[64];
    char others[64];
    int fd;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(gr_instance_resolve(folder, &instance), GRANARY_OK);
    (void)snprintf(ours, sizeof ours, "%s1", instance.shm_prefix);
    (void)snprintf(others, sizeof others, "/granary-test.%d", (int)getpid());
    fd = shm_open(ours, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    gr_fd_close(&fd);
    fd = shm_open(others, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    gr_fd_close(&fd);
    assert_int_equal(gr_instance_sweep_shm(&instance), 1);
    assert_int_equal(gr_instance_sweep_shm(&instance), 0);
    assert_int_equal(shm_unlink(others), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Keys of graphs may be anything; folders of logs are names that fit a page, one a key. */
static void
keys_make_good_folders(void **state)
{
    static const char *const good[] = {"a", "night-run_7.b", "0123456789abcdef0123456789abcdef"};
    static const char *const bad[] = {"",          ".",   "..", ".x",   "a/b",
                                      "../../etc", "a b", "\n", "\xff", "0123456789abcdef0123456789abcdef0"};
    char folder[GR_LOG_FOLDER_MAX];
    char before[GR_LOG_FOLDER_MAX] = "";

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        gr_log_folder(good[i], folder);
        assert_string_equal(folder, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gr_log_folder(bad[i], folder);
        assert_int_equal(strlen(folder), 32);
        assert_int_equal(strspn(folder, "0123456789abcdef"), 32);
        assert_string_not_equal(folder, before);
        memcpy(before, folder, sizeof before);
    }
}

/* Without a store, or with one whose root says nonsense, logs are where they are by default. */
static void
logs_are_below_a_directory_of_the_instance(void **state)
{
    char folder[] = "/tmp/granary-test-XXXXXX";
    char path[GR_LOGS_MAX], want[GR_LOGS_MAX], name[64];
    struct gr_instance instance;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(gr_instance_resolve(folder, &instance), GRANARY_OK);
    (void)snprintf(want, sizeof want, "%s/logs", instance.spill_default);
    gr_instance_logs(&instance, path);
    assert_string_equal(path, want);
    (void)snprintf(name, sizeof name, "%sroot", instance.shm_prefix);
    fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    gr_instance_logs(&instance, path);
    assert_string_equal(path, want);
    assert_int_equal(gr_pwrite_all(fd, "/home/somebody", 15, offsetof(struct gr_root, spill_dir)), GRANARY_OK);
    assert_int_equal(ftruncate(fd, sizeof(struct gr_root)), 0);
    gr_instance_logs(&instance, path);
    assert_string_equal(path, want);
    (void)snprintf(want, sizeof want, "/disk%s", strrchr(instance.spill_default, '/'));
    assert_int_equal(gr_pwrite_all(fd, want, strlen(want) + 1, offsetof(struct gr_root, spill_dir)), GRANARY_OK);
    gr_instance_logs(&instance, path);
    (void)strcat(want, "/logs");
    assert_string_equal(path, want);
    gr_fd_close(&fd);
    assert_int_equal(shm_unlink(name), 0);
    assert_int_equal(rmdir(folder), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(names_and_the_environment_lead_to_directories),
        cmocka_unit_test(paths_fit_a_socket_or_are_refused),
        cmocka_unit_test(one_directory_is_one_instance),
        cmocka_unit_test(a_link_of_ones_own_leads_to_a_groups_store),
        cmocka_unit_test(a_link_of_somebody_else_is_not_followed),
        cmocka_unit_test(keys_make_good_folders),
        cmocka_unit_test(logs_are_below_a_directory_of_the_instance),
        cmocka_unit_test(sweeping_removes_only_our_shared_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
