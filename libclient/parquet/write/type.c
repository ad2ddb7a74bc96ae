/* What dtypes are in a Parquet file. */
#include "base/error.h"
#include "parquet/write/private.h"

granary_err
put_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory for a row group of a Parquet file");
}

granary_err
put_type_of(granary_dtype dtype, struct put_type *ret_type)
{
    static const struct put_type types[] = {
        [GRANARY_NULLTYPE] = {PUT_NULLS, GR_PARQUET_INT32, -1, 0, false, false},
        [GRANARY_BOOL] = {PUT_BOOL, GR_PARQUET_BOOLEAN, -1, 0, false, false},
        [GRANARY_INT64] = {PUT_I64, GR_PARQUET_INT64, -1, 0, false, false},
        [GRANARY_FLOAT64] = {PUT_F64, GR_PARQUET_DOUBLE, -1, 0, false, false},
        [GRANARY_STRING] = {PUT_TEXT, GR_PARQUET_BYTES, 0, 0, false, false},
        [GRANARY_DATE] = {PUT_I32, GR_PARQUET_INT32, 6, 0, false, false},
        [GRANARY_TIMESTAMP] = {PUT_I64, GR_PARQUET_INT64, -1, 0, false, false},
        [GRANARY_INT32] = {PUT_I32, GR_PARQUET_INT32, -1, 0, false, false},
        [GRANARY_FLOAT32] = {PUT_F32, GR_PARQUET_FLOAT, -1, 0, false, false},
        [GRANARY_INT8] = {PUT_I32, GR_PARQUET_INT32, 15, 8, true, false},
        [GRANARY_INT16] = {PUT_I32, GR_PARQUET_INT32, 16, 16, true, false},
        [GRANARY_UINT8] = {PUT_U32, GR_PARQUET_INT32, 11, 8, false, false},
        [GRANARY_UINT16] = {PUT_U32, GR_PARQUET_INT32, 12, 16, false, false},
        [GRANARY_UINT32] = {PUT_U32, GR_PARQUET_INT32, 13, 32, false, false},
        [GRANARY_UINT64] = {PUT_U64, GR_PARQUET_INT64, 14, 64, false, false},
        [GRANARY_DURATION] = {PUT_I64, GR_PARQUET_INT64, -1, 0, false, false},
        [GRANARY_BINARY] = {PUT_BYTES, GR_PARQUET_BYTES, -1, 0, false, false},
        [GRANARY_TIME] = {PUT_I64, GR_PARQUET_INT64, 8, 0, false, false},
        [GRANARY_TIMESTAMPTZ] = {PUT_I64, GR_PARQUET_INT64, 10, 0, false, false},
        [GRANARY_DECIMAL] = {PUT_DECIMAL, GR_PARQUET_FIXED, 5, 0, false, false},
    };
    bool is_list = ((unsigned)dtype & 0xffU) == GRANARY_LIST;
    granary_dtype own = put_item_dtype(dtype);
    unsigned kind = (unsigned)own & 0xffU;

    if (kind >= sizeof types / sizeof types[0] || (kind != GRANARY_DECIMAL && kind != (unsigned)own) ||
        (is_list && kind == GRANARY_NULLTYPE)) {
        return gr_fail(GRANARY_EINVAL, "a dtype that is not known (%u)", (unsigned)dtype);
    }
    *ret_type = types[kind];
    ret_type->is_list = is_list;
    return GRANARY_OK;
}

void
put_type_narrow(struct put_type *type)
{
    type->kind = PUT_I64;
    type->physical = GR_PARQUET_INT64;
}

size_t
put_width(enum put_kind kind)
{
    static const uint8_t widths[] = {
        [PUT_NULLS] = 0, [PUT_BOOL] = 0, [PUT_I32] = 4,      [PUT_U32] = 4,  [PUT_I64] = 8,   [PUT_U64] = 8,
        [PUT_F32] = 4,   [PUT_F64] = 8,  [PUT_DECIMAL] = 16, [PUT_TEXT] = 0, [PUT_BYTES] = 0,
    };

    return widths[kind];
}
