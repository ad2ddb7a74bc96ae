/* What the values of a leaf become, by its physical and logical type. */
#include <stdio.h>

#include "parquet/private.h"

static void
set(struct gr_parquet_leaf *leaf, enum gr_parquet_form form, granary_dtype dtype)
{
    leaf->form = form;
    leaf->dtype = dtype;
}

static const char *
unit_name(int32_t unit)
{
    return unit == UNIT_MILLIS ? "ms" : unit == UNIT_MICROS ? "us" : unit == UNIT_NANOS ? "ns" : "unknown unit";
}

#define FIXED_MOST 64 /* bytes of a decimal */

/* ---- by logical type: each returns whether the physical type fits ---- */

static bool
type_integer(const struct parquet_element *element, struct gr_parquet_leaf *leaf)
{
    static const granary_dtype dtypes[2][4] = {{GRANARY_UINT8, GRANARY_UINT16, GRANARY_UINT32, GRANARY_UINT64},
                                               {GRANARY_INT8, GRANARY_INT16, GRANARY_INT32, GRANARY_INT64}};
    int size = element->bits == 8    ? 0
               : element->bits == 16 ? 1
               : element->bits == 32 ? 2
               : element->bits == 64 ? 3
                                     : -1;

    if (size < 0 || leaf->physical != (size == 3 ? GR_PARQUET_INT64 : GR_PARQUET_INT32)) {
        return false;
    }
    leaf->is_unsigned = !element->is_signed;
    set(leaf, GR_PARQUET_INTEGER, dtypes[element->is_signed][size]);
    return true;
}

static bool
type_moment(const struct parquet_element *element, struct gr_parquet_leaf *leaf)
{
    leaf->per_second = element->unit == UNIT_MILLIS   ? 1000
                       : element->unit == UNIT_MICROS ? 1000000
                       : element->unit == UNIT_NANOS  ? 1000000000
                                                      : 0;
    set(leaf, GR_PARQUET_MOMENT, element->is_utc ? GRANARY_TIMESTAMPTZ : GRANARY_TIMESTAMP);
    return leaf->physical == GR_PARQUET_INT64 && leaf->per_second > 0;
}

/* Of the day, whose clock it is does not matter. */
static bool
type_time(const struct parquet_element *element, struct gr_parquet_leaf *leaf)
{
    bool fits = type_moment(element, leaf);

    leaf->dtype = GRANARY_TIME;
    return leaf->per_second == 1000 ? leaf->physical == GR_PARQUET_INT32 : fits;
}

static bool
type_decimal(const struct parquet_element *element, struct gr_parquet_leaf *leaf)
{
    int32_t most = leaf->physical == GR_PARQUET_INT32 ? 9 : leaf->physical == GR_PARQUET_INT64 ? 18 : INT32_MAX;

    if (element->precision < 1 || element->scale < 0 || element->scale > element->precision ||
        element->precision > most) {
        return false;
    }
    leaf->precision = element->precision;
    if (element->precision <= GRANARY_DECIMAL_DIGITS) {
        set(leaf, GR_PARQUET_DECIMAL, GRANARY_DECIMAL(element->scale));
    }
    return leaf->physical == GR_PARQUET_INT32 || leaf->physical == GR_PARQUET_INT64 ||
           leaf->physical == GR_PARQUET_BYTES ||
           (leaf->physical == GR_PARQUET_FIXED && leaf->length > 0 && leaf->length <= FIXED_MOST);
}

/* Without an annotation. */
static void
type_plain(struct gr_parquet_leaf *leaf)
{
    switch (leaf->physical) {
    case GR_PARQUET_BOOLEAN:
        set(leaf, GR_PARQUET_BOOL, GRANARY_BOOL);
        break;
    case GR_PARQUET_INT32:
        set(leaf, GR_PARQUET_INTEGER, GRANARY_INT32);
        break;
    case GR_PARQUET_INT64:
        set(leaf, GR_PARQUET_INTEGER, GRANARY_INT64);
        break;
    case GR_PARQUET_INT96:
        set(leaf, GR_PARQUET_MOMENT96, GRANARY_TIMESTAMP);
        break;
    case GR_PARQUET_FLOAT:
        set(leaf, GR_PARQUET_REAL, GRANARY_FLOAT32);
        break;
    case GR_PARQUET_DOUBLE:
        set(leaf, GR_PARQUET_REAL, GRANARY_FLOAT64);
        break;
    case GR_PARQUET_BYTES:
        set(leaf, GR_PARQUET_TEXT, GRANARY_BINARY);
        break;
    case GR_PARQUET_FIXED:
        if (leaf->length > 0) {
            set(leaf, GR_PARQUET_TEXT, GRANARY_BINARY);
        }
        break;
    }
}

/* Whether the annotation goes with the physical type. */
static bool
type_logical(const struct parquet_element *element, struct gr_parquet_leaf *leaf)
{
    switch (element->logical) {
    case LOGICAL_STRING:
    case LOGICAL_ENUM:
    case LOGICAL_JSON:
        set(leaf, GR_PARQUET_TEXT, GRANARY_STRING);
        return leaf->physical == GR_PARQUET_BYTES;
    case LOGICAL_DECIMAL:
        return type_decimal(element, leaf);
    case LOGICAL_DATE:
        set(leaf, GR_PARQUET_INTEGER, GRANARY_DATE);
        return leaf->physical == GR_PARQUET_INT32;
    case LOGICAL_TIMESTAMP:
        return type_moment(element, leaf);
    case LOGICAL_TIME:
        return type_time(element, leaf);
    case LOGICAL_INTEGER:
        return type_integer(element, leaf);
    case LOGICAL_UNKNOWN:
        set(leaf, GR_PARQUET_NULLS, GRANARY_NULLTYPE);
        return true;
    case LOGICAL_FLOAT16:
        set(leaf, GR_PARQUET_HALF, GRANARY_FLOAT32);
        return leaf->physical == GR_PARQUET_FIXED && leaf->length == 2;
    case LOGICAL_UUID:
        set(leaf, GR_PARQUET_TEXT, GRANARY_STRING);
        return leaf->physical == GR_PARQUET_FIXED && leaf->length == 16;
    case LOGICAL_BSON:
    case LOGICAL_GEOMETRY:
    case LOGICAL_GEOGRAPHY:
    case LOGICAL_INTERVAL:
        return false;
    default: /* none, one of groups, or one that is newer than this */
        type_plain(leaf);
        return true;
    }
}

/* The type's name, for people. */
static void
describe(const struct parquet_element *element, const struct gr_parquet_leaf *leaf, char *what, size_t size)
{
    static const char *const physical[] = {"boolean", "int32", "int64", "int96", "float", "double", "binary", ""};
    static const char *const logical[] = {[LOGICAL_BSON] = "BSON",
                                          [LOGICAL_UUID] = "UUID",
                                          [LOGICAL_GEOMETRY] = "geometry",
                                          [LOGICAL_GEOGRAPHY] = "geography"};

    if (element->logical == LOGICAL_TIME) {
        (void)snprintf(what, size, "time(%s)", unit_name(element->unit));
    } else if (element->logical == LOGICAL_INTERVAL) {
        (void)snprintf(what, size, "interval");
    } else if (element->logical == LOGICAL_DECIMAL) {
        (void)snprintf(what, size, "decimal(%d, %d)", (int)element->precision, (int)element->scale);
    } else if (element->logical > 0 && (size_t)element->logical < sizeof logical / sizeof logical[0] &&
               logical[element->logical] != NULL) {
        (void)snprintf(what, size, "%s", logical[element->logical]);
    } else if (leaf->physical == GR_PARQUET_FIXED) {
        (void)snprintf(what, size, "binary(%d)", (int)leaf->length);
    } else {
        (void)snprintf(what, size, "%s", physical[leaf->physical]);
    }
}

void
parquet_leaf_type(const struct parquet_element *element, struct gr_parquet_leaf *leaf, char *what, size_t size)
{
    leaf->physical = (enum gr_parquet_physical)element->physical;
    leaf->length = leaf->physical == GR_PARQUET_FIXED ? element->length : 0;
    leaf->form = GR_PARQUET_OTHER;
    if (!type_logical(element, leaf)) {
        leaf->form = GR_PARQUET_OTHER;
    }
    if (leaf->form == GR_PARQUET_OTHER) {
        leaf->dtype = GRANARY_NULLTYPE;
    }
    describe(element, leaf, what, size);
}
