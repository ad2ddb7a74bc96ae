/*
 * granary bench channel: messages of 64 bytes from one process to another, beside a pipe, a Unix socket, ZeroMQ over ipc, and
 * a list of Redis. A run is COUNT messages from the first put until the reader has the last one; runs of all take turns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/redis.h"
#include "bench/run.h"
#include "granary/channel.h"

#define SIZE    64u
#define COUNT   2000000u /* messages through granary; a quarter of it through others, which are slower */
#define RUNS    5
#define AT_ONCE 100u /* values in a command of Redis */
#define WAIT_MS 60000
#define MIB     ((uint64_t)1 << 20)

/* Two ends of something that carries messages: the writer's and the reader's process. */
struct ends {
    struct run *run;
    granary_channel *channel;
    int fd[2]; /* the reader's, the writer's */
    const char *directory;
};

struct carrier {
    const char *key;
    const char *note;
    bool (*open)(struct ends *ends); /* before there are two processes */
    bool (*put)(struct ends *ends, size_t count);
    bool (*get)(struct ends *ends, size_t count);
    void (*close)(struct ends *ends);
};

/* ---- granary ---- */

static bool
channel_open(struct ends *ends)
{
    const granary_channel_options options = {.ring_bytes = MIB};

    return run_good(ends->run, granary_channel_create(ends->run->client, "bench", &options, &ends->channel));
}

/* The reader's process has a client of its own. */
static bool
channel_connect(struct ends *ends, const char *name, granary_client **ret_client, granary_channel **ret_channel)
{
    const granary_connect_options options = {.instance = ends->directory, .tag = "bench"};

    return run_good(ends->run, granary_connect(&options, ret_client)) &&
           run_good(ends->run, granary_channel_open(*ret_client, name, ret_channel));
}

static bool
channel_put_all(struct ends *ends, size_t count)
{
    static const char bytes[SIZE];
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = granary_channel_put(ends->channel, bytes, sizeof bytes, WAIT_MS);
    }
    return run_good(ends->run, err);
}

static bool
channel_get_all(struct ends *ends, size_t count)
{
    granary_client *client = NULL;
    granary_channel *channel = NULL;
    granary_message message;
    granary_err err = GRANARY_OK;

    if (!channel_connect(ends, "bench", &client, &channel)) {
        return false;
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = granary_channel_get(channel, WAIT_MS, &message);
    }
    granary_channel_done(channel);
    granary_channel_close(channel);
    granary_disconnect(client);
    return run_good(ends->run, err);
}

static void
channel_end(struct ends *ends)
{
    granary_channel_close(ends->channel);
    (void)granary_channel_delete(ends->run->client, "bench");
}

/* ---- descriptors ---- */

static bool
pipe_open(struct ends *ends)
{
    return pipe(ends->fd) == 0;
}

static bool
socket_open(struct ends *ends)
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends->fd) == 0;
}

static bool
fd_put_all(struct ends *ends, size_t count)
{
    static const char bytes[SIZE];

    for (size_t i = 0; i < count; i++) {
        if (write(ends->fd[1], bytes, sizeof bytes) != (ssize_t)sizeof bytes) {
            return false;
        }
    }
    return true;
}

/* As many at a time as a read gives: of a pipe many, of a socket one. */
static bool
fd_get_all(struct ends *ends, size_t count)
{
    char bytes[SIZE * 64];

    for (size_t got = 0; got < count * SIZE;) {
        ssize_t n = read(ends->fd[0], bytes, sizeof bytes);

        if (n <= 0) {
            return false;
        }
        got += (size_t)n;
    }
    return true;
}

static void
fd_end(struct ends *ends)
{
    (void)close(ends->fd[0]);
    (void)close(ends->fd[1]);
}

/* ---- a list of Redis ---- */

static bool
redis_open(struct ends *ends)
{
    ends->fd[0] = redis_connect(ends->directory);
    ends->fd[1] = redis_connect(ends->directory);
    return ends->fd[0] >= 0 && ends->fd[1] >= 0;
}

/* The next line of an answer, without its end. */
static bool
redis_line(FILE *in, char line[64])
{
    return fgets(line, 64, in) != NULL;
}

static bool
redis_put_all(struct ends *ends, size_t count)
{
    FILE *in = fdopen(dup(ends->fd[1]), "r");
    char command[AT_ONCE * (SIZE + 16) + 64], line[64];
    size_t size = (size_t)snprintf(command, sizeof command, "*%u\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n", AT_ONCE + 2);
    bool good = in != NULL;

    for (size_t i = 0; i < AT_ONCE; i++) {
        size += (size_t)snprintf(command + size, sizeof command - size, "$%u\r\n%0*d\r\n", SIZE, (int)SIZE, 0);
    }
    for (size_t i = 0; good && i < count; i += AT_ONCE) {
        good = write(ends->fd[1], command, size) == (ssize_t)size && redis_line(in, line) && line[0] == ':';
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    return good;
}

static bool
redis_get_all(struct ends *ends, size_t count)
{
    static const char command[] = "*3\r\n$4\r\nLPOP\r\n$1\r\nk\r\n$3\r\n100\r\n";
    FILE *in = fdopen(dup(ends->fd[0]), "r");
    char bytes[SIZE + 8], line[64];
    bool good = in != NULL;

    for (size_t got = 0; good && got < count;) {
        good = write(ends->fd[0], command, sizeof command - 1) == (ssize_t)sizeof command - 1 && redis_line(in, line);
        for (long n = good && line[0] == '*' ? strtol(line + 1, NULL, 10) : 0; good && n > 0; n--, got++) {
            good = redis_line(in, line) && fread(bytes, 1, SIZE + 2, in) == SIZE + 2;
        }
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    return good;
}

/* ---- runs ---- */

static const struct carrier carriers[] = {
    {"messages_per_s", "64 bytes from one process to another", channel_open, channel_put_all, channel_get_all,
     channel_end},
    {"pipe_per_s", "a pipe: a write each, up to 64 a read", pipe_open, fd_put_all, fd_get_all, fd_end},
    {"unix_socket_per_s", "a Unix socket of packets: a write and a read each", socket_open, fd_put_all, fd_get_all,
     fd_end},
    {"redis_list_per_s", "a list of Redis: RPUSH and LPOP of 100 at a time", redis_open, redis_put_all, redis_get_all,
     fd_end},
};
#define CARRIERS (sizeof carriers / sizeof carriers[0])

/* Seconds of one run; 0: it failed. */
static double
carry(struct run *run, const struct carrier *carrier, size_t count)
{
    struct ends ends = {.run = run, .fd = {-1, -1}, .directory = run->daemon->directory};
    int64_t began;
    int status = 1;
    pid_t child;
    bool good;

    if (!carrier->open(&ends)) {
        return 0;
    }
    child = fork();
    if (child == 0) {
        _exit(carrier->get(&ends, count) ? 0 : 1);
    }
    began = bench_now_ns();
    good = child > 0 && carrier->put(&ends, count);
    good = child > 0 && waitpid(child, &status, 0) == child && status == 0 && good;
    began = bench_now_ns() - began;
    carrier->close(&ends);
    return good ? (double)began / 1e9 : 0;
}

/* ZeroMQ has a program of its own: libzmq is no part of this one. */
static double
carry_by_zmq(struct run *run, size_t count)
{
    char programs[PATH_MAX], command[PATH_MAX + 128];
    double us = 0;
    FILE *out;

    if (!bench_programs(programs)) {
        return 0;
    }
    (void)snprintf(command, sizeof command, "exec '%s/granary-peer-zmq' '%s/stream.sock' %zu stream", programs,
                   run->daemon->directory, count);
    out = popen(command, "re"); /* NOLINT(cert-env33-c): a program of ours */
    if (out != NULL) {
        us = fscanf(out, "%lf", &us) == 1 ? us : 0;
        (void)pclose(out);
    }
    return us / 1e6;
}

static void
bench_streams(struct run *run)
{
    struct samples samples[CARRIERS + 1] = {{NULL, 0, 0}};
    const bool has_redis = redis_is_there();
    pid_t redis = 0;
    int fd = has_redis ? redis_start(run->daemon->directory, false, &redis) : -1;

    for (int i = 0; i < RUNS && !run->failed; i++) {
        for (size_t k = 0; k <= CARRIERS; k++) {
            const size_t count = COUNT / (k == 0 ? 1 : 4) / run->scale;
            const double seconds = k == CARRIERS                 ? carry_by_zmq(run, count)
                                   : k == CARRIERS - 1 && fd < 0 ? 0
                                                                 : carry(run, &carriers[k], count);

            if (seconds > 0) {
                samples_add(&samples[k], (double)count / seconds);
            }
        }
    }
    if (samples[CARRIERS].count == 0) {
        results_not_installed(run->results, "libzmq (granary-peer-zmq, beside granary)");
    }
    for (size_t k = 0; k <= CARRIERS; k++) {
        const char *key = k == CARRIERS ? "zmq_ipc_per_s" : carriers[k].key;

        if (samples[k].count > 0) {
            results_add_value(run->results, key, "1/s", k == 0 ? NULL : "messages_per_s",
                              k == CARRIERS ? "ZeroMQ over ipc, DEALER to ROUTER" : carriers[k].note,
                              samples_quantile(&samples[k], 0.5));
        }
        samples_free(&samples[k]);
    }
    if (!has_redis) {
        results_not_installed(run->results, REDIS_PEER);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    redis_stop(redis);
}

/* ---- there and back ---- */

static bool
echo_all(struct ends *ends, size_t count)
{
    granary_client *client = NULL, *other = NULL;
    granary_channel *in = NULL, *out = NULL;
    granary_message message;
    granary_err err = GRANARY_OK;

    if (!channel_connect(ends, "there", &client, &in) || !channel_connect(ends, "back", &other, &out)) {
        return false;
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = granary_channel_get(in, WAIT_MS, &message);
        err = err == GRANARY_OK ? granary_channel_put(out, message.data, message.size, WAIT_MS) : err;
    }
    granary_channel_close(in);
    granary_channel_close(out);
    granary_disconnect(client);
    granary_disconnect(other);
    return run_good(ends->run, err);
}

static void
bench_echo(struct run *run, size_t rounds)
{
    static const char bytes[SIZE];
    struct ends ends = {.run = run, .directory = run->daemon->directory};
    struct samples samples = {.values = NULL};
    granary_channel *there = NULL, *back = NULL;
    granary_message message;
    pid_t child = -1;

    if (run_good(run, granary_channel_create(run->client, "there", NULL, &there)) &&
        run_good(run, granary_channel_create(run->client, "back", NULL, &back))) {
        child = fork();
        if (child == 0) {
            _exit(echo_all(&ends, rounds) ? 0 : 1);
        }
        for (size_t i = 0; i < rounds && !run->failed; i++) {
            const int64_t began = bench_now_ns();

            if (run_good(run, granary_channel_put(there, bytes, sizeof bytes, WAIT_MS)) &&
                run_good(run, granary_channel_get(back, WAIT_MS, &message))) {
                samples_add(&samples, (double)(bench_now_ns() - began));
            }
        }
        (void)waitpid(child, NULL, 0);
    }
    granary_channel_close(there);
    granary_channel_close(back);
    bench_unix_rtt(run->results, rounds);
    bench_futex_rtt(run->results, rounds);
    results_add(run->results, "rtt_ns", "ns", "unix_rtt_ns", "64 bytes to another process and back", &samples);
    samples_free(&samples);
}

static int
run_channel(struct cli *cli)
{
    const struct bench_options *options = cli->self;
    struct results results = {.count = 0};
    struct run run = {.results = &results, .scale = options->quick ? 10 : 1};
    struct spawned daemon = {.pid = 0};
    granary_err err;

    if (!spawn_start(&daemon, NULL)) {
        return 3;
    }
    err = granary_connect(&(granary_connect_options){.instance = daemon.directory, .tag = "bench"}, &run.client);
    if (run_good(&run, err)) {
        run.daemon = &daemon;
        bench_streams(&run);
        bench_echo(&run, 20000 / run.scale);
        granary_disconnect(run.client);
    }
    (void)spawn_stop(&daemon);
    if (run.failed) {
        return err != GRANARY_OK ? granary_error_exit_status(err) : 1;
    }
    results_print(&results, options->json, stdout);
    return 0;
}

const struct command bench_channel = {
    .options = bench_options, COMMAND_ZERO(struct bench_options), .alone = true, .run = run_channel};
