/* The GPU level: known by name, so that sets of levels may name it; probe() says why it cannot be used. */
#include <stddef.h>
#include <unistd.h>

#include "base/error.h"
#include "store/level/level.h"

static granary_err
gpu_probe(const struct level_options *options, struct level_capacity *ret_capacity)
{
    static const char *const devices[] = {"/dev/nvidiactl", "/dev/kfd", "/dev/dri/renderD128"};

    (void)options;
    (void)ret_capacity;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        if (access(devices[i], F_OK) == 0) {
            return gr_fail(GRANARY_EUNSUPPORTED, "there is a GPU (%s), but this release does not use its memory",
                           devices[i]);
        }
    }
    return gr_fail(GRANARY_EUNSUPPORTED, "no GPU driver is loaded: none of /dev/nvidiactl, /dev/kfd, "
                                         "/dev/dri/renderD128 is there");
}

const struct level_ops level_gpu = {
    .name = "gpu",
    .level = GRANARY_LEVEL_GPU,
    .probe = gpu_probe,
};
