/* Workers embedded in other programs. */
#include "granary/worker.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/text/duration.h"
#include "executor/worker/worker.h"
#include "topology/topology.h"

struct granary_worker {
    struct worker *worker;
};

granary_err
granary_worker_create_sized(const granary_worker_options *theirs, granary_worker **ret_worker, size_t options_size)
{
    static _Atomic int workers; /* of this process: tells them apart */
    granary_worker *worker = calloc(1, sizeof *worker);
    granary_worker_options options;
    struct topology topology;
    granary_err err;

    if (worker == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a worker");
    }
    err = gr_sized_take(&options, sizeof options, theirs, options_size);
    if (err == GRANARY_OK) {
        err = topology_read(&topology);
    }
    if (err != GRANARY_OK) {
        free(worker);
        return err;
    }
    err = worker_create(
        &(struct worker_options){
            .instance = options.instance,
            .slot = atomic_fetch_add_explicit(&workers, 1, memory_order_relaxed),
            .node = options.on_node ? options.numa_node : topology_here(&topology),
            .pull = true,
        },
        &worker->worker);
    if (err != GRANARY_OK) {
        free(worker);
        return err;
    }
    *ret_worker = worker;
    return GRANARY_OK;
}

granary_err
granary_worker_poll(granary_worker *worker, int timeout_ms, uint32_t max, uint32_t *ret_ran)
{
    uint32_t ran = 0;
    granary_err err =
        max == 0 ? gr_fail(GRANARY_EINVAL, "a worker is to take at least one subtask") : gr_timeout_check(timeout_ms);

    if (err == GRANARY_OK) {
        err = worker_poll(worker->worker, timeout_ms, max, &ran);
    }
    if (ret_ran != NULL) {
        *ret_ran = ran;
    }
    return err == GRANARY_OK && ran == 0 ? gr_fail(GRANARY_ETIMEDOUT, "there was nothing to run") : err;
}

granary_err
granary_worker_fd(granary_worker *worker, int *ret_fd)
{
    return worker_fd(worker->worker, ret_fd);
}

void
granary_worker_destroy(granary_worker *worker)
{
    if (worker != NULL) {
        worker_destroy(worker->worker);
        free(worker);
    }
}
