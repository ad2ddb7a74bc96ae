/* Fields of an Arrow schema: which of Arrow's types we take, and as what. */
#include "base/error.h"
#include "data/arrow_read.h"

static granary_err
fail_type(const struct arrow_field *field, const char *type)
{
    return gr_fail(GRANARY_EUNSUPPORTED, "column '%s': Arrow type %s is not supported", field->name, type);
}

static granary_err
set_layout(struct arrow_field *field, enum arrow_layout layout, granary_dtype dtype)
{
    field->layout = layout;
    field->dtype = dtype;
    return GRANARY_OK;
}

static granary_err
integer_type(struct flat_in *in, struct flat_table type, struct arrow_field *field)
{
    bool is_signed = flat_uint(in, type, INT_IS_SIGNED, 1, 0) != 0;

    switch (flat_uint(in, type, INT_BIT_WIDTH, 4, 0)) {
    case 8:
        return set_layout(field, LAYOUT_FIXED, is_signed ? GRANARY_INT8 : GRANARY_UINT8);
    case 16:
        return set_layout(field, LAYOUT_FIXED, is_signed ? GRANARY_INT16 : GRANARY_UINT16);
    case 32:
        return set_layout(field, LAYOUT_FIXED, is_signed ? GRANARY_INT32 : GRANARY_UINT32);
    case 64:
        return set_layout(field, LAYOUT_FIXED, is_signed ? GRANARY_INT64 : GRANARY_UINT64);
    default:
        return fail_type(field, "Int of an odd width");
    }
}

static granary_err
decimal_type(struct flat_in *in, struct flat_table type, struct arrow_field *field)
{
    int32_t scale = (int32_t)(uint32_t)flat_uint(in, type, DECIMAL_SCALE, 4, 0);

    if (flat_uint(in, type, DECIMAL_BIT_WIDTH, 4, 128) != 128) {
        return fail_type(field, "Decimal of another width than 128");
    }
    if (scale < 0 || scale > GRANARY_DECIMAL_SCALE_MOST) {
        return gr_fail(GRANARY_EUNSUPPORTED, "column '%s': a decimal of scale %d is not supported, only 0 to %d",
                       field->name, (int)scale, GRANARY_DECIMAL_SCALE_MOST);
    }
    return set_layout(field, LAYOUT_FIXED, GRANARY_DECIMAL(scale));
}

/* Number of an Arrow type -> its name, for messages. */
static const char *
type_name(uint64_t type)
{
    static const char *const names[] = {
        "?",
        "Null",
        "Int",
        "FloatingPoint",
        "Binary",
        "Utf8",
        "Bool",
        "Decimal",
        "Date",
        "Time",
        "Timestamp",
        "Interval",
        "List",
        "Struct",
        "Union",
        "FixedSizeBinary",
        "FixedSizeList",
        "Map",
        "Duration",
        "LargeBinary",
        "LargeUtf8",
        "LargeList",
        "RunEndEncoded",
        "BinaryView",
        "Utf8View",
        "ListView",
        "LargeListView",
    };

    return type < sizeof names / sizeof names[0] ? names[type] : "?";
}

static granary_err
field_type(struct flat_in *in, struct flat_table table, struct arrow_field *field)
{
    uint64_t number = flat_uint(in, table, FIELD_TYPE_TYPE, 1, 0);
    struct flat_table type = flat_table(in, table, FIELD_TYPE);

    switch (number) {
    case TYPE_NULL:
        return set_layout(field, LAYOUT_NULL, GRANARY_NULLTYPE);
    case TYPE_BOOL:
        return set_layout(field, LAYOUT_BOOL, GRANARY_BOOL);
    case TYPE_INT:
        return integer_type(in, type, field);
    case TYPE_FLOAT:
        switch (flat_uint(in, type, 0, 2, 0)) {
        case PRECISION_SINGLE:
            return set_layout(field, LAYOUT_FIXED, GRANARY_FLOAT32);
        case PRECISION_DOUBLE:
            return set_layout(field, LAYOUT_FIXED, GRANARY_FLOAT64);
        default:
            return fail_type(field, "float16");
        }
    case TYPE_UTF8:
        return set_layout(field, LAYOUT_TEXT, GRANARY_STRING);
    case TYPE_LARGE_UTF8:
        return set_layout(field, LAYOUT_LARGE_TEXT, GRANARY_STRING);
    case TYPE_UTF8_VIEW:
        return set_layout(field, LAYOUT_TEXT_VIEWS, GRANARY_STRING);
    case TYPE_DATE:
        return set_layout(field,
                          flat_uint(in, type, 0, 2, DATE_MILLISECOND) == DATE_DAY ? LAYOUT_FIXED : LAYOUT_DATE_MS,
                          GRANARY_DATE);
    case TYPE_TIMESTAMP:
        field->unit = (enum arrow_time_unit)(flat_uint(in, type, 0, 2, TIME_SECOND) & 3);
        return set_layout(field, field->unit == TIME_MICROSECOND ? LAYOUT_FIXED : LAYOUT_TIME, GRANARY_TIMESTAMP);
    case TYPE_DURATION:
        field->unit = (enum arrow_time_unit)(flat_uint(in, type, 0, 2, TIME_MILLISECOND) & 3);
        return set_layout(field, field->unit == TIME_MICROSECOND ? LAYOUT_FIXED : LAYOUT_TIME, GRANARY_DURATION);
    case TYPE_DECIMAL:
        return decimal_type(in, type, field);
    default:
        return fail_type(field, type_name(number));
    }
}

granary_err
arrow_field_read(struct flat_in *in, struct flat_table table, struct arrow_field *field)
{
    struct flat_table dictionary = flat_table(in, table, FIELD_DICTIONARY);
    struct flat_table index;
    granary_err err;

    field->name = flat_string(in, table, FIELD_NAME);
    field->name = field->name == NULL ? "" : field->name;
    err = field_type(in, table, field);
    if (err != GRANARY_OK || dictionary.at == 0) {
        return err;
    }
    if (field->dtype != GRANARY_STRING) {
        return gr_fail(GRANARY_EUNSUPPORTED, "column '%s': a dictionary of %s is not supported, only of text",
                       field->name, granary_dtype_name(field->dtype));
    }
    field->dictionary = true;
    field->dictionary_id = (int64_t)flat_uint(in, dictionary, DICTIONARY_ID, 8, 0);
    index = flat_table(in, dictionary, DICTIONARY_INDEX_TYPE);
    field->index_bits = (int)flat_uint(in, index, INT_BIT_WIDTH, 4, 32);
    field->index_signed = index.at == 0 || flat_uint(in, index, INT_IS_SIGNED, 1, 0) != 0;
    if (field->index_bits != 8 && field->index_bits != 16 && field->index_bits != 32 && field->index_bits != 64) {
        return fail_type(field, "dictionary with an odd index");
    }
    return GRANARY_OK;
}
