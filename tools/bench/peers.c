/* What the machine can do at best, and LMDB: the floors and peers beside our figures. */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"

#if GRANARY_BENCH_LMDB
#include <lmdb.h>
#endif

/* ---- a message there and back ---- */

void
bench_unix_rtt(struct results *results, size_t rounds)
{
    struct samples samples = {.values = NULL};
    char bytes[64] = {0};
    int ends[2];
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 || (child = fork()) < 0) {
        return;
    }
    if (child == 0) {
        (void)close(ends[0]);
        while (read(ends[1], bytes, sizeof bytes) == (ssize_t)sizeof bytes &&
               write(ends[1], bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
        }
        _exit(0);
    }
    (void)close(ends[1]);
    for (size_t i = 0; i < rounds; i++) {
        int64_t began = bench_now_ns();

        if (write(ends[0], bytes, sizeof bytes) < 0 || read(ends[0], bytes, sizeof bytes) < 0) {
            break;
        }
        samples_add(&samples, (double)(bench_now_ns() - began));
    }
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    results_add(results, "unix_rtt_ns", "ns", NULL, "64 bytes to another process and back, unix socket", &samples);
}

static void
futex(_Atomic uint32_t *word, int op, uint32_t value)
{
    (void)syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void
futex_wait_until(_Atomic uint32_t *word, uint32_t value)
{
    uint32_t now;

    while ((now = atomic_load(word)) != value) {
        futex(word, FUTEX_WAIT, now);
    }
}

static void
futex_set(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    futex(word, FUTEX_WAKE, 1);
}

void
bench_futex_rtt(struct results *results, size_t rounds)
{
    _Atomic uint32_t *words =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* [0] there, [16] back */
    struct samples samples = {.values = NULL};
    pid_t child;

    if (words == MAP_FAILED || (child = fork()) < 0) {
        return;
    }
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (uint32_t i = 1; i <= rounds; i++) {
            futex_wait_until(&words[0], i);
            futex_set(&words[16], i);
        }
        _exit(0);
    }
    for (uint32_t i = 1; i <= rounds; i++) {
        int64_t began = bench_now_ns();

        futex_set(&words[0], i);
        futex_wait_until(&words[16], i);
        samples_add(&samples, (double)(bench_now_ns() - began));
    }
    (void)waitpid(child, NULL, 0);
    (void)munmap((void *)words, 4096);
    results_add(results, "futex_rtt_ns", "ns", NULL, "wake a sleeping process and be woken by it", &samples);
}

/* ---- memory ---- */

double
bench_memcpy(struct results *results, size_t bytes, size_t rounds)
{
    struct samples samples = {.values = NULL};
    char *from = malloc(bytes);
    char *to = malloc(bytes);
    double best = 0;

    if (from != NULL && to != NULL) {
        memset(from, 1, bytes);
        memset(to, 2, bytes);
        for (size_t i = 0; i < rounds; i++) {
            int64_t began = bench_now_ns();

            memcpy(to, from, bytes);
            __asm__ __volatile__("" : : "r"(to) : "memory");
            samples_add(&samples, (double)bytes / (1 << 30) / ((double)(bench_now_ns() - began) / 1e9));
        }
        best = samples_quantile(&samples, 0.5);
        results_add_value(results, "memcpy_gib_s", "GiB/s", NULL, "256 MiB, both sides warm", best);
        samples_free(&samples);
    }
    free(from);
    free(to);
    return best;
}

/* ---- LMDB ---- */

#if GRANARY_BENCH_LMDB
static uint64_t
mixed(uint64_t n)
{
    n = (n + 1) * 0x9e3779b97f4a7c15ull;
    return n ^ n >> 29;
}

static int
lmdb_fill(MDB_env *env, size_t objects, MDB_dbi *ret_dbi)
{
    char bytes[64] = "granary";
    MDB_txn *txn;
    int status = mdb_txn_begin(env, NULL, 0, &txn);

    if (status != 0) {
        return status;
    }
    status = mdb_dbi_open(txn, NULL, 0, ret_dbi);
    for (uint64_t i = 0; status == 0 && i < objects; i++) {
        uint64_t words[2] = {mixed(i), i};
        MDB_val key = {sizeof words, words};
        MDB_val value = {sizeof bytes, bytes};

        status = mdb_put(txn, *ret_dbi, &key, &value, 0);
    }
    if (status != 0) {
        mdb_txn_abort(txn);
        return status;
    }
    return mdb_txn_commit(txn);
}

/* Get in a read transaction of its own, renewed: what makes the address valid, as a lease does. */
static int
lmdb_get(MDB_env *env, MDB_dbi dbi, size_t objects, struct samples *samples)
{
    MDB_txn *txn;
    int status = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    uint64_t n = 1;

    for (size_t i = 0; status == 0 && i < 2000; i++) {
        int64_t began = bench_now_ns();

        for (size_t j = 0; j < 100 && status == 0; j++) {
            uint64_t words[2];
            MDB_val key = {sizeof words, words};
            MDB_val value;

            n = n * 6364136223846793005ull + 1442695040888963407ull;
            words[1] = (n >> 33) % objects;
            words[0] = mixed(words[1]);
            mdb_txn_reset(txn);
            status = mdb_txn_renew(txn);
            if (status == 0) {
                status = mdb_get(txn, dbi, &key, &value);
            }
        }
        samples_add(samples, (double)(bench_now_ns() - began) / 100);
    }
    if (txn != NULL) {
        mdb_txn_abort(txn);
    }
    return status;
}

void
bench_lmdb(struct results *results, const char *directory, const char *key, size_t objects)
{
    struct samples samples = {.values = NULL};
    MDB_env *env = NULL;
    char path[128];
    MDB_dbi dbi;
    int status;

    (void)snprintf(path, sizeof path, "%s/%s", directory, key);
    status = mdb_env_create(&env);
    if (status == 0 && (status = mdb_env_set_mapsize(env, (size_t)2 << 30)) == 0 &&
        (status = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS, 0600)) == 0 &&
        (status = lmdb_fill(env, objects, &dbi)) == 0) {
        status = lmdb_get(env, dbi, objects, &samples);
    }
    if (env != NULL) {
        mdb_env_close(env);
    }
    if (status != 0) {
        (void)fprintf(stderr, "granary: bench: LMDB: %s\n", mdb_strerror(status));
        samples_free(&samples);
        return;
    }
    results_add(results, key, "ns", NULL, "random among as many, renewed read transaction; 100 a sample", &samples);
}
#else
void
bench_lmdb(struct results *results, const char *directory, const char *key, size_t objects)
{
    (void)directory;
    (void)key;
    (void)objects;
    results_not_installed(results, LMDB_PEER);
}
#endif
