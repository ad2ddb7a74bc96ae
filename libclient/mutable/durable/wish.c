/* What users write becomes options. */
#include "mutable/durable/wish.h"

#include <string.h>

#include "base/error.h"
#include "base/text/duration.h"

granary_err
durable_wish(const char *text, granary_mutable_options *options)
{
    uint64_t interval_ns = 0;

    options->durability = strcmp(text, "none") == 0     ? GRANARY_DURABLE_NONE
                          : strcmp(text, "commit") == 0 ? GRANARY_DURABLE_COMMIT
                                                        : GRANARY_DURABLE_INTERVAL;
    options->interval_ns = 0;
    if (options->durability != GRANARY_DURABLE_INTERVAL) {
        return GRANARY_OK;
    }
    if (gr_duration_parse(text, &interval_ns) != GRANARY_OK || interval_ns == 0) {
        return gr_fail(GRANARY_EINVAL, "'%s' is not none, commit, or an interval, as 100ms", text);
    }
    options->interval_ns = (int64_t)interval_ns;
    return GRANARY_OK;
}
