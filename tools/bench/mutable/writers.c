/* Writers wait at a pipe until all of them have opened the table, and tell through shared memory what they wrote. */
#include "bench/mutable/writers.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"

#define TOGETHER 100u /* rows between two looks at the clock */

struct writer {
    uint64_t rows;
    int64_t ns;
};

struct writers {
    const struct engine *engine;
    int64_t ns;
    struct writer *shared; /* one each */
    int ready[2];          /* a byte from each writer */
    int start[2];          /* ends when all of them are to start */
};

static bool
writer_write(const struct writers *writers, void *handle, struct writer *ret_writer)
{
    const struct engine_kind *kind = writers->engine->kind;
    int64_t values[ENGINE_COLUMNS] = {0};
    int64_t began = bench_now_ns();
    uint64_t rows = 0;
    int64_t ns;

    do {
        for (unsigned i = 0; i < TOGETHER; i++) {
            values[0] = (int64_t)rows++;
            if (!kind->append(handle, 0, values, 1)) {
                return false;
            }
        }
        if (kind->flush != NULL && !kind->flush(handle)) {
            return false;
        }
        ns = bench_now_ns() - began;
    } while (ns < writers->ns);
    *ret_writer = (struct writer){rows, ns};
    return true;
}

/* The child: its exit status is 0 when it has written. */
static int
writer_run(const struct writers *writers, unsigned number)
{
    void *handle;
    bool good;
    char byte = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(writers->start[1]);
    handle = writers->engine->kind->open(writers->engine);
    if (handle == NULL) {
        return 1;
    }
    good = write(writers->ready[1], &byte, 1) == 1 && read(writers->start[0], &byte, 1) == 0 &&
           writer_write(writers, handle, &writers->shared[number]);
    writers->engine->kind->close(handle);
    return good ? 0 : 1;
}

/* All that were started have ended. Returns whether each has written. */
static bool
writers_wait(struct writers *writers, const pid_t *pids, unsigned count)
{
    bool good = true;
    char byte;

    (void)close(writers->ready[1]);
    for (unsigned i = 0; i < count && read(writers->ready[0], &byte, 1) == 1; i++) {
    }
    (void)close(writers->start[1]);
    for (unsigned i = 0; i < count; i++) {
        int status = 1;

        good = waitpid(pids[i], &status, 0) == pids[i] && status == 0 && good;
    }
    (void)close(writers->ready[0]);
    (void)close(writers->start[0]);
    return good;
}

double
writers_measure(const struct engine *engine, unsigned count, int64_t ns)
{
    const size_t size = WRITERS_MOST * sizeof(struct writer);
    struct writers writers = {.engine = engine, .ns = ns};
    pid_t pids[WRITERS_MOST];
    unsigned started = 0;
    double rate = 0;
    bool good;

    writers.shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (writers.shared == MAP_FAILED || pipe(writers.ready) < 0 || pipe(writers.start) < 0) {
        perror("granary: bench");
        return 0;
    }
    while (started < count && (pids[started] = fork()) >= 0) {
        if (pids[started] == 0) {
            _exit(writer_run(&writers, started));
        }
        started++;
    }
    good = writers_wait(&writers, pids, started) && started == count;
    for (unsigned i = 0; good && i < count; i++) {
        rate += (double)writers.shared[i].rows / ((double)writers.shared[i].ns / 1e9);
    }
    (void)munmap(writers.shared, size);
    return rate;
}
