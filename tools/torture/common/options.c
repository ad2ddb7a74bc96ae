/* What the kinds of `granary torture` are told alike, and what comes of --memory. */
#include "torture/common/options.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/text/size.h"

void
options_settle(struct options *options, uint64_t data, uint64_t largest)
{
    options->scale = options->scale == 0 ? options->memory : options->scale;
    if (options->one_object) {
        options->memory = largest;
    } else if (options->share > 0) {
        options->memory = data / options->share;
    }
}

granary_err
options_take_memory(void *target, char *text)
{
    struct options *options = target;
    granary_err err;
    int64_t share = 0;

    options->one_object = options->shares && strcmp(text, "one") == 0;
    if (options->one_object || (options->shares && strncmp(text, "1/", 2) == 0)) {
        err = options->one_object ? GRANARY_OK : gr_option_number(text + 2, 1, 64, &share);
        options->share = (unsigned)share;
        return err;
    }
    err = gr_size_parse(text, &options->memory);
    return err == GRANARY_OK && options->memory >= options->memory_least
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "'%s': a size of at least %" PRIu64 "M is expected", text,
                         options->memory_least >> 20);
}
