/*
 * What a hostile program of another user, or of another session, gets: nothing. Each attack runs in a child under that
 * user's uid, after connecting and mapping whatever it is allowed to. Needs root, to be somebody else.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "contract/shm.h"
#include "fixture.h"
#include "granary/session.h"
#include "wire/frame.h"

/* Nobody's on a usual machine. */
#define STORE_USER 61101u
#define ALICE      61102u
#define BOB        61103u
#define MALLORY    61104u
#define GROUP      STORE_USER /* its own: it may give files to no other */

#define SIZE ((uint64_t)3 << 20)

/* An attack's outcome: the line of the first thing that worked and should not have, modulo 250, or 0. */
#define REFUSED(expression)                                                                                            \
    do {                                                                                                               \
        if (!(expression)) {                                                                                           \
            (void)fprintf(stderr, "line %d: %s: errno %s\n", __LINE__, #expression, strerror(errno));                  \
            return __LINE__ % 250 + 1;                                                                                 \
        }                                                                                                              \
    } while (0)

typedef int attack(const char *instance);

static void
become(uid_t user, bool member)
{
    gid_t group = GROUP;

    if (setgroups(member ? 1 : 0, &group) < 0 || setgid(user) < 0 || setuid(user) < 0) {
        perror("change user");
        _exit(255);
    }
}

static int
run_as(uid_t user, bool member, attack *work, const char *instance)
{
    pid_t child = fork();

    if (child == 0) {
        become(user, member);
        _exit(work(instance));
    }
    return fixture_wait(child);
}

static granary_err
enter(const char *instance, const char *session, granary_client **ret_client)
{
    granary_connect_options options = {.instance = instance, .session = session};

    return granary_connect(&options, ret_client);
}

static bool
need_root(void)
{
    if (geteuid() != 0) {
        print_message("needs root\n");
        return false;
    }
    return true;
}

/* ---- by name ---- */

/* Whatever lies in /dev/shm of any granary: not to be opened, renamed or removed. */
static int
attack_names(const char *instance)
{
    DIR *directory = opendir("/dev/shm");
    struct dirent *entry;
    unsigned met = 0;

    (void)instance;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char name[300];

        if (strncmp(entry->d_name, "granary.", 8) != 0) {
            continue;
        }
        met++;
        (void)snprintf(name, sizeof name, "/%s", entry->d_name);
        REFUSED(shm_open(name, O_RDONLY, 0) < 0 && (errno == EACCES || errno == ENOENT));
        REFUSED(shm_open(name, O_RDWR, 0) < 0 && (errno == EACCES || errno == ENOENT));
        REFUSED(shm_unlink(name) < 0);
    }
    REFUSED(met > 0);
    return 0;
}

static int
attack_directory(const char *instance)
{
    char path[300];

    (void)snprintf(path, sizeof path, "%s/spill", instance);
    REFUSED(open(instance, O_RDONLY | O_DIRECTORY) < 0);
    REFUSED(open(path, O_RDONLY | O_DIRECTORY) < 0);
    (void)snprintf(path, sizeof path, "%s/store.lock", instance);
    REFUSED(open(path, O_RDWR) < 0 && unlink(path) < 0);
    (void)snprintf(path, sizeof path, "%s/store.sock", instance);
    REFUSED(unlink(path) < 0);
    return 0;
}

static int
attack_from_outside(const char *instance)
{
    granary_client *client;
    granary_err err = enter(instance, NULL, &client);
    int failed = attack_names(instance);

    REFUSED(err == GRANARY_EPERM || err == GRANARY_EUNREACHABLE);
    return failed != 0 ? failed : attack_directory(instance);
}

static void
another_user_gets_nothing(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client;

    if (!need_root()) {
        skip();
    }
    client = fixture_connect(state);
    assert_ok(fixture_put(client, 1, SIZE, 0));
    assert_int_equal(run_as(MALLORY, false, attack_from_outside, daemon->directory), 0);
    fixture_check(client, 1, SIZE);
    granary_disconnect(client);
}

/* ---- a store of its own user, that serves a group ---- */

static int
alice_puts(const char *instance)
{
    granary_client *client;
    char *bytes = malloc(SIZE);

    REFUSED(bytes != NULL && enter(instance, "alice", &client) == GRANARY_OK);
    fixture_fill(bytes, 1, SIZE);
    REFUSED(granary_object_put(client, fixture_id(1), bytes, SIZE, NULL, 0, 0) == GRANARY_OK);
    REFUSED(granary_object_pin(client, fixture_id(1), GRANARY_PIN_SESSION) == GRANARY_OK);
    free(bytes);
    granary_disconnect(client);
    return 0;
}

/* A reader may not become a writer of what it has mapped. */
static int
alice_cannot_write_what_is_sealed(const char *instance)
{
    granary_client *client;
    granary_view view;
    uintptr_t page;
    char path[64];
    int memory;

    REFUSED(enter(instance, "alice", &client) == GRANARY_OK);
    REFUSED(granary_object_get(client, fixture_id(1), 0, &view) == GRANARY_OK);
    page = (uintptr_t)view.data & ~(uintptr_t)4095;
    REFUSED(fixture_content_is(view.data, 1, SIZE));
    REFUSED(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) < 0 && errno == EACCES);
    REFUSED(madvise((void *)page, 4096, MADV_REMOVE) < 0);
    (void)snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", (unsigned long)page, (unsigned long)page + 4096);
    REFUSED(open(path, O_RDWR) < 0);
    memory = open("/proc/self/mem", O_RDWR);
    REFUSED(memory < 0 || pwrite(memory, "x", 1, (off_t)(uintptr_t)view.data) < 0);
    REFUSED(fixture_content_is(view.data, 1, SIZE));
    granary_object_release(client, &view);
    granary_disconnect(client);
    return 0;
}

/* The protocol by hand, in a session of one's own: ask for every segment there may be. Returns how many were given. */
static int
map_all(int fd, struct gr_frame_reader *reader, unsigned most)
{
    struct gr_frame_in frame = {.fd_count = 0};
    int given = 0;

    for (unsigned i = 0; i < most; i++) {
        struct gr_map map = {.kind = GR_MAP_DATA, .number = i};
        struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = GR_STORE_MAP, .seq = i, .size = sizeof map};

        if (gr_frame_send(fd, &head, &map, NULL, 0) != GRANARY_OK ||
            gr_frame_receive(reader, fd, gr_deadline_ns(60000), &frame) != GRANARY_OK) {
            return -1;
        }
        given += frame.fd_count;
        gr_frame_in_reset(&frame);
    }
    return given;
}

static int
bob_cannot_map_segments_of_alice(const char *instance)
{
    struct gr_hello hello = {
        .version = GR_STORE_VERSION, .shm_version = GR_SHM_VERSION, .session = "bob", .tag = "bob"};
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = GR_STORE_HELLO, .size = sizeof hello};
    struct gr_frame_reader *reader = gr_frame_reader_create(true);
    struct gr_frame_in frame = {.fd_count = 0};
    char path[300];
    granary_err err;
    int fd;

    (void)snprintf(path, sizeof path, "%s/store.sock", instance);
    fd = gr_unix_connect(path, &err);
    REFUSED(fd >= 0 && gr_frame_send(fd, &head, &hello, NULL, 0) == GRANARY_OK);
    REFUSED(gr_frame_receive(reader, fd, gr_deadline_ns(60000), &frame) == GRANARY_OK && frame.head.err == 0);
    gr_frame_in_reset(&frame);
    REFUSED(map_all(fd, reader, 200) == 0);
    gr_frame_reader_destroy(reader);
    (void)close(fd);
    return 0;
}

static int
bob_cannot_touch_what_is_alices(const char *instance)
{
    granary_client *client;
    granary_view view;
    int failed = attack_names(instance);

    REFUSED(enter(instance, "alice", &client) == GRANARY_EPERM);
    REFUSED(enter(instance, "bob", &client) == GRANARY_OK);
    REFUSED(granary_object_get(client, fixture_id(1), 0, &view) == GRANARY_ENOENT);
    REFUSED(granary_object_delete(client, fixture_id(1), 0) == GRANARY_ENOENT);
    REFUSED(granary_object_unpin(client, fixture_id(1), GRANARY_PIN_SESSION) == GRANARY_ENOENT);
    REFUSED(granary_session_delete(client, "alice", false) == GRANARY_EPERM);
    granary_disconnect(client);
    failed = failed != 0 ? failed : attack_directory(instance);
    return failed != 0 ? failed : bob_cannot_map_segments_of_alice(instance);
}

static int
group_start(void **state)
{
    static const char *const arguments[] = {"--memory", "64M", "--group", "61101", NULL};
    static struct daemon daemon;

    if (geteuid() != 0) {
        return 0;
    }
    *state = &daemon;
    return daemon_start_as(&daemon, STORE_USER, arguments) ? 0 : -1;
}

static int
group_stop(void **state)
{
    return geteuid() != 0 || daemon_stop(*state) ? 0 : -1;
}

static void
sessions_of_two_users_do_not_mix(void **state)
{
    struct daemon *daemon = *state;

    if (!need_root()) {
        skip();
    }
    assert_int_equal(run_as(ALICE, true, alice_puts, daemon->directory), 0);
    assert_int_equal(run_as(ALICE, true, alice_cannot_write_what_is_sealed, daemon->directory), 0);
    assert_int_equal(run_as(BOB, true, bob_cannot_touch_what_is_alices, daemon->directory), 0);
    assert_int_equal(run_as(MALLORY, false, attack_from_outside, daemon->directory), 0);
    assert_int_equal(run_as(ALICE, true, alice_cannot_write_what_is_sealed, daemon->directory), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_user_gets_nothing, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(sessions_of_two_users_do_not_mix, group_start, group_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
