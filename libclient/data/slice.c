/* Slices as NumPy understands them. */
#include "base/error.h"
#include "granary/read.h"

/* Where a slice's end lies: clipped to what is there; omitted: `open`. */
static int64_t
clip(int64_t position, int64_t length, int64_t open, bool backwards)
{
    if (position == GRANARY_OMITTED) {
        return open;
    }
    if (position < 0) {
        position += length;
        return position < 0 ? (backwards ? -1 : 0) : position;
    }
    return position < length ? position : (backwards ? length - 1 : length);
}

granary_err
granary_slice_resolve(granary_slice slice, int64_t length, int64_t *ret_first, int64_t *ret_step, int64_t *ret_count)
{
    bool backwards = slice.step < 0;
    int64_t step = slice.step == INT64_MIN ? -INT64_MAX : slice.step;
    int64_t start, stop, way;

    if (step == 0) {
        start = slice.start < 0 && slice.start != GRANARY_OMITTED ? slice.start + length : slice.start;
        if (start < 0 || start >= length) {
            return slice.start == GRANARY_OMITTED ? gr_fail(GRANARY_EINVAL, "slice step cannot be zero")
                                                  : gr_fail(GRANARY_EINVAL, "position %lld: there are %lld",
                                                            (long long)slice.start, (long long)length);
        }
        *ret_first = start;
        *ret_step = 1;
        *ret_count = 1;
        return GRANARY_OK;
    }
    start = clip(slice.start, length, backwards ? length - 1 : 0, backwards);
    stop = clip(slice.stop, length, backwards ? -1 : length, backwards);
    way = backwards ? start - stop : stop - start;
    *ret_first = start;
    *ret_step = step;
    *ret_count = way <= 0 ? 0 : (way - 1) / (backwards ? -step : step) + 1;
    return GRANARY_OK;
}
