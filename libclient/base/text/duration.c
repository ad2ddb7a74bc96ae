/* Durations and timeouts from text: a number and a unit. */
#include "base/text/duration.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

granary_err
gr_duration_parse(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1e9},   {"s", 1e9},    {"ms", 1e6},   {"us", 1e3},   {"ns", 1},
                 {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
    double number;
    double ns = -1;
    char *end;

    errno = 0;
    number = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].name) == 0) {
            ns = number * units[i].ns;
        }
    }
    /* strtod() takes more than people mean: blanks, signs, hexadecimal. */
    if (!isdigit((unsigned char)text[0]) || errno != 0 || strpbrk(text, "xX") != NULL || !(ns >= 0 && ns < 0x1p63)) {
        return gr_fail(GRANARY_EINVAL, "'%s' is no duration: write seconds, or a number with ms, s, m or h", text);
    }
    *ret_ns = (uint64_t)ns;
    return GRANARY_OK;
}

granary_err
gr_timeout_check(int64_t timeout_ms)
{
    return timeout_ms >= -1 ? GRANARY_OK
                            : gr_fail(GRANARY_EINVAL,
                                      "a timeout of %lld ms: it is 0 or more, or GRANARY_FOREVER (-1) to wait for ever",
                                      (long long)timeout_ms);
}
