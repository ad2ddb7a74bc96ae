/*
 * worker: an executor inside a program of one's own. `granary up --executors 0`, start this, and run graphs: their
 * subtasks run in this process, when it asks for them, and it can do other things in between.
 *
 *      worker [MOST]        leave after so many subtasks; default: when a second has passed with nothing to do
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "granary/granary.h"
#include "granary/worker.h"

int
main(int argc, char **argv)
{
    uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_MAX;
    uint64_t total = 0;
    granary_worker *worker;
    granary_err err = granary_worker_create(NULL, &worker);

    while (err == GRANARY_OK && total < most) {
        uint32_t max = most - total < 16 ? (uint32_t)(most - total) : 16;
        uint32_t ran;

        err = granary_worker_poll(worker, argc > 1 ? GRANARY_FOREVER : 1000, max, &ran);
        total += ran;
    }
    if (err != GRANARY_OK && err != GRANARY_ETIMEDOUT) {
        (void)fprintf(stderr, "worker: %s\n", granary_error_message());
        return granary_error_exit_status(err);
    }
    (void)printf("%" PRIu64 " subtasks\n", total);
    granary_worker_destroy(worker);
    return 0;
}
