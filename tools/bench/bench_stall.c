/*
 * How long others wait while one client puts sixteen times the memory budget: gets, puts and messages of a second
 * client while the store spills. An echo between two processes is timed with them: what the machine itself makes
 * everybody wait.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "granary/hold.h"

#define MIB    ((uint64_t)1 << 20)
#define BUDGET "256M"
#define HOT    64u
#define PAUSE  200000 /* ns between two rounds: these clients are there, not busy */

/* Puts objects of 1 MiB; what they say compresses by half. Exit status 0: all of them. */
static int
load(const char *directory, size_t objects)
{
    granary_client *client;
    uint64_t seed = 1;

    if (granary_connect(&(granary_connect_options){.instance = directory, .tag = "load"}, &client) != GRANARY_OK) {
        return 1;
    }
    for (size_t i = 0; i < objects; i++) {
        granary_buffer buffer;
        granary_err err = granary_object_create(client, run_id(((uint64_t)6 << 32) + i), MIB, 0, 60000, &buffer);

        if (err != GRANARY_OK) {
            (void)fprintf(stderr, "granary: bench: %s\n", granary_error_message());
            return 1;
        }
        for (size_t at = 0; at < MIB / sizeof(uint64_t); at++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            ((uint64_t *)buffer.data)[at] = at % 2 == 0 ? seed : at;
        }
        if (granary_object_seal(client, &buffer) != GRANARY_OK) {
            return 1;
        }
    }
    granary_disconnect(client);
    return 0;
}

/* A process that answers each byte with one. */
static pid_t
start_echo(int *ret_fd)
{
    int ends[2];
    pid_t pid;
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        while (read(ends[1], &byte, 1) == 1 && write(ends[1], &byte, 1) == 1) {
        }
        _exit(0);
    }
    (void)close(ends[1]);
    *ret_fd = ends[0];
    return pid;
}

struct stall {
    struct samples gets, puts, pings, echoes;
};

static double
since_us(int64_t *began)
{
    int64_t now = bench_now_ns();
    double us = (double)(now - *began) / 1000;

    *began = now;
    return us;
}

static void
one_round(struct run *run, struct stall *stall, uint64_t round, int echo)
{
    static const char bytes[1024] = "granary";
    granary_id put = run_id(((uint64_t)7 << 32) + round);
    granary_id hot = run_id(((uint64_t)8 << 32) + round % HOT);
    int64_t began = bench_now_ns();
    granary_view view;
    char byte = 0;

    if (run_good(run, granary_object_get(run->client, hot, 0, &view))) {
        granary_object_release(run->client, &view);
    }
    samples_add(&stall->gets, since_us(&began));
    (void)run_good(run, granary_object_put(run->client, put, bytes, sizeof bytes, NULL, 0, 0));
    samples_add(&stall->puts, since_us(&began));
    (void)run_good(run, granary_object_pin(run->client, hot, GRANARY_PIN_CLIENT));
    samples_add(&stall->pings, since_us(&began));
    (void)run_good(run, granary_object_unpin(run->client, hot, GRANARY_PIN_CLIENT));
    began = bench_now_ns();
    if (write(echo, &byte, 1) != 1 || read(echo, &byte, 1) != 1) {
        run->failed = true;
    }
    samples_add(&stall->echoes, since_us(&began));
}

static void
add_p999(struct run *run, const char *key, const char *peer, const char *note, struct samples *samples)
{
    results_add_value(run->results, key, "us", peer, note, samples_quantile(samples, 0.999));
    samples_free(samples);
}

/* Until the loader ends. */
static void
measure(struct run *run, pid_t loader, size_t objects)
{
    static const char bytes[4096] = "hot";
    struct stall stall = {{0}, {0}, {0}, {0}};
    int64_t began = bench_now_ns();
    int status = -1;
    int echo = -1;
    pid_t echoing = start_echo(&echo);

    for (uint64_t i = 0; i < HOT && !run->failed; i++) {
        granary_id id = run_id(((uint64_t)8 << 32) + i);

        (void)run_good(run, granary_object_put(run->client, id, bytes, sizeof bytes, NULL, 0, 0));
        (void)run_good(run, granary_object_pin(run->client, id, GRANARY_PIN_CLIENT));
    }
    for (uint64_t round = 0; !run->failed && waitpid(loader, &status, WNOHANG) == 0; round++) {
        one_round(run, &stall, round, echo);
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
    run->failed = run->failed || status != 0;
    results_add_value(run->results, "stall_load_mib_s", "MiB/s", NULL, "objects of 1 MiB put, 16 times the budget",
                      (double)objects / ((double)(bench_now_ns() - began) / 1e9));
    add_p999(run, "stall_echo_p999_us", NULL, "meanwhile, p99.9: a byte to another process and back", &stall.echoes);
    add_p999(run, "stall_get_p999_us", "stall_echo_p999_us", "... get and release of an object in memory", &stall.gets);
    add_p999(run, "stall_put_p999_us", "stall_echo_p999_us", "... put of 1 KiB", &stall.puts);
    add_p999(run, "stall_ping_p999_us", "stall_echo_p999_us", "... a message to the store and its answer",
             &stall.pings);
    (void)close(echo);
    (void)waitpid(echoing, NULL, 0);
}

void
bench_stall(struct run *run)
{
    size_t objects = run->scale > 1 ? 1024 : 4096;
    struct run own = {.results = run->results, .scale = run->scale};
    struct spawned daemon;
    pid_t loader;

    if (!spawn_start(&daemon, BUDGET)) {
        run->failed = true;
        return;
    }
    loader = fork();
    if (loader == 0) {
        _exit(load(daemon.directory, objects));
    }
    if (loader > 0 &&
        run_good(&own, granary_connect(&(granary_connect_options){.instance = daemon.directory, .tag = "bench"},
                                       &own.client))) {
        measure(&own, loader, objects);
        granary_disconnect(own.client);
    }
    (void)spawn_stop(&daemon);
    run->failed = run->failed || own.failed || loader < 0;
}
