/* Workers embedded in another program: they ask for work, and run it when they are polled. */
#include "executor/worker/private.h"

#include <sys/epoll.h>

#include "base/clock.h"
#include "base/error.h"
#include "contract/versions.h"

/* Tell the scheduler that it may send `more` subtasks, beside those that have arrived. */
static granary_err
ask(struct worker *worker, uint64_t more)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;

    if (worker->number == 0 || worker->received + more == worker->wanted) {
        return GRANARY_OK;
    }
    worker->wanted = worker->received + more;
    message.version = GR_WIRE_OLDEST;
    message.want = worker->wanted + 1;
    return worker_send(worker, &message);
}

granary_err
worker_poll(struct worker *worker, int timeout_ms, uint32_t max, uint32_t *ret_ran)
{
    int64_t deadline = gr_deadline_ns(timeout_ms);
    granary_err err = GRANARY_OK;
    uint32_t ran = 0;

    for (;;) {
        size_t queued;

        err = worker_receive(worker);
        if (err == GRANARY_OK) {
            err = worker_look_after_scheduler(worker);
        }
        if (err == GRANARY_OK && worker->die) {
            err = gr_fail(GRANARY_ESTATE, "this worker was drained: it gets nothing more; destroy it");
        }
        queued = worker->count;
        if (err == GRANARY_OK && ran < max && max - ran > queued) {
            err = ask(worker, max - ran - queued);
        }
        if (err != GRANARY_OK || ran == max) {
            break;
        }
        if (queued > 0) {
            err = worker_run_next(worker);
            if (err != GRANARY_OK) {
                break;
            }
            ran += worker->count < queued;
            continue;
        }
        if (ran > 0 || gr_now_ns() >= deadline) {
            break;
        }
        worker_wait(worker, timeout_ms < 0 ? -1 : gr_left_ms(deadline));
    }
    if (err == GRANARY_OK && !worker->standing) {
        err = ask(worker, 0);
    }
    if (err == GRANARY_OK) {
        err = worker_send_answers(worker);
    }
    *ret_ran = ran;
    return err;
}

granary_err
worker_fd(struct worker *worker, int *ret_fd)
{
    if (worker->poll_fd < 0) {
        worker->poll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (worker->poll_fd < 0) {
            return gr_fail_errno("epoll");
        }
        gr_dealer_watch(worker->socket, worker->poll_fd);
    }
    worker->standing = true;
    *ret_fd = worker->poll_fd;
    return GRANARY_OK;
}
