/* Numbers with colons between; each may be left out. */
#include "cli/objects/slice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* As slice_number(). Of bytes it may have K, M, G or T behind it. */
static granary_err
read_number(const char **text, bool bytes, int64_t *ret_number)
{
    static const char units[] = "KMGT";
    char *end;
    long long value = strtoll(*text, &end, 10);
    const char *unit = bytes && end != *text && *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;

    *ret_number = end == *text ? GRANARY_OMITTED : value;
    if (end == *text) {
        return GRANARY_OK;
    }
    if (value == INT64_MIN || value == INT64_MAX ||
        (unit != NULL && __builtin_mul_overflow(value, 1ll << (10 * (unit - units + 1)), ret_number))) {
        return gr_fail(GRANARY_EINVAL, "'%s' is too large", *text);
    }
    *text = unit != NULL ? end + 1 : end;
    return GRANARY_OK;
}

/* The step of a slice, behind its second colon. */
static granary_err
read_step(const char **at, bool bytes, int64_t *ret_step)
{
    granary_err err;

    *ret_step = 1;
    if (**at != ':') {
        return GRANARY_OK;
    }
    ++*at;
    err = read_number(at, bytes, ret_step);
    *ret_step = *ret_step == GRANARY_OMITTED ? 1 : *ret_step;
    return err == GRANARY_OK && *ret_step == 0 ? gr_fail(GRANARY_EINVAL, "a step cannot be 0") : err;
}

granary_err
slice_parse(const char **text, bool bytes, granary_slice *ret_slice)
{
    const char *at = *text;
    granary_slice slice = {.stop = GRANARY_OMITTED, .step = 0};
    granary_err err = read_number(&at, bytes, &slice.start);
    bool is_slice = err == GRANARY_OK && *at == ':';

    if (is_slice) {
        at++;
        err = read_number(&at, bytes, &slice.stop);
        err = err == GRANARY_OK ? read_step(&at, bytes, &slice.step) : err;
    }
    if (err == GRANARY_OK && ((*at != '\0' && *at != ',') || (!is_slice && slice.start == GRANARY_OMITTED))) {
        err = gr_fail(GRANARY_EINVAL, "'%s' is no slice: a position or FROM:TO:STEP is expected", *text);
    }
    *text = at;
    *ret_slice = slice;
    return err;
}

granary_err
slice_number(const char **text, int64_t *ret_number)
{
    return read_number(text, false, ret_number);
}
