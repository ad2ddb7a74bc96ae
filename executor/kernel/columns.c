#include "kernel/columns.h"

#include "base/error.h"
#include "kernel/frame_call.h"
#include "kernel/rows.h"

granary_err
columns_compute(const granary_frame *frame, char *const *names, char *const *texts, size_t count,
                granary_frame **ret_frame)
{
    const struct rows_spec spec = {.wanted = (const char *const *)texts, .wanted_count = count};

    return rows_frame(frame, &spec, (const char *const *)names, ret_frame);
}

granary_err
kernel_project(struct gr_kernel_call *call)
{
    const Granary__Attr *map;
    const granary_frame *frame;
    granary_frame *made = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = call_attr(call, "columns", GRANARY__ATTR__KIND__MAP, &map);
    }
    if (err == GRANARY_OK) {
        err = columns_compute(frame, map->keys, map->strings, map->n_keys, &made);
    }
    return err == GRANARY_OK ? call_yield(call, 0, made) : err;
}
