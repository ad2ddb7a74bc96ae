#include "graph/dtype_class.h"

#include "data/frame.h"

enum gr_dtype_class
gr_dtype_class(granary_dtype dtype)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_NULLTYPE:
        return GR_CLASS_NULL;
    case GRANARY_BOOL:
        return GR_CLASS_BOOL;
    case GRANARY_INT8:
    case GRANARY_INT16:
    case GRANARY_INT32:
    case GRANARY_INT64:
        return GR_CLASS_SIGNED;
    case GRANARY_UINT8:
    case GRANARY_UINT16:
    case GRANARY_UINT32:
    case GRANARY_UINT64:
        return GR_CLASS_UNSIGNED;
    case GRANARY_FLOAT32:
    case GRANARY_FLOAT64:
        return GR_CLASS_REAL;
    case GRANARY_DECIMAL:
        return GR_CLASS_DECIMAL;
    case GRANARY_DURATION:
        return GR_CLASS_DURATION;
    case GRANARY_DATE:
    case GRANARY_TIMESTAMP:
        return GR_CLASS_MOMENT;
    default:
        return GR_CLASS_TEXT;
    }
}

const char *
gr_dtype_wider(granary_dtype dtype)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_INT8:
    case GRANARY_INT16:
    case GRANARY_INT32:
    case GRANARY_UINT8:
    case GRANARY_UINT16:
    case GRANARY_UINT32:
        return "int64";
    case GRANARY_INT64:
    case GRANARY_UINT64:
        return "decimal(38, 0) or float64";
    case GRANARY_DECIMAL:
        return "float64";
    case GRANARY_DURATION:
        return "int64, and that to decimal(38, 0)";
    default:
        return "";
    }
}
