/* The store's worker threads: every job is run and reaped, and who can wait gives way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "store/base/worker.h"

#define JOBS 200

struct task {
    struct job job;
    struct workers *workers;
    sem_t *begun, *go; /* NULL: it runs through */
    unsigned lanes;    /* it gives way to */
    bool was_busy;
    atomic_uint *ran;
    unsigned *done;
};

static void
run(struct job *job)
{
    struct task *task = list_owner(job, struct task, job);

    if (task->go != NULL) {
        (void)sem_post(task->begun);
        (void)sem_wait(task->go);
    }
    task->was_busy = task->lanes != 0 && workers_give_way(task->workers, task->lanes);
    atomic_fetch_add(task->ran, 1);
}

static void
done(struct job *job)
{
    ++*list_owner(job, struct task, job)->done;
}

static void
submit(struct task *task, enum worker_lane lane)
{
    task->job = (struct job){.run = run, .done = done};
    workers_submit(task->workers, lane, &task->job);
}

static void
reap_until(struct workers *workers, const unsigned *count, unsigned want)
{
    struct pollfd poll_fd = {.fd = workers_fd(workers), .events = POLLIN};

    while (*count < want) {
        assert_int_equal(poll(&poll_fd, 1, 60000), 1);
        workers_reap(workers);
    }
}

static void
every_job_is_run_and_reaped(void **state)
{
    static struct task tasks[JOBS];
    struct workers *workers;
    atomic_uint ran = 0;
    unsigned reaped = 0;

    (void)state;
    assert_int_equal(workers_start(&workers), GRANARY_OK);
    for (unsigned i = 0; i < JOBS; i++) {
        tasks[i] = (struct task){.workers = workers, .ran = &ran, .done = &reaped};
        submit(&tasks[i], i % WORKER_LANES);
    }
    reap_until(workers, &reaped, JOBS / 2);
    workers_stop(workers);
    assert_int_equal(atomic_load(&ran), JOBS);
    assert_int_equal(reaped, JOBS);
}

/* A job is told that another lane is at work until that one's job has ended; of lanes it did not name it hears nothing.
 */
static void
who_can_wait_gives_way(void **state)
{
    sem_t begun, go;
    struct workers *workers;
    atomic_uint ran = 0;
    unsigned reaped = 0;
    struct task writes, waits, other;

    (void)state;
    assert_int_equal(sem_init(&begun, 0, 0), 0);
    assert_int_equal(sem_init(&go, 0, 0), 0);
    assert_int_equal(workers_start(&workers), GRANARY_OK);
    writes = (struct task){.workers = workers, .begun = &begun, .go = &go, .ran = &ran, .done = &reaped};
    waits = (struct task){
        .workers = workers, .lanes = 1u << WORKER_READ | 1u << WORKER_WRITE, .ran = &ran, .done = &reaped};
    other = (struct task){.workers = workers, .lanes = 1u << WORKER_READ, .ran = &ran, .done = &reaped};
    submit(&writes, WORKER_WRITE);
    (void)sem_wait(&begun);
    submit(&waits, WORKER_SUPPLY);
    submit(&other, WORKER_SUPPLY);
    reap_until(workers, &reaped, 2);
    assert_true(waits.was_busy);
    assert_false(other.was_busy);
    (void)sem_post(&go);
    reap_until(workers, &reaped, 3);
    submit(&waits, WORKER_SUPPLY);
    reap_until(workers, &reaped, 4);
    assert_false(waits.was_busy);
    workers_stop(workers);
    (void)sem_destroy(&begun);
    (void)sem_destroy(&go);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_run_and_reaped),
        cmocka_unit_test(who_can_wait_gives_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
