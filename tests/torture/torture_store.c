/*
 * torture_store SECONDS SEED: client processes do random things to shared objects while others of them are killed
 * (kill -9) at random moments; the store has a budget of about a quarter of the data.
 *
 * What must hold: the content of every object that can be had is what its id says; an object that a living process put
 * and nobody deleted is there; the account adds up at every look; in the end no byte is in use by the dead.
 *
 * Each worker owns a range of ids: only it puts and deletes them, everybody gets them. What it knows of them lies in
 * shared memory and survives it: PUTTING and DELETING mark what was under way when it was killed.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "granary/hold.h"
#include "granary/store.h"
#include "support/daemon.h"

#define WORKERS 8
#define OBJECTS 400 /* of each worker; 800 KiB at most, 20 on average: 64 MiB in all */
#define MEMORY  "16M"

enum knowledge { ABSENT, PUTTING, PRESENT, DELETING };

struct shared {
    _Atomic uint64_t ops;
    _Atomic uint64_t checked;
    _Atomic uint64_t lost;
    _Atomic uint64_t damaged;
    _Atomic uint64_t full;
    _Atomic uint64_t account_errors;
    _Atomic bool stop;
    _Atomic uint32_t known[WORKERS][OBJECTS];
};

static struct shared *shared;
static struct daemon daemon_of_run;

static uint64_t
mixed(uint64_t n)
{
    n = (n + 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
    n ^= n >> 32;
    n *= 0xd6e8feb86659fd93ull;
    return n ^ n >> 32;
}

static uint64_t
next_random(uint64_t *seed)
{
    return mixed(++*seed);
}

static granary_id
object_id(unsigned owner, unsigned n)
{
    uint64_t words[2] = {mixed(owner * 100000u + n), (uint64_t)owner << 32 | n};
    granary_id id;

    memcpy(id.bytes, words, sizeof id.bytes);
    return id;
}

/* Mostly small, some large. */
static uint64_t
object_size(unsigned owner, unsigned n)
{
    uint64_t random = mixed(owner * 7919u + n);

    return n % 20 == 0 ? random % 800000 : random % 3 == 0 ? random % 60000 : random % 3000;
}

static void
object_fill(char *bytes, unsigned owner, unsigned n, uint64_t size)
{
    uint64_t word = mixed(owner * 31u + n);

    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word, word += 0x9e3779b97f4a7c15ull) {
        memcpy(bytes, &word, sizeof word);
    }
    memcpy(bytes, &word, size);
}

static bool
object_is_whole(const granary_view *view, unsigned owner, unsigned n)
{
    const char *bytes = view->data;
    uint64_t size = view->data_size;
    uint64_t word = mixed(owner * 31u + n);

    if (size != object_size(owner, n) || view->meta_size != n % 7 ||
        (n % 7 > 0 && memcmp(view->meta, "meta..", n % 7))) {
        return false;
    }
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word, word += 0x9e3779b97f4a7c15ull) {
        if (memcmp(bytes, &word, sizeof word) != 0) {
            return false;
        }
    }
    return memcmp(bytes, &word, size) == 0;
}

static void
complain(const char *what, unsigned owner, unsigned n)
{
    (void)fprintf(stderr, "torture: %s: worker %u object %u: %s\n", what, owner, n, granary_error_message());
}

/* ---- what a worker does ---- */

static void
do_put(granary_client *client, unsigned self, unsigned n, uint64_t *seed)
{
    _Atomic uint32_t *known = &shared->known[self][n];
    granary_buffer buffer;
    granary_err err;

    if (atomic_load(known) != ABSENT) {
        return;
    }
    err = granary_object_create(client, object_id(self, n), object_size(self, n), n % 7, 2000, &buffer);
    if (err != GRANARY_OK) {
        atomic_fetch_add(err == GRANARY_EFULL ? &shared->full : &shared->lost, 1);
        if (err != GRANARY_EFULL) {
            complain("create", self, n);
        }
        return;
    }
    object_fill(buffer.data, self, n, buffer.data_size);
    if (n % 7 > 0) {
        memcpy(buffer.meta, "meta..", n % 7);
    }
    if (next_random(seed) % 16 == 0) {
        granary_object_abort(client, &buffer);
        return;
    }
    atomic_store(known, PUTTING);
    err = granary_object_seal(client, &buffer);
    if (err != GRANARY_OK) {
        complain("seal", self, n);
        atomic_fetch_add(&shared->lost, 1);
    }
    atomic_store(known, PRESENT);
}

static void
do_delete(granary_client *client, unsigned self, unsigned n)
{
    _Atomic uint32_t *known = &shared->known[self][n];

    if (atomic_load(known) != PRESENT) {
        return;
    }
    atomic_store(known, DELETING);
    if (granary_object_delete(client, object_id(self, n), 0) != GRANARY_OK) {
        complain("delete", self, n);
        atomic_fetch_add(&shared->lost, 1);
    }
    atomic_store(known, ABSENT);
}

/* Get any object. Of one's own it is known whether it must be there. */
static void
do_get(granary_client *client, unsigned self, unsigned owner, unsigned n)
{
    uint32_t known = atomic_load(&shared->known[owner][n]);
    granary_view view;
    granary_err err = granary_object_get(client, object_id(owner, n), 0, &view);

    if (err == GRANARY_OK) {
        if (!object_is_whole(&view, owner, n)) {
            complain("damaged", owner, n);
            atomic_fetch_add(&shared->damaged, 1);
        }
        atomic_fetch_add(&shared->checked, 1);
        granary_object_release(client, &view);
    } else if (err == GRANARY_EFULL) {
        atomic_fetch_add(&shared->full, 1);
    } else if (err != GRANARY_ENOENT || (owner == self && known == PRESENT)) {
        complain("lost", owner, n);
        atomic_fetch_add(&shared->lost, 1);
    }
}

static void
do_get_many(granary_client *client, unsigned owner, unsigned n)
{
    granary_view views[8];
    granary_id ids[8];

    for (unsigned i = 0; i < 8; i++) {
        ids[i] = object_id(owner, (n + i) % OBJECTS);
    }
    if (granary_object_get_many(client, ids, 8, 0, views, NULL) != GRANARY_OK) {
        return;
    }
    for (unsigned i = 0; i < 8; i++) {
        if (!object_is_whole(&views[i], owner, (n + i) % OBJECTS)) {
            complain("damaged", owner, n + i);
            atomic_fetch_add(&shared->damaged, 1);
        }
        atomic_fetch_add(&shared->checked, 1);
    }
    granary_object_release_many(client, views, 8);
}

static bool
account_adds_up(granary_client *client, granary_store_stat *stat)
{
    return granary_store_stat_get(client, stat) == GRANARY_OK && stat->free_bytes + stat->reserved_bytes +
                                                                         stat->writing_bytes + stat->sealed_bytes +
                                                                         stat->retiring_bytes + stat->pooled_bytes ==
                                                                     stat->capacity_bytes;
}

static void
do_pin(granary_client *client, unsigned owner, unsigned n)
{
    if (granary_object_pin(client, object_id(owner, n), GRANARY_PIN_CLIENT) == GRANARY_OK) {
        (void)granary_object_unpin(client, object_id(owner, n), GRANARY_PIN_CLIENT);
    }
}

/* What its predecessor had under way when it was killed is there or it is not: look. */
static void
take_over(granary_client *client, unsigned self)
{
    for (unsigned n = 0; n < OBJECTS; n++) {
        uint32_t known = atomic_load(&shared->known[self][n]);

        if (known == PUTTING || known == DELETING) {
            atomic_store(&shared->known[self][n],
                         granary_object_contains(client, object_id(self, n)) ? PRESENT : ABSENT);
        }
    }
}

static void
work(unsigned self, uint64_t seed)
{
    granary_connect_options options = {.instance = daemon_of_run.directory, .tag = "torture"};
    granary_client *client;
    granary_store_stat stat;

    if (granary_connect(&options, &client) != GRANARY_OK) {
        complain("connect", self, 0);
        atomic_fetch_add(&shared->lost, 1);
        return;
    }
    take_over(client, self);
    while (!atomic_load(&shared->stop)) {
        unsigned owner = (unsigned)(next_random(&seed) % WORKERS);
        unsigned n = (unsigned)(next_random(&seed) % OBJECTS);
        unsigned dice = (unsigned)(next_random(&seed) % 100);

        if (dice < 30) {
            do_put(client, self, n, &seed);
        } else if (dice < 45) {
            do_delete(client, self, n);
        } else if (dice < 93) {
            do_get(client, self, dice % 4 == 0 ? self : owner, n);
        } else if (dice < 96) {
            do_get_many(client, owner, n);
        } else if (dice < 98) {
            do_pin(client, owner, n);
        } else if (!account_adds_up(client, &stat)) {
            complain("account", self, 0);
            atomic_fetch_add(&shared->account_errors, 1);
        }
        atomic_fetch_add(&shared->ops, 1);
    }
    granary_disconnect(client);
}

/* ---- the run ---- */

static pid_t
spawn(unsigned self, uint64_t seed)
{
    pid_t parent = getpid();
    pid_t child = fork();

    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            work(self, seed);
        }
        _exit(0);
    }
    return child;
}

/* Kill one after the other at random moments and put another in its place. Returns how many died. */
static uint64_t
kill_at_random(pid_t *workers, int64_t seconds, uint64_t *seed)
{
    int64_t end = gr_now_ns() + seconds * 1000000000;
    uint64_t kills = 0;

    while (gr_now_ns() < end) {
        unsigned victim = (unsigned)(next_random(seed) % WORKERS);

        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(next_random(seed) % 40000000)}, NULL);
        (void)kill(workers[victim], SIGKILL);
        (void)waitpid(workers[victim], NULL, 0);
        kills++;
        workers[victim] = spawn(victim, next_random(seed));
    }
    return kills;
}

/* Everybody is gone: what must be there is there and whole, and no byte is in use by the dead. */
static void
inspect(void)
{
    granary_connect_options options = {.instance = daemon_of_run.directory};
    int64_t deadline = gr_now_ns() + 5000000000;
    granary_store_stat stat = {0};
    granary_client *client;

    if (granary_connect(&options, &client) != GRANARY_OK) {
        complain("connect", 0, 0);
        atomic_fetch_add(&shared->lost, 1);
        return;
    }
    /* Reserved may stay: the store keeps what it opened for restores. */
    while (!account_adds_up(client, &stat) || stat.writing_bytes + stat.retiring_bytes > 0 || stat.clients != 1) {
        if (gr_now_ns() > deadline) {
            (void)fprintf(stderr, "torture: still writing %llu retiring %llu clients %llu\n",
                          (unsigned long long)stat.writing_bytes, (unsigned long long)stat.retiring_bytes,
                          (unsigned long long)stat.clients);
            atomic_fetch_add(&shared->account_errors, 1);
            break;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (unsigned owner = 0; owner < WORKERS; owner++) {
        take_over(client, owner);
        for (unsigned n = 0; n < OBJECTS; n++) {
            do_get(client, owner, owner, n);
            do_delete(client, owner, n);
        }
    }
    if (!account_adds_up(client, &stat) || stat.objects != 0 || stat.sealed_bytes != 0 || stat.disk_bytes != 0) {
        (void)fprintf(stderr, "torture: %llu objects, %llu bytes in memory, %llu on disk after all were deleted\n",
                      (unsigned long long)stat.objects, (unsigned long long)stat.sealed_bytes,
                      (unsigned long long)stat.disk_bytes);
        atomic_fetch_add(&shared->account_errors, 1);
    }
    (void)printf("spills %llu restores %llu\n", (unsigned long long)stat.spills, (unsigned long long)stat.restores);
    granary_disconnect(client);
}

int
main(int argc, char **argv)
{
    static const char *const arguments[] = {"--memory", MEMORY, NULL};
    int64_t seconds = argc > 1 ? strtoll(argv[1], NULL, 10) : 5;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    pid_t workers[WORKERS];
    uint64_t kills;
    bool clean;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !daemon_start(&daemon_of_run, arguments)) {
        return 1;
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = spawn(i, next_random(&seed));
    }
    kills = kill_at_random(workers, seconds, &seed);
    atomic_store(&shared->stop, true);
    for (unsigned i = 0; i < WORKERS; i++) {
        (void)waitpid(workers[i], NULL, 0);
    }
    inspect();
    clean = daemon_stop(&daemon_of_run);
    (void)printf(
        "ops %llu kills %llu checked %llu full %llu lost %llu damaged %llu account errors %llu left behind %s\n",
        (unsigned long long)atomic_load(&shared->ops), (unsigned long long)kills,
        (unsigned long long)atomic_load(&shared->checked), (unsigned long long)atomic_load(&shared->full),
        (unsigned long long)atomic_load(&shared->lost), (unsigned long long)atomic_load(&shared->damaged),
        (unsigned long long)atomic_load(&shared->account_errors), clean ? "nothing" : "something");
    return atomic_load(&shared->lost) + atomic_load(&shared->damaged) + atomic_load(&shared->account_errors) == 0 &&
                   clean && atomic_load(&shared->checked) > 0
               ? 0
               : 1;
}
