/* Classes of dtypes, from the lists of contract/dtypes.h. */
#include "graph/dtype_class.h"

#include "contract/dtypes.h"
#include "data/frame.h"

static const enum gr_dtype_class classes[] = {
#define ROW(name, type, bytes, class, ...) [GRANARY_##name] = GR_CLASS_##class,
    GR_DTYPES(ROW)
#undef ROW
};

enum gr_dtype_class
gr_dtype_class(granary_dtype dtype)
{
    granary_dtype kind = gr_dtype_kind(dtype);

    return kind < sizeof classes / sizeof classes[0] ? classes[kind] : GR_CLASS_TEXT;
}

bool
gr_dtype_is_float(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_REAL;
}

bool
gr_dtype_is_complex(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_COMPLEX;
}

bool
gr_dtype_is_integer(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_SIGNED || gr_dtype_class(dtype) == GR_CLASS_UNSIGNED;
}

bool
gr_dtype_is_signed(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_SIGNED;
}

bool
gr_dtype_is_number(granary_dtype dtype)
{
    return gr_dtype_is_integer(dtype) || gr_dtype_is_float(dtype) || gr_dtype_class(dtype) == GR_CLASS_DECIMAL;
}

granary_dtype
gr_dtype_of_integer(bool is_signed, size_t bytes)
{
    enum gr_dtype_class class = is_signed ? GR_CLASS_SIGNED : GR_CLASS_UNSIGNED;
    granary_dtype dtype = GRANARY_NULLTYPE;

    while (classes[dtype] != class || gr_dtype_size(dtype) != bytes) {
        dtype++;
    }
    return dtype;
}

/* All digits of a decimal. */
#define TEN_TO_19    UINT64_C(10000000000000000000)
#define DECIMAL_MOST ((gr_int128)((gr_uint128)TEN_TO_19 * TEN_TO_19) - 1)
_Static_assert(GRANARY_DECIMAL_DIGITS == 38, "DECIMAL_MOST has as many digits as a decimal");

struct gr_limits
gr_dtype_limits(granary_dtype dtype)
{
    if (dtype == GRANARY_TIME) {
        return (struct gr_limits){0, INT64_C(86400000000) - 1};
    }
    switch (gr_dtype_kind(dtype)) {
#define ROW(name, type, ...)                                                                                           \
    case GRANARY_##name:                                                                                               \
        return (struct gr_limits){GR_TYPE_LEAST(type), GR_TYPE_MOST(type)};
        GR_WORD_DTYPES(ROW)
#undef ROW
    case GRANARY_DECIMAL:
        return (struct gr_limits){-DECIMAL_MOST, DECIMAL_MOST};
    default:
        return (struct gr_limits){INT64_MIN, INT64_MAX};
    }
}

const char *
gr_dtype_wider(granary_dtype dtype)
{
    switch (gr_dtype_class(dtype)) {
    case GR_CLASS_SIGNED:
    case GR_CLASS_UNSIGNED:
        return gr_dtype_size(dtype) < 8 ? "int64" : "decimal(38, 0) or float64";
    case GR_CLASS_DECIMAL:
        return "float64";
    case GR_CLASS_DURATION:
        return "int64, and that to decimal(38, 0)";
    default:
        return "";
    }
}
