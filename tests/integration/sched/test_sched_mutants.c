/*
 * Messages as a broken or hostile client or executor might send them, from a seed: made by walking the schema, so that
 * every message and field comes, with values that are plausible, extreme or random; then sometimes flipped, cut or
 * stretched. The scheduler must go on serving an honest client with an honest executor.
 *
 * GRANARY_MUTANTS=1000000 GRANARY_SEED=7 build/.../test_sched_mutants is the long form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text/buf.h"
#include "fuzz/sched/message_maker.h"
#include "rig.h"

#define MUTANTS_CI  100000u
#define ROUND       1000u /* messages of one process, which then ends */
#define NOISE_WORDS 2048u /* what a message is made by: enough for a large one */
#define LAST_SEQ    0xfeedfacecafeull

static uint64_t
draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static uint64_t
below(uint64_t *seed, uint64_t limit)
{
    return draw(seed) % limit;
}

_Static_assert(GRANARY__VERSION__PROTOCOL < 128, "one byte of a varint");

/* Fields may come twice, and the last counts: the version the other side speaks, most of the time. */
static void
make_mutant(uint64_t *seed, const ProtobufCMessageDescriptor *descriptor, struct gr_buf *out)
{
    static const char *const texts[] = {"k0", "k1", "k0/0", "read_csv", "object:0123", "/dev/null", "\xff\xfe"};
    static const uint8_t version[] = {1 << 3, GRANARY__VERSION__PROTOCOL};
    uint64_t noise[NOISE_WORDS];
    struct choices choices = {(const uint8_t *)noise, sizeof noise};
    struct message_words words = {.texts = texts,
                                  .text_count = sizeof texts / sizeof texts[0],
                                  .numbers = noise,
                                  .number_count = sizeof noise / sizeof noise[0]};

    for (size_t i = 0; i < NOISE_WORDS; i++) {
        noise[i] = draw(seed);
    }
    out->size = 0;
    make_message(&choices, &words, descriptor, out);
    if (below(seed, 20) > 0) {
        gr_buf_add(out, version, sizeof version);
    }
    switch (below(seed, 8)) {
    case 0:
        for (uint64_t flips = 1 + below(seed, 8); out->size > 0 && flips > 0; flips--) {
            ((uint8_t *)out->bytes)[below(seed, out->size)] ^= (uint8_t)draw(seed);
        }
        break;
    case 1:
        out->size -= below(seed, out->size + 1);
        break;
    case 2:
        gr_buf_add(out, noise, below(seed, 40));
        break;
    default:
        break;
    }
}

/* ---- those who send them ---- */

/* A registration that is believed: what comes behind it is an executor's. */
static void
register_honestly(struct gr_zmq_socket *socket)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    Granary__Register registration = GRANARY__REGISTER__INIT;
    uint8_t bytes[256];

    registration.pid = getpid();
    registration.start_time = gr_process_start_time(getpid());
    message.version = GRANARY__VERSION__PROTOCOL;
    message.register_ = &registration;
    (void)gr_zmq_send(socket, NULL, bytes, granary__from_executor__pack(&message, bytes));
}

static void
receive_all(struct gr_zmq_socket *socket)
{
    struct gr_zmq_message message;

    while (gr_zmq_receive(socket, &message)) {
        gr_zmq_message_free(&message);
    }
}

/* A request that is answered at once: messages of one socket are read in order. */
static void
send_last(struct gr_zmq_socket *socket)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__ClusterInfo cluster = GRANARY__CLUSTER_INFO__INIT;
    uint8_t bytes[64];

    request.version = GRANARY__VERSION__PROTOCOL;
    request.seq = LAST_SEQ;
    request.body_case = GRANARY__REQUEST__BODY_CLUSTER;
    request.cluster = &cluster;
    while (gr_zmq_send(socket, NULL, bytes, granary__request__pack(&request, bytes)) == GRANARY_EBUSY) {
        receive_all(socket);
    }
}

/* Wait for the answer to send_last(), or to a registration. false: none comes */
static bool
await_last(struct gr_zmq_socket *socket, bool is_pool)
{
    struct gr_zmq_message message;
    bool last = false;

    while (!last && gr_zmq_wait(&socket, 1, NULL, NULL, 0, 60000)) {
        while (!last && gr_zmq_receive(socket, &message)) {
            Granary__ToExecutor *order =
                is_pool ? granary__to_executor__unpack(NULL, message.size, message.bytes) : NULL;
            Granary__Reply *reply = is_pool ? NULL : granary__reply__unpack(NULL, message.size, message.bytes);

            last = is_pool ? order != NULL && order->registered != 0 : reply != NULL && reply->seq == LAST_SEQ;
            if (order != NULL) {
                granary__to_executor__free_unpacked(order, NULL);
            }
            if (reply != NULL) {
                granary__reply__free_unpacked(reply, NULL);
            }
            gr_zmq_message_free(&message);
        }
    }
    return last;
}

/* In a process of its own: when it ends, its executor has died. It is a program of its own, too: libzmq has threads in
 * the one that starts it, and what they hold locked when it is forked would stay so. */
static void
send_mutants(const struct gr_instance *instance, uint64_t seed, uint64_t count)
{
    struct gr_zmq_context *context = gr_zmq_context_create(1);
    granary_err err = GRANARY_OK;
    struct gr_zmq_socket *client = gr_zmq_dealer(context, instance->sched_socket, &err);
    struct gr_zmq_socket *pool = gr_zmq_dealer(context, instance->pool_socket, &err);
    struct gr_buf bytes = {0};

    if (client == NULL || pool == NULL) {
        _exit(1);
    }
    if (below(&seed, 2) == 0) {
        register_honestly(pool);
    }
    for (uint64_t i = 0; i < count; i++) {
        bool to_pool = below(&seed, 3) == 0;

        make_mutant(&seed, to_pool ? &granary__from_executor__descriptor : &granary__request__descriptor, &bytes);
        while (gr_zmq_send(to_pool ? pool : client, NULL, bytes.bytes, bytes.size) == GRANARY_EBUSY) {
            receive_all(client);
            receive_all(pool);
        }
        if (i % 64 == 0) {
            receive_all(client);
            receive_all(pool);
        }
    }
    gr_buf_free(&bytes);
    send_last(client);
    if (!await_last(client, false)) {
        _exit(2);
    }
    receive_all(pool);
    register_honestly(pool);
    if (!await_last(pool, true)) {
        _exit(3);
    }
    gr_zmq_close(client);
    gr_zmq_close(pool);
    gr_zmq_context_destroy(context);
    _exit(0);
}

static void
exec_sender(const char *directory, uint64_t seed)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRIu64, seed);
    (void)execl("/proc/self/exe", "test_sched_mutants", directory, text, (char *)NULL);
    _exit(127);
}

static void
honest_work_is_done(struct rig *rig, uint64_t round)
{
    static const char *const lines[] = {"x", "y x"};
    char key[32];

    (void)snprintf(key, sizeof key, "honest-%llu", (unsigned long long)round);
    assert_int_equal(rig_submit(rig, key, lines, 2), GRANARY_OK);
    assert_int_equal(rig_wait(rig, key, NULL), GRANARY_OK);
    assert_int_equal(rig_ref(rig, GRANARY__REQUEST__BODY_DELETE, key), GRANARY_OK);
}

static uint64_t
setting(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);

    return text == NULL ? fallback : strtoull(text, NULL, 10);
}

static void
the_scheduler_outlives_a_storm_of_mutants(void **state)
{
    uint64_t seed = setting("GRANARY_SEED", 1) * 0x9e3779b97f4a7c15ull | 1;
    uint64_t count = setting("GRANARY_MUTANTS", MUTANTS_CI);
    struct rig rig;

    (void)state;
    rig_init(&rig);
    assert_true(rig_start(&rig, "memory"));
    for (uint64_t sent = 0; sent < count; sent += ROUND) {
        uint64_t round_seed = draw(&seed);
        pid_t parent = getpid();
        pid_t child = fork();
        int status = 1;

        assert_true(child >= 0);
        if (child == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == parent) {
                exec_sender(rig.directory, round_seed);
            }
            _exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        /* An executor that does not stop what it is told to stop is killed: that may be this one. */
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
            assert_int_equal(status, 0);
        }
        /* A mutant may have sent everybody away: that is a client's right. */
        rig_executor_kill(&rig, 0);
        while (rig_executor_count(&rig) > 0) {
        }
        rig_executor_start(&rig, 0);
        honest_work_is_done(&rig, sent);
    }
    assert_int_equal(rig_stop(&rig, SIGTERM), 0);
    rig_fini(&rig);
}

/* DIRECTORY SEED: send a round of mutants to the instance. */
int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scheduler_outlives_a_storm_of_mutants),
    };
    struct gr_instance instance;

    if (argc == 3 && gr_instance_resolve(argv[1], &instance) == GRANARY_OK) {
        send_mutants(&instance, strtoull(argv[2], NULL, 10), ROUND);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
