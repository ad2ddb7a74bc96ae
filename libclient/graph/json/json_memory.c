/* Allocation for jansson that leaves by longjmp() when there is no memory. */
#include "graph_json/json_memory.h"

#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/region.h"

struct run {
    struct gr_region *region;
    jmp_buf starved;
};

static _Thread_local struct run *run;

static void *
allocate(size_t size)
{
    void *bytes = run == NULL ? malloc(size) : gr_region_alloc(run->region, size);

    if (bytes == NULL && run != NULL) {
        longjmp(run->starved, 1);
    }
    return bytes;
}

static void
release(void *bytes)
{
    if (run == NULL) {
        free(bytes);
    }
}

static void
set_functions(void)
{
    json_set_alloc_funcs(allocate, release);
}

granary_err
json_run(granary_err (*work)(void *context), void *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct run own = {.region = gr_region_create()};
    granary_err err;

    if (own.region == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    (void)pthread_once(&once, set_functions);
    run = &own;
    if (setjmp(own.starved) == 0) {
        err = work(context);
    } else {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    run = NULL;
    gr_region_destroy(own.region);
    return err;
}
