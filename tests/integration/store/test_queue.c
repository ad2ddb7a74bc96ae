/* Who waits for room stands in a fair line; a session keeps its quota; what is asked for again is made ahead. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "fixture.h"
#include "granary/session.h"

#define MIB     ((uint64_t)1 << 20)
#define WAITERS 4u
#define PATIENT 60000 /* steps of a millisecond that a test waits for what must come */

static void
pause_ms(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static granary_client *
connect_to(void **state, const char *session, const char *tag)
{
    const struct daemon *daemon = *state;
    granary_connect_options options = {.instance = daemon->directory, .session = session, .tag = tag};
    granary_client *client = NULL;

    assert_ok(granary_connect(&options, &client));
    return client;
}

static void
put_pinned(granary_client *client, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        assert_ok(fixture_put(client, n, MIB, 0));
        assert_ok(granary_object_pin(client, fixture_id(n), GRANARY_PIN_CLIENT));
    }
}

static void
unpin(granary_client *client, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        assert_ok(granary_object_unpin(client, fixture_id(n), GRANARY_PIN_CLIENT));
    }
}

struct waiter {
    pthread_t thread;
    granary_client *client;
    granary_buffer buffer;
    uint64_t bytes;
    uint64_t number;
    atomic_uint *served;
    unsigned place; /* when it was served, counted from 1 */
    granary_err err;
};

static void *
wait_for_room(void *argument)
{
    struct waiter *waiter = argument;

    waiter->err =
        granary_object_create(waiter->client, fixture_id(waiter->number), waiter->bytes, 0, 60000, &waiter->buffer);
    waiter->place = atomic_fetch_add(waiter->served, 1) + 1;
    return NULL;
}

/* One more waits when this returns. */
static void
start_waiter(void **state, struct waiter *waiter, atomic_uint *served, uint64_t number, uint64_t bytes)
{
    uint64_t before;

    *waiter = (struct waiter){
        .client = connect_to(state, NULL, "waiter"), .number = number, .bytes = bytes, .served = served};
    before = fixture_stat(waiter->client).room_waits;
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_room, waiter), 0);
    for (int i = 0; fixture_stat(waiter->client).room_waits == before; i++) {
        assert_true(i < PATIENT);
        pause_ms();
    }
}

static void
end_waiter(struct waiter *waiter)
{
    (void)pthread_join(waiter->thread, NULL);
    assert_ok(waiter->err);
    granary_object_abort(waiter->client, &waiter->buffer);
    granary_disconnect(waiter->client);
}

static void
wait_until_served(atomic_uint *served, unsigned count)
{
    for (int i = 0; atomic_load(served) < count; i++) {
        assert_true(i < PATIENT);
        pause_ms();
    }
}

/* Memory comes back in pieces that are enough for one at a time, and never for two (4 MiB are free at first, and each
 * piece leaves one more): they are served in the order in which they came. */
static void
first_come_first_served(void **state)
{
    granary_client *client = fixture_connect(state);
    struct waiter waiters[WAITERS];
    atomic_uint served = 0;

    put_pinned(client, 0, 60);
    for (unsigned i = 0; i < WAITERS; i++) {
        start_waiter(state, &waiters[i], &served, 1000 + i, 10 * MIB);
    }
    for (unsigned i = 0; i < WAITERS; i++) {
        unpin(client, i * 11, i * 11 + 11);
        wait_until_served(&served, i + 1);
    }
    for (unsigned i = 0; i < WAITERS; i++) {
        end_waiter(&waiters[i]);
        assert_int_equal(waiters[i].place, i + 1);
    }
    granary_disconnect(client);
}

/* While a huge request cannot be served, small ones are; and it is served in the end though they go on. */
static void
a_huge_request_holds_nobody_up_and_is_not_starved(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *small = fixture_connect(state);
    struct waiter huge;
    atomic_uint served = 0;
    uint64_t n = 2000;

    put_pinned(client, 0, 30);
    start_waiter(state, &huge, &served, 1000, 50 * MIB);
    for (; n < 2200; n++) {
        assert_ok(fixture_put(small, n, 100000, 0));
    }
    assert_int_equal(atomic_load(&served), 0);
    unpin(client, 0, 30);
    for (; atomic_load(&served) == 0; n++) {
        assert_true(n < 100000);
        assert_ok(fixture_put(small, n, 100000, 0));
    }
    end_waiter(&huge);
    granary_disconnect(small);
    granary_disconnect(client);
}

/* The error of who waited in vain names the client that writes, and the one that reads. */
static void
the_error_says_who_holds_what(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *reader = connect_to(state, NULL, "the-reader");
    granary_client *writer = connect_to(state, NULL, "the-writer");
    granary_buffer writing, buffer;
    granary_view view;

    assert_ok(fixture_put(client, 1, 20 * MIB, 0));
    assert_ok(granary_object_get(reader, fixture_id(1), 0, &view));
    assert_ok(granary_object_create(writer, fixture_id(2), 20 * MIB, 0, 0, &writing));
    assert_err(granary_object_create_with(client, fixture_id(3), 40 * MIB, 0,
                                          &(granary_object_options){.timeout_ms = GRANARY_AT_ONCE}, &buffer),
               GRANARY_EFULL);
    assert_err(granary_object_create(client, fixture_id(3), 40 * MIB, 0, 300, &buffer), GRANARY_EFULL);
    assert_true(strstr(granary_error_message(), " 20.0 MiB leased when last tried") != NULL ||
                strstr(granary_error_message(), " 0 B leased when last tried") !=
                    NULL); /* however often it was tried */
    assert_non_null(strstr(granary_error_message(), "the-reader"));
    assert_non_null(strstr(granary_error_message(), "the-writer"));
    assert_non_null(strstr(granary_error_message(), "pid"));
    granary_object_release(reader, &view);
    granary_object_abort(writer, &writing);
    granary_disconnect(writer);
    granary_disconnect(reader);
    granary_disconnect(client);
}

static uint64_t
used_by(granary_client *client, const char *session)
{
    granary_session_info *infos = NULL;
    uint64_t used = UINT64_MAX;
    size_t count = 0;

    assert_ok(granary_session_list(client, &infos, &count));
    for (size_t i = 0; i < count; i++) {
        used = strcmp(infos[i].name, session) == 0 ? infos[i].used_bytes : used;
    }
    free(infos);
    return used;
}

/* A session with a quota puts four times as much: its own objects make room, and nobody else's. */
static void
a_session_keeps_its_quota(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_session_options options = {.quota_bytes = 16 * MIB};
    granary_client *limited;
    granary_buffer buffer;

    assert_ok(granary_session_create(client, "limited", &options));
    limited = connect_to(state, "limited", "limited");
    for (uint64_t n = 0; n < 20; n++) {
        assert_ok(fixture_put(client, n, MIB, 0));
    }
    for (uint64_t n = 0; n < 64; n++) {
        assert_ok(fixture_put(limited, n, MIB, 0));
        assert_true(used_by(client, "limited") <= 16 * MIB);
    }
    for (uint64_t n = 0; n < 64; n++) {
        fixture_check(limited, n, MIB);
        assert_true(used_by(client, "limited") <= 16 * MIB);
    }
    assert_int_equal(fixture_stat(client).evictions, 0);
    assert_err(granary_object_create(limited, fixture_id(99), 17 * MIB, 0, 0, &buffer), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "limited"));
    granary_disconnect(limited);
    granary_disconnect(client);
}

/* What cannot be spilled counts: over quota is an error that says so, and nobody else waits for it. */
static void
over_quota_is_the_sessions_own_trouble(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_session_options options = {.quota_bytes = 8 * MIB};
    granary_client *limited;
    granary_buffer buffer;

    assert_ok(granary_session_create(client, "limited", &options));
    limited = connect_to(state, "limited", "limited");
    put_pinned(limited, 0, 6);
    assert_err(granary_object_create(limited, fixture_id(99), 5 * MIB, 0, 300, &buffer), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "quota"));
    assert_ok(granary_object_create(client, fixture_id(99), 40 * MIB, 0, 0, &buffer));
    granary_object_abort(client, &buffer);
    unpin(limited, 0, 6);
    assert_ok(granary_object_create(limited, fixture_id(99), 5 * MIB, 0, 5000, &buffer));
    granary_object_abort(limited, &buffer);
    granary_disconnect(limited);
    granary_disconnect(client);
}

enum { WRITERS = 20, SPILLED = 6 };

/* A session with a quota of 1 MiB; more than that was put, and each of its clients has a room it makes nothing in. */
static void
crowd(void **state, granary_client *clients[WRITERS])
{
    const granary_session_options options = {.quota_bytes = MIB};
    granary_client *client = fixture_connect(state);

    assert_ok(granary_session_create(client, "limited", &options));
    granary_disconnect(client);
    for (unsigned i = 0; i < WRITERS; i++) {
        clients[i] = connect_to(state, "limited", "writer");
    }
    for (unsigned n = 0; n < SPILLED; n++) {
        assert_ok(fixture_put(clients[0], n, 300000, 0));
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        assert_ok(fixture_put(clients[i], 100 + i, 1000, 0));
    }
}

/* What is spilled is readable although empty rooms fill the quota; and their writers go on. */
static void
rooms_in_which_nothing_is_made_go_first(void **state)
{
    granary_client *clients[WRITERS];

    crowd(state, clients);
    for (unsigned n = 0; n < SPILLED; n++) {
        fixture_check(clients[n], n, 300000);
        assert_true(used_by(clients[n], "limited") <= MIB);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        fixture_check(clients[0], 100 + i, 1000);
        assert_ok(fixture_put(clients[i], 200 + i, 1000, 0));
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        fixture_check(clients[0], 200 + i, 1000);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        granary_disconnect(clients[i]);
    }
}

struct follower {
    void **state;
    sem_t started;
    sem_t over;
};

/* Wait until the store is dead, and start the next one, which ends with this thread. */
static void *
follow(void *argument)
{
    struct follower *follower = argument;
    const struct daemon *daemon = *follower->state;
    siginfo_t dead;

    (void)waitid(P_PID, (id_t)daemon->pid, &dead, WEXITED | WNOWAIT);
    fixture_restart(follower->state);
    (void)sem_post(&follower->started);
    (void)sem_wait(&follower->over);
    return NULL;
}

/* The same when the store dies just when it has taken such a room: the next one closes it. */
static void
a_room_is_taken_across_a_death(void **state)
{
    const struct daemon *daemon = *state;
    struct follower follower = {.state = state};
    pid_t first;
    granary_client *clients[WRITERS];
    pthread_t thread;

    assert_int_equal(setenv("GRANARY_FAULT", "store/spare_taken:kill@1", 1), 0);
    fixture_restart(state);
    first = daemon->pid;
    assert_int_equal(unsetenv("GRANARY_FAULT"), 0);
    assert_int_equal(sem_init(&follower.started, 0, 0), 0);
    assert_int_equal(sem_init(&follower.over, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, follow, &follower), 0);
    crowd(state, clients);
    for (unsigned n = 0; n < SPILLED; n++) {
        fixture_check(clients[n], n, 300000);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        assert_ok(fixture_put(clients[i], 200 + i, 1000, 0));
        fixture_check(clients[0], 200 + i, 1000);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        granary_disconnect(clients[i]);
    }
    assert_int_equal(sem_wait(&follower.started), 0);
    assert_int_not_equal(daemon->pid, first);
    daemon_kill(*state); /* the follower has started it, so it would end with that one */
    assert_int_equal(sem_post(&follower.over), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_restart(state);
}

/* A process that asks for a large room, and has it in the end. */
static pid_t
fork_asker(void **state)
{
    const struct daemon *daemon = *state;
    const granary_connect_options options = {.instance = daemon->directory, .reconnect_ms = 60000};
    pid_t asker = fork();

    if (asker == 0) {
        granary_client *client = NULL;
        granary_buffer buffer;
        bool good = granary_connect(&options, &client) == GRANARY_OK &&
                    granary_object_create(client, fixture_id(1), 40 * MIB, 0, 60000, &buffer) == GRANARY_OK &&
                    granary_object_seal(client, &buffer) == GRANARY_OK;

        _exit(good ? 0 : 1);
    }
    return asker;
}

/* The store dies when it has granted a room, and before it has said so, to a client that sleeps then: others have it. */
static void
a_grant_that_was_not_answered_is_taken_back(void **state)
{
    const struct daemon *daemon = *state;
    granary_client *client;
    siginfo_t info;
    pid_t asker;

    assert_int_equal(setenv("GRANARY_FAULT", "store/room_granted:kill@1", 1), 0);
    fixture_restart(state);
    assert_int_equal(unsetenv("GRANARY_FAULT"), 0);
    asker = fork_asker(state);
    assert_int_equal(waitid(P_PID, (id_t)daemon->pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(kill(asker, SIGSTOP), 0);
    assert_int_equal(waitid(P_PID, (id_t)asker, &info, WSTOPPED), 0);
    fixture_restart(state);
    client = fixture_connect(state);
    put_pinned(client, 100, 140);
    unpin(client, 100, 140);
    assert_int_equal(kill(asker, SIGCONT), 0);
    assert_int_equal(fixture_wait(asker), 0);
    fixture_check(client, 100, MIB);
    granary_disconnect(client);
}

/* Many sessions at their quotas at once: none waits for another one's. */
static void
all_sessions_at_their_quotas_go_on(void **state)
{
    enum { SESSIONS = 30, OBJECTS = 8 };
    granary_client *client = fixture_connect(state);
    granary_client *clients[SESSIONS];

    for (unsigned i = 0; i < SESSIONS; i++) {
        const granary_session_options options = {.quota_bytes = MIB + i % 5 * MIB};
        char name[16];

        (void)snprintf(name, sizeof name, "s%u", i);
        assert_ok(granary_session_create(client, name, &options));
        clients[i] = connect_to(state, name, "limited");
    }
    for (unsigned n = 0; n < OBJECTS; n++) {
        for (unsigned i = 0; i < SESSIONS; i++) {
            assert_ok(fixture_put(clients[i], n, 700000, 0));
            assert_ok(fixture_put(clients[i], 100 + n, 100, 0));
        }
    }
    for (unsigned n = 0; n < OBJECTS; n++) {
        for (unsigned i = 0; i < SESSIONS; i++) {
            fixture_check(clients[i], n, 700000);
        }
    }
    for (unsigned i = 0; i < SESSIONS; i++) {
        granary_disconnect(clients[i]);
    }
    granary_disconnect(client);
}

/* The first of two sessions cannot have what it waits for; the second need not wait for that. */
static void
a_quota_that_cannot_be_kept_holds_no_other_up(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_session_options options = {.quota_bytes = 8 * MIB};
    granary_client *other;
    struct waiter waiter = {.number = 99, .bytes = 5 * MIB};
    atomic_uint served = 0;
    uint64_t before;

    assert_ok(granary_session_create(client, "limited", &options));
    assert_ok(granary_session_create(client, "other", &options));
    waiter.client = connect_to(state, "limited", "limited");
    waiter.served = &served;
    other = connect_to(state, "other", "other");
    put_pinned(waiter.client, 0, 6);
    before = fixture_stat(waiter.client).room_waits;
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for_room, &waiter), 0);
    for (int i = 0; fixture_stat(waiter.client).room_waits == before; i++) {
        assert_true(i < PATIENT);
        pause_ms();
    }
    for (uint64_t n = 0; n < 24; n++) {
        assert_ok(fixture_put(other, n, MIB, 0));
    }
    for (uint64_t n = 0; n < 24; n++) {
        fixture_check(other, n, MIB);
    }
    assert_int_equal(atomic_load(&served), 0);
    unpin(waiter.client, 0, 6);
    end_waiter(&waiter);
    granary_disconnect(other);
    granary_disconnect(client);
}

/* The first object that is to come back waits for its session's quota; the next one lacks memory, which is made. */
static void
memory_is_made_for_who_lacks_it(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_session_options options = {.quota_bytes = 8 * MIB};
    const granary_id first = fixture_id(0);
    granary_client *limited;
    granary_view view;

    assert_ok(granary_session_create(client, "limited", &options));
    limited = connect_to(state, "limited", "limited");
    assert_ok(fixture_put(limited, 0, 6 * MIB, 0));
    assert_ok(granary_object_move(limited, first, GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, PATIENT));
    assert_ok(fixture_put(limited, 1, 6 * MIB, 0));
    assert_ok(granary_object_get(limited, fixture_id(1), 0, &view));
    assert_ok(fixture_put(client, 0, 24 * MIB, 0));
    assert_ok(granary_object_move(client, first, GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, PATIENT));
    for (uint64_t n = 1; n <= 5; n++) {
        assert_ok(fixture_put(client, n, 8 * MIB, 0));
    }
    assert_ok(granary_object_prefetch(limited, &first, 1));
    fixture_check(client, 0, 24 * MIB);
    assert_int_equal(fixture_stat(limited).restore_failed, 0); /* else it went on because that one gave up */
    granary_object_release(limited, &view);
    fixture_check(limited, 0, 6 * MIB);
    granary_disconnect(limited);
    granary_disconnect(client);
}

/* What can never fit is not waited for, however patient the caller; nor is what pins leave no room for. */
static void
what_a_quota_never_holds_is_said_at_once(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_session_options options = {.quota_bytes = 4 * MIB};
    granary_client *limited;
    granary_buffer buffer;
    granary_view view;

    assert_ok(granary_session_create(client, "limited", &options));
    limited = connect_to(state, "limited", "limited");
    assert_err(granary_object_create(limited, fixture_id(99), 5 * MIB, 0, -1, &buffer), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "more than the whole quota of session 'limited'"));
    assert_ok(fixture_put(limited, 50, 2 * MIB, 0));
    put_pinned(limited, 0, 3); /* 50 had to go for that */
    assert_err(granary_object_get(limited, fixture_id(50), -1, &view), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "quota"));
    unpin(limited, 0, 3);
    fixture_check(limited, 50, 2 * MIB);
    granary_disconnect(limited);
    granary_disconnect(client);
}

/* After a first cold room the next ones are warm although nothing was freed: pages came before they were asked for. */
static void
rooms_are_warm_before_they_are_asked_for(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *next;

    assert_ok(fixture_put(client, 1, MIB, 0));
    for (int i = 0; fixture_stat(client).pooled_bytes < MIB; i++) {
        assert_true(i < PATIENT);
        pause_ms();
    }
    next = fixture_connect(state);
    assert_int_equal(fixture_stat(client).rooms_warm, 0);
    assert_ok(fixture_put(next, 2, MIB / 2, 0));
    assert_int_equal(fixture_stat(client).rooms_warm, 1);
    fixture_check(next, 1, MIB);
    fixture_check(client, 2, MIB / 2);
    granary_disconnect(next);
    granary_disconnect(client);
}

/* ---- rooms that others can spare ---- */

#define IDLE 30u

/* Writers with nothing open sleep, each with a room to itself; the store never wrote so little. */
static void
fill_with_idle_rooms(void **state, const char *session, granary_client *writers[IDLE])
{
    for (uint64_t i = 0; i < IDLE; i++) {
        writers[i] = connect_to(state, session, "idle");
        assert_ok(fixture_put(writers[i], i, 100, i % 2 == 0 ? 0 : GRANARY_NOWAIT));
    }
}

/* An object that needs nearly all of memory gets it, though every writer keeps a room; and they write on. */
static void
idle_rooms_make_way(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *writers[IDLE];

    fill_with_idle_rooms(state, NULL, writers);
    assert_ok(granary_flush(client));
    for (uint64_t round = 1; round < 3; round++) {
        assert_ok(fixture_put(client, 1000 * round, 63 * MIB, 0));
        for (uint64_t i = 0; i < IDLE; i++) {
            fixture_check(client, i, 100);
            assert_ok(fixture_put(writers[i], 1000 * round + 1 + i, 100, 0));
            fixture_check(writers[i], 1000 * round + 1 + i, 100);
        }
        fixture_check(client, 1000 * round, 63 * MIB);
    }
    for (uint64_t i = 0; i < IDLE; i++) {
        granary_disconnect(writers[i]);
    }
    granary_disconnect(client);
}

/* A room in which an object is open stays its writer's, and what others hold idle goes. */
static void
an_open_object_keeps_its_room(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *writer = connect_to(state, NULL, "the-writer");
    granary_buffer open, buffer;

    assert_ok(granary_object_create(writer, fixture_id(1), 1000, 0, 1000, &open));
    assert_err(granary_object_create(client, fixture_id(2), 63 * MIB + MIB / 2, 0, 100, &buffer), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "the-writer"));
    fixture_fill(open.data, 1, 1000);
    assert_ok(granary_object_seal(writer, &open));
    assert_ok(fixture_put(client, 2, 63 * MIB + MIB / 2, 0));
    fixture_check(writer, 1, 1000);
    granary_disconnect(writer);
    granary_disconnect(client);
}

/* Writers of a few bytes and one of nearly everything: each gets on, whoever's room is taken when. */
struct busy {
    pthread_t thread;
    granary_client *client;
    uint64_t first;
    atomic_bool *stop;
    uint64_t puts;
    granary_err err;
};

static void *
put_and_read(void *argument)
{
    struct busy *busy = argument;

    while (!atomic_load(busy->stop) && busy->err == GRANARY_OK) {
        granary_id id = fixture_id(busy->first + busy->puts % 8);

        busy->err = fixture_put(busy->client, busy->first + busy->puts % 8, 5000, 0);
        if (busy->err == GRANARY_OK) {
            fixture_check(busy->client, busy->first + busy->puts % 8, 5000);
            busy->err = granary_object_delete(busy->client, id, 0);
        }
        busy->puts++;
    }
    return NULL;
}

static void
rooms_taken_from_busy_writers(void **state)
{
    granary_client *client = fixture_connect(state);
    struct busy writers[WAITERS] = {{.puts = 0}};
    atomic_bool stop = false;

    for (uint64_t i = 0; i < WAITERS; i++) {
        writers[i] = (struct busy){.client = connect_to(state, NULL, "busy"), .first = 100 * (i + 1), .stop = &stop};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, put_and_read, &writers[i]), 0);
    }
    for (uint64_t n = 0; n < 20; n++) {
        assert_ok(fixture_put(client, n, 63 * MIB + MIB / 2, 0));
        fixture_check(client, n, 63 * MIB + MIB / 2);
        assert_ok(granary_object_delete(client, fixture_id(n), 0));
    }
    atomic_store(&stop, true);
    for (uint64_t i = 0; i < WAITERS; i++) {
        (void)pthread_join(writers[i].thread, NULL);
        assert_ok(writers[i].err);
        granary_disconnect(writers[i].client);
    }
    granary_disconnect(client);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(first_come_first_served),
        STORE_TEST(a_huge_request_holds_nobody_up_and_is_not_starved),
        STORE_TEST(the_error_says_who_holds_what),
        STORE_TEST(a_session_keeps_its_quota),
        STORE_TEST(over_quota_is_the_sessions_own_trouble),
        STORE_TEST(rooms_in_which_nothing_is_made_go_first),
        STORE_TEST(a_room_is_taken_across_a_death),
        STORE_TEST(a_grant_that_was_not_answered_is_taken_back),
        STORE_TEST(all_sessions_at_their_quotas_go_on),
        STORE_TEST(a_quota_that_cannot_be_kept_holds_no_other_up),
        STORE_TEST(memory_is_made_for_who_lacks_it),
        STORE_TEST(what_a_quota_never_holds_is_said_at_once),
        STORE_TEST(rooms_are_warm_before_they_are_asked_for),
        STORE_TEST(idle_rooms_make_way),
        STORE_TEST(an_open_object_keeps_its_room),
        STORE_TEST(rooms_taken_from_busy_writers),
    };

    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
