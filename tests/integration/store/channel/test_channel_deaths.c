/* Channels keep what was acknowledged, and give it out as they promise, whoever dies or stops, and wherever. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "granary/channel.h"
#include "integration/store/faults/killed.h"
#include "integration/store/fixture.h"

static granary_channel *
make(granary_client *client, const char *name, unsigned flags)
{
    const granary_channel_options options = {.flags = flags, .ring_bytes = 4096};
    granary_channel *channel = NULL;

    assert_ok(granary_channel_create(client, name, &options, &channel));
    return channel;
}

static void
put_number(granary_channel *channel, uint64_t number)
{
    assert_ok(granary_channel_put(channel, &number, sizeof number, 10000));
}

/* What there is, in turn; false: nothing. */
static bool
next_number(granary_channel *channel, uint64_t *ret_number, bool *ret_again)
{
    granary_message message;
    const granary_err err = granary_channel_get(channel, 0, &message);

    if (err == GRANARY_ETIMEDOUT) {
        return false;
    }
    assert_ok(err);
    assert_true(message.size >= sizeof *ret_number);
    *ret_number = *(const uint64_t *)message.data;
    *ret_again = message.again;
    return true;
}

/* ---- at every instruction ---- */

/* An instrumented program has many times the instructions: not all of them. */
#if defined(__SANITIZE_ADDRESS__)
#define STEP(at) ((at) < 300 ? 7 : 997)
#else
#define STEP(at) ((at) < 300 ? 1 : 41)
#endif

/* A writer or a reader: it does once what it is killed at the second time. */
struct deed {
    bool puts;
    bool first; /* it is killed at the first one, too */
    uint64_t number;
};

static void
deed_run(void *opened, void *context)
{
    const struct deed *deed = context;
    uint64_t number;
    bool again;

    if (deed->puts) {
        put_number(opened, deed->number);
    } else if (!next_number(opened, &number, &again)) {
        _exit(1);
    }
}

static void *
deed_open(granary_client *client, const char *name, void *context)
{
    struct deed *deed = context;
    granary_channel *channel = NULL;

    assert_ok(granary_channel_open(client, name, &channel));
    if (!deed->first) {
        deed_run(channel, deed);
        deed->number++;
    }
    return channel;
}

static void
a_put_is_whole_or_nothing(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *channel = make(client, "put", 0);
    uint64_t killed = 0;
    bool again, more = true;

    /* Each of them has a lane, which the next one finds as the dead one left it: with a message, or without. */
    for (uint64_t i = 0; more; i += STEP(i)) {
        struct deed deed = {.puts = true, .first = i % 8 == 0, .number = i * 10};
        const uint64_t first = deed.number;
        uint64_t number, count = 0;

        more = killed_do(state, "put", &(struct killed_deed){deed_open, deed_run, NULL, &deed}, i);
        killed += more;
        while (next_number(channel, &number, &again)) {
            assert_true(number == first + count && !again);
            count++;
        }
        assert_true(count <= 2 - (uint64_t)deed.first && count >= 1 - (uint64_t)deed.first);
        assert_true(more || count == 2 - (uint64_t)deed.first);
        more = more || deed.first;
    }
    assert_true(killed > 40);
    granary_channel_close(channel);
    granary_disconnect(client);
}

static void
a_message_is_given_until_it_is_done(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "get", 0), *out = NULL;
    uint64_t killed = 0, next = 0;
    bool more = true;

    for (uint64_t i = 0; more; i += STEP(i)) {
        struct deed deed = {.puts = false, .first = i % 8 == 0};
        uint64_t given[3] = {0}, number;
        bool again;

        for (uint64_t k = 0; k < 3; k++) {
            put_number(in, next + k);
        }
        more = killed_do(state, "get", &(struct killed_deed){deed_open, deed_run, NULL, &deed}, i);
        killed += more;
        assert_ok(granary_channel_open(client, "get", &out));
        while (next_number(out, &number, &again)) {
            assert_in_range(number, next, next + 2);
            given[number - next]++;
            assert_true(!again || number < next + 2 - (uint64_t)deed.first);
        }
        granary_channel_close(out);
        /* The first one may have been done, when the child asked for the second; that one was not. */
        assert_true(given[0] == 1 || (given[0] == 0 && !deed.first));
        assert_true(given[1] == 1 && given[2] == 1);
        next += 3;
        more = more || deed.first;
    }
    assert_true(killed > 40);
    granary_channel_close(in);
    granary_disconnect(client);
}

/* What happens while a reader is in the middle of a get. */
struct change {
    struct deed deed;
    granary_client *client;
    granary_channel *in;
    granary_channel *out;
};

static void
writer_changes(void *context)
{
    struct change *change = context;
    uint64_t number;
    bool again;

    while (next_number(change->out, &number, &again)) {
    }
    granary_channel_done(change->out);
    granary_channel_close(change->in);
    assert_ok(granary_channel_open(change->client, "change", &change->in));
    put_number(change->in, 2);
}

static void *
change_open(granary_client *client, const char *name, void *context)
{
    return deed_open(client, name, &((struct change *)context)->deed);
}

static void
change_run(void *opened, void *context)
{
    granary_message message;

    (void)context;
    assert_ok(granary_channel_get(opened, 10000, &message));
}

static void
a_reader_that_was_overtaken_finds_the_next_ring(void **state)
{
    struct change change = {.deed = {.first = true}, .client = fixture_connect(state)};
    uint64_t stopped = 0, number;
    bool again, more = true;

    change.in = make(change.client, "change", 0);
    assert_ok(granary_channel_open(change.client, "change", &change.out));
    assert_false(next_number(change.out, &number, &again)); /* it has joined */
    for (uint64_t i = 0; more; i += STEP(i)) {
        put_number(change.in, 0);
        put_number(change.in, 1);
        more = killed_do(state, "change", &(struct killed_deed){change_open, change_run, writer_changes, &change}, i);
        stopped += more;
        while (next_number(change.out, &number, &again)) {
        }
        granary_channel_done(change.out);
    }
    assert_true(stopped > 40);
    granary_channel_close(change.in);
    granary_channel_close(change.out);
    granary_disconnect(change.client);
}

/* It joins, says so by dying, and is in nobody's way. */
static void
a_dead_reader_of_a_broadcast_holds_nobody_up(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "cast", GRANARY_CHANNEL_BROADCAST);
    granary_channel_info info;

    for (int round = 0; round < 3; round++) {
        const pid_t child = fork();

        if (child == 0) {
            granary_channel *reader = NULL;

            if (granary_channel_open(fixture_connect(state), "cast", &reader) != GRANARY_OK ||
                granary_channel_join(reader, NULL, GRANARY_CHANNEL_NEXT) != GRANARY_OK) {
                _exit(1);
            }
            (void)raise(SIGKILL);
        }
        assert_int_equal(fixture_wait(child), 128 + SIGKILL);
        for (uint64_t i = 0; i < 4096 / 32 + 1; i++) {
            put_number(in, i); /* around the ring */
        }
        assert_ok(granary_channel_describe(in, &info));
        assert_true(info.waiting == 0 && info.readers == 0);
    }
    granary_channel_close(in);
    granary_disconnect(client);
}

/* ---- at any time ---- */

#define MOST     (1u << 20)
#define A_ROUND  200u /* messages that are put between two kills, at most */
#define CHILDREN 5    /* two writers, three readers */

/* By numbers of messages. */
struct record {
    _Atomic uint64_t next;
    _Atomic uint64_t allowed;
    _Atomic uint8_t acknowledged[MOST];
    _Atomic uint8_t given[MOST]; /* without `again` */
    _Atomic uint8_t again[MOST];
};

static void
be_busy(void **state, struct record *record, bool puts, uint64_t seed)
{
    granary_client *client = fixture_connect(state);
    granary_channel *channel = NULL;
    granary_err err = granary_channel_open(client, "busy", &channel);

    while (err == GRANARY_OK) {
        uint64_t number[16] = {0};
        granary_message message;

        if (puts) {
            number[0] = atomic_fetch_add(&record->next, 1);
            while (number[0] >= atomic_load(&record->allowed)) {
                (void)usleep(50);
            }
            assert_true(number[0] < MOST);
            err = granary_channel_put(channel, number, 8 + (seed = seed * 5 + 1) % 97, GRANARY_FOREVER);
            atomic_fetch_add(&record->acknowledged[number[0]], err == GRANARY_OK);
        } else if ((err = granary_channel_get(channel, GRANARY_FOREVER, &message)) == GRANARY_OK) {
            number[0] = *(const uint64_t *)message.data;
            atomic_fetch_add(message.again ? &record->again[number[0] % MOST] : &record->given[number[0] % MOST], 1);
        }
    }
    (void)fprintf(stderr, "%d: a channel's %s: %s\n", (int)getpid(), puts ? "writer" : "reader",
                  granary_error_message());
    _exit(1);
}

static pid_t
start_busy(void **state, struct record *record, bool puts, uint64_t seed)
{
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
        be_busy(state, record, puts, seed);
    }
    return child;
}

static void
writers_and_readers_are_killed_at_any_time(void **state)
{
    const char *asked = getenv("GRANARY_KILLS");
    const int kills = asked == NULL ? 1000 : atoi(asked);
    struct record *record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    granary_client *client = fixture_connect(state);
    granary_channel *out = make(client, "busy", 0);
    uint64_t number, acknowledged = 0, seed = 1;
    granary_message message;
    pid_t child[CHILDREN];

    assert_true(record != MAP_FAILED);
    atomic_store(&record->allowed, A_ROUND);
    for (int i = 0; i < CHILDREN; i++) {
        child[i] = start_busy(state, record, i < 2, 17);
    }
    for (int i = 0; i < kills; i++) {
        const uint64_t before = atomic_load(&record->next);
        const int who = (int)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % CHILDREN;

        /* Where in their work they are is up to chance; some was done. */
        atomic_store(&record->allowed, before + A_ROUND);
        while (atomic_load(&record->next) < before + seed % 50) {
            (void)usleep(100);
        }
        assert_int_equal(kill(child[who], SIGKILL), 0);
        assert_int_equal(fixture_wait(child[who]), 128 + SIGKILL);
        child[who] = start_busy(state, record, who < 2, seed);
    }
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(kill(child[i], SIGKILL), 0);
        assert_int_equal(fixture_wait(child[i]), 128 + SIGKILL);
    }
    while (granary_channel_get(out, 0, &message) == GRANARY_OK) {
        number = *(const uint64_t *)message.data;
        atomic_fetch_add(message.again ? &record->again[number] : &record->given[number], 1);
    }
    for (uint64_t i = 0; i < atomic_load(&record->next) && i < MOST; i++) {
        /* A reader that was killed before it wrote it down had got it, too. */
        assert_in_range(record->given[i], 0, 1);
        assert_true(!record->acknowledged[i] || record->given[i] + record->again[i] > 0);
        acknowledged += record->acknowledged[i];
    }
    assert_true(acknowledged > (uint64_t)kills);
    (void)munmap(record, sizeof *record);
    granary_channel_close(out);
    granary_disconnect(client);
}

static void
a_stopped_process_stops_no_other_writer_or_reader(void **state)
{
    struct record *record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    granary_client *client = fixture_connect(state);
    granary_channel *own = make(client, "busy", 0);
    int status;

    assert_true(record != MAP_FAILED);
    for (int puts = 0; puts < 2; puts++) {
        for (int round = 0; round < 20; round++) {
            uint64_t number, before = atomic_load(&record->next);
            pid_t other, child;
            bool again;

            atomic_store(&record->allowed, before + A_ROUND);
            other = start_busy(state, record, !puts, 3);
            child = start_busy(state, record, puts, 5);

            while (atomic_load(&record->next) < before + 20) {
                (void)usleep(100);
            }
            assert_int_equal(kill(child, SIGSTOP), 0);
            assert_int_equal(waitpid(child, &status, WUNTRACED), child);
            assert_int_equal(kill(other, SIGKILL), 0);
            (void)fixture_wait(other);
            /* It may have one message, which stays where it is: that is less than a ring. */
            for (uint64_t i = 0; i < 3; i++) {
                number = atomic_fetch_add(&record->next, 1);
                put_number(own, number);
                do {
                    granary_message message;

                    assert_ok(granary_channel_get(own, 10000, &message));
                    again = *(const uint64_t *)message.data == number;
                } while (!again);
            }
            assert_int_equal(kill(child, SIGKILL), 0);
            (void)fixture_wait(child);
            while (next_number(own, &number, &again)) {
            }
        }
    }
    (void)munmap(record, sizeof *record);
    granary_channel_close(own);
    granary_disconnect(client);
}

static void
channels_outlive_the_store(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_channel *in = make(client, "lasting", 0), *out = NULL;
    uint64_t number;
    bool again;

    assert_ok(granary_channel_open(client, "lasting", &out));
    for (uint64_t i = 0; i < 500; i++) {
        if (i % 100 == 50) {
            fixture_restart(state);
        }
        put_number(in, i);
        assert_true(next_number(out, &number, &again) && number == i && !again);
    }
    granary_channel_close(in);
    fixture_restart(state);
    assert_ok(granary_channel_open(client, "lasting", &in));
    put_number(in, 7);
    assert_true(next_number(out, &number, &again) && number == 7);
    granary_channel_close(in);
    granary_channel_close(out);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_put_is_whole_or_nothing, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_message_is_given_until_it_is_done, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_reader_that_was_overtaken_finds_the_next_ring, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_dead_reader_of_a_broadcast_holds_nobody_up, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(writers_and_readers_are_killed_at_any_time, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_stopped_process_stops_no_other_writer_or_reader, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(channels_outlive_the_store, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
