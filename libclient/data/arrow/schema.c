/* Fields of an Arrow schema: which of Arrow's types we take, and as what; of the others, what there is to pass over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "contract/dtypes.h"
#include "data/arrow/read.h"

static void
set_layout(struct arrow_field *field, enum arrow_layout layout, granary_dtype dtype)
{
    field->layout = layout;
    field->dtype = dtype;
}

static void
set_other(struct arrow_field *field, const char *type)
{
    set_layout(field, LAYOUT_OTHER, GR_DTYPE_OTHER);
    (void)snprintf(field->other, sizeof field->other, "%s", type);
}

static void
integer_type(struct flat_in *in, struct flat_table type, struct arrow_field *field)
{
    static const struct {
        uint64_t bits;
        bool is_signed;
        granary_dtype dtype;
    } integers[] = {
#define ROW(name, type, ...) {8 * sizeof(type), GR_IS_SIGNED(type), GRANARY_##name},
        GR_INTEGER_DTYPES(ROW)
#undef ROW
    };
    uint64_t bits = flat_uint(in, type, INT_BIT_WIDTH, 4, 0);
    bool is_signed = flat_uint(in, type, INT_IS_SIGNED, 1, 0) != 0;

    set_other(field, "Int of an odd width");
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        if (integers[i].bits == bits && integers[i].is_signed == is_signed) {
            set_layout(field, LAYOUT_FIXED, integers[i].dtype);
        }
    }
}

static void
decimal_type(struct flat_in *in, struct flat_table type, struct arrow_field *field)
{
    int32_t scale = (int32_t)(uint32_t)flat_uint(in, type, DECIMAL_SCALE, 4, 0);

    uint64_t bits = flat_uint(in, type, DECIMAL_BIT_WIDTH, 4, 128);

    if (bits != 32 && bits != 64 && bits != 128 && bits != 256) {
        set_other(field, "Decimal of an odd width");
        return;
    }
    if (scale < 0 || scale > GRANARY_DECIMAL_SCALE_MOST) {
        set_other(field, "Decimal of a scale beyond 0 to 38");
        return;
    }
    field->width = (int32_t)bits / 8;
    set_layout(field, bits == 128 ? LAYOUT_FIXED : LAYOUT_DECIMAL, GRANARY_DECIMAL(scale));
}

/* Whichever it is, the values are in UTC. */
static bool
has_zone(struct flat_in *in, struct flat_table type)
{
    const char *zone = flat_string(in, type, TIMESTAMP_ZONE);

    return zone != NULL && zone[0] != '\0';
}

/* Of 32 bits in seconds and milliseconds, of 64 in the others. */
static void
time_type(struct flat_in *in, struct flat_table type, struct arrow_field *field)
{
    uint64_t bits = flat_uint(in, type, TIME_BIT_WIDTH, 4, 32);

    field->unit = (enum arrow_time_unit)(flat_uint(in, type, TIME_UNIT, 2, TIME_MILLISECOND) & 3);
    if (bits != (field->unit < TIME_MICROSECOND ? 32 : 64)) {
        set_other(field, "Time of an odd width");
        return;
    }
    set_layout(field, LAYOUT_TIME, GRANARY_TIME);
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

static bool
has_children(uint64_t number)
{
    switch (number) {
    case TYPE_LIST:
    case TYPE_LARGE_LIST:
    case TYPE_FIXED_LIST:
    case TYPE_LIST_VIEW:
    case TYPE_LARGE_LIST_VIEW:
    case TYPE_MAP:
    case TYPE_STRUCT:
    case TYPE_UNION:
    case TYPE_RUN_ENDS:
        return true;
    default:
        return false;
    }
}

static granary_err field_type(struct flat_in *in, struct flat_table table, struct arrow_field *field);

/* Lists of what can be read as a column by itself, but of no lists and no dictionary. */
static granary_err
list_type(struct flat_in *in, uint64_t number, struct flat_table table, struct arrow_field *field)
{
    struct flat_vector children = flat_vector(in, table, FIELD_CHILDREN, 4);
    struct flat_table child = children.count == 1 ? flat_element_table(in, children, 0) : (struct flat_table){0};
    uint64_t child_number = child.at == 0 ? 0 : flat_uint(in, child, FIELD_TYPE_TYPE, 1, 0);
    struct arrow_field *item;
    char type[sizeof field->other];

    (void)snprintf(type, sizeof type, "%s of %s%s", type_name(number),
                   child.at != 0 && flat_table(in, child, FIELD_DICTIONARY).at != 0 ? "Dictionary" : "",
                   type_name(child_number));
    set_other(field, type);
    if (child.at == 0 || has_children(child_number) || flat_table(in, child, FIELD_DICTIONARY).at != 0) {
        return GRANARY_OK;
    }
    item = calloc(1, sizeof *item);
    if (item == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    item->name = field->name;
    (void)field_type(in, child, item);
    if (item->layout == LAYOUT_OTHER) {
        free(item);
        return GRANARY_OK;
    }
    field->item = item;
    field->list_size = (int32_t)(uint32_t)flat_uint(in, flat_table(in, table, FIELD_TYPE), 0, 4, 0);
    set_layout(field,
               number == TYPE_LIST         ? LAYOUT_LIST
               : number == TYPE_LARGE_LIST ? LAYOUT_LARGE_LIST
               : number == TYPE_FIXED_LIST ? LAYOUT_FIXED_LIST
               : number == TYPE_LIST_VIEW  ? LAYOUT_LIST_VIEW
                                           : LAYOUT_LARGE_LIST_VIEW,
               /* lists of nothing are lists of strings */
               GRANARY_LIST(item->dtype == GRANARY_NULLTYPE ? GRANARY_STRING : item->dtype));
    return GRANARY_OK;
}

static granary_err
field_type(struct flat_in *in, struct flat_table table, struct arrow_field *field)
{
    uint64_t number = flat_uint(in, table, FIELD_TYPE_TYPE, 1, 0);
    struct flat_table type = flat_table(in, table, FIELD_TYPE);

    switch (number) {
    case TYPE_NULL:
        set_layout(field, LAYOUT_NULL, GRANARY_NULLTYPE);
        return GRANARY_OK;
    case TYPE_BOOL:
        set_layout(field, LAYOUT_BOOL, GRANARY_BOOL);
        return GRANARY_OK;
    case TYPE_INT:
        integer_type(in, type, field);
        return GRANARY_OK;
    case TYPE_FLOAT:
        switch (flat_uint(in, type, 0, 2, 0)) {
        case PRECISION_SINGLE:
            set_layout(field, LAYOUT_FIXED, GRANARY_FLOAT32);
            return GRANARY_OK;
        case PRECISION_DOUBLE:
            set_layout(field, LAYOUT_FIXED, GRANARY_FLOAT64);
            return GRANARY_OK;
        default:
            set_layout(field, LAYOUT_HALF, GRANARY_FLOAT32);
            return GRANARY_OK;
        }
    case TYPE_UTF8:
    case TYPE_BINARY:
        set_layout(field, LAYOUT_TEXT, number == TYPE_UTF8 ? GRANARY_STRING : GRANARY_BINARY);
        return GRANARY_OK;
    case TYPE_LARGE_UTF8:
    case TYPE_LARGE_BINARY:
        set_layout(field, LAYOUT_LARGE_TEXT, number == TYPE_LARGE_UTF8 ? GRANARY_STRING : GRANARY_BINARY);
        return GRANARY_OK;
    case TYPE_UTF8_VIEW:
    case TYPE_BINARY_VIEW:
        set_layout(field, LAYOUT_TEXT_VIEWS, number == TYPE_UTF8_VIEW ? GRANARY_STRING : GRANARY_BINARY);
        return GRANARY_OK;
    case TYPE_FIXED_BINARY:
        field->width = (int32_t)(uint32_t)flat_uint(in, type, 0, 4, 0);
        set_layout(field, LAYOUT_FIXED_TEXT, GRANARY_BINARY);
        if (field->width < 0) {
            set_other(field, "FixedSizeBinary of an odd width");
        }
        return GRANARY_OK;
    case TYPE_DATE:
        set_layout(field, flat_uint(in, type, 0, 2, DATE_MILLISECOND) == DATE_DAY ? LAYOUT_FIXED : LAYOUT_DATE_MS,
                   GRANARY_DATE);
        return GRANARY_OK;
    case TYPE_TIMESTAMP:
        field->unit = (enum arrow_time_unit)(flat_uint(in, type, 0, 2, TIME_SECOND) & 3);
        set_layout(field, field->unit == TIME_MICROSECOND ? LAYOUT_FIXED : LAYOUT_TIME,
                   has_zone(in, type) ? GRANARY_TIMESTAMPTZ : GRANARY_TIMESTAMP);
        return GRANARY_OK;
    case TYPE_TIME:
        time_type(in, type, field);
        return GRANARY_OK;
    case TYPE_DURATION:
        field->unit = (enum arrow_time_unit)(flat_uint(in, type, 0, 2, TIME_MILLISECOND) & 3);
        set_layout(field, field->unit == TIME_MICROSECOND ? LAYOUT_FIXED : LAYOUT_TIME, GRANARY_DURATION);
        return GRANARY_OK;
    case TYPE_DECIMAL:
        decimal_type(in, type, field);
        return GRANARY_OK;
    case TYPE_LIST:
    case TYPE_LARGE_LIST:
    case TYPE_FIXED_LIST:
    case TYPE_LIST_VIEW:
    case TYPE_LARGE_LIST_VIEW:
        return list_type(in, number, table, field);
    default:
        set_other(field, type_name(number));
        return GRANARY_OK;
    }
}

/* How many buffers a field has itself; false: its type is not known. */
static bool
own_buffers(struct arrow_schema *schema, uint64_t number, struct flat_table type, uint64_t *ret_buffers)
{
    bool dense;

    switch (number) {
    case TYPE_NULL:
    case TYPE_RUN_ENDS:
        *ret_buffers = 0;
        return true;
    case TYPE_STRUCT:
    case TYPE_FIXED_LIST:
        *ret_buffers = 1;
        return true;
    case TYPE_UNION: /* the types, the offsets; until V4 also which values are there */
        dense = flat_uint(schema->in, type, UNION_MODE, 2, UNION_SPARSE) == UNION_DENSE;
        *ret_buffers = 1 + (uint64_t)dense + (schema->version <= ARROW_V4);
        return true;
    case TYPE_BINARY:
    case TYPE_LARGE_BINARY:
    case TYPE_UTF8:
    case TYPE_LARGE_UTF8:
    case TYPE_LIST_VIEW:
    case TYPE_LARGE_LIST_VIEW:
        *ret_buffers = 3;
        return true;
    default: /* of values of one size, lists by their offsets, views without their parts */
        *ret_buffers = 2;
        return number > 0 && number <= TYPE_LARGE_LIST_VIEW;
    }
}

/* Add what a field and those in it have in every batch. */
static granary_err
count_all(struct arrow_schema *schema, struct flat_table table, int depth, struct arrow_field *field)
{
    struct flat_in *in = schema->in;
    uint64_t number = flat_uint(in, table, FIELD_TYPE_TYPE, 1, 0);
    struct flat_vector children = {0};
    uint64_t buffers = 2; /* of a dictionary's indices */
    granary_err err = GRANARY_OK;

    if (depth > ARROW_NESTED_MOST || schema->visited++ > in->size) { /* one field within many would be a bomb */
        return gr_fail(GRANARY_ECORRUPT, "Arrow file: column '%s' is nested too deep", field->name);
    }
    if (flat_table(in, table, FIELD_DICTIONARY).at == 0) {
        if (!own_buffers(schema, number, flat_table(in, table, FIELD_TYPE), &buffers)) {
            return gr_fail(
                GRANARY_EUNSUPPORTED,
                "Arrow file: column '%s' is of a type that is not known (%llu), so nothing behind it is found",
                field->name, (unsigned long long)number);
        }
        field->views += number == TYPE_UTF8_VIEW || number == TYPE_BINARY_VIEW;
        children = has_children(number) ? flat_vector(in, table, FIELD_CHILDREN, 4) : children;
    }
    field->nodes++;
    field->buffers += buffers;
    for (size_t i = 0; err == GRANARY_OK && !in->bad && i < children.count; i++) {
        err = count_all(schema, flat_element_table(in, children, i), depth + 1, field);
    }
    return err;
}

/* Run-end encoded values of a type that is read, without a dictionary or runs of their own. */
static granary_err
runs_type(struct arrow_schema *schema, struct flat_table table, struct arrow_field *field)
{
    struct flat_in *in = schema->in;
    struct flat_vector children = flat_vector(in, table, FIELD_CHILDREN, 4);
    struct flat_table ends = children.count == 2 ? flat_element_table(in, children, 0) : (struct flat_table){0};
    struct flat_table values = children.count == 2 ? flat_element_table(in, children, 1) : (struct flat_table){0};
    bool good = flat_uint(in, ends, FIELD_TYPE_TYPE, 1, 0) == TYPE_INT &&
                flat_table(in, ends, FIELD_DICTIONARY).at == 0 && flat_table(in, values, FIELD_DICTIONARY).at == 0 &&
                !has_children(flat_uint(in, values, FIELD_TYPE_TYPE, 1, 0));

    if (!good) {
        return GRANARY_OK;
    }
    field->item = calloc(1, sizeof *field->item);
    if (field->item == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    field->item->name = field->name;
    field->index_bits = (int)flat_uint(in, flat_table(in, ends, FIELD_TYPE), INT_BIT_WIDTH, 4, 0);
    (void)field_type(in, values, field->item);
    if (field->item->layout != LAYOUT_OTHER &&
        (field->index_bits == 16 || field->index_bits == 32 || field->index_bits == 64)) {
        set_layout(field, LAYOUT_RUNS, field->item->dtype);
    }
    return GRANARY_OK;
}

/* The indices of a dictionary. */
static void
index_type(struct flat_in *in, struct flat_table dictionary, struct arrow_field *field)
{
    struct flat_table index = flat_table(in, dictionary, DICTIONARY_INDEX_TYPE);

    field->index_bits = (int)flat_uint(in, index, INT_BIT_WIDTH, 4, 32);
    field->index_signed = index.at == 0 || flat_uint(in, index, INT_IS_SIGNED, 1, 0) != 0;
    if (field->index_bits != 8 && field->index_bits != 16 && field->index_bits != 32 && field->index_bits != 64) {
        set_other(field, "Dictionary with an odd index");
        return;
    }
    field->dictionary = true;
    field->dictionary_id = (int64_t)flat_uint(in, dictionary, DICTIONARY_ID, 8, 0);
}

static granary_err
read_field(struct arrow_schema *schema, struct flat_table table, struct arrow_field *field)
{
    struct flat_in *in = schema->in;
    struct flat_table dictionary = flat_table(in, table, FIELD_DICTIONARY);
    granary_err err;

    field->name = flat_string(in, table, FIELD_NAME);
    field->name = field->name == NULL ? "" : field->name;
    err = field_type(in, table, field);
    if (err == GRANARY_OK && dictionary.at == 0 && flat_uint(in, table, FIELD_TYPE_TYPE, 1, 0) == TYPE_RUN_ENDS) {
        err = runs_type(schema, table, field);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (dictionary.at != 0 && field->layout != LAYOUT_OTHER && !arrow_is_list(field->layout)) {
        index_type(in, dictionary, field);
    } else if (dictionary.at != 0) {
        char type[sizeof field->other];

        free(field->item);
        field->item = NULL;
        (void)snprintf(type, sizeof type, "Dictionary of %s", type_name(flat_uint(in, table, FIELD_TYPE_TYPE, 1, 0)));
        set_other(field, type);
    }
    return field->layout == LAYOUT_OTHER ? count_all(schema, table, 0, field) : GRANARY_OK;
}

/* ---- structs ---- */

void
arrow_fields_free(struct arrow_field *fields, size_t count)
{
    for (size_t i = 0; fields != NULL && i < count; i++) {
        free(fields[i].item);
        free(fields[i].path);
    }
    free(fields);
}

/* The structs on the way to a field. */
struct way {
    const char *path; /* dotted; NULL: there are none */
    size_t depth;
};

static granary_err
add_column(struct arrow_schema *schema, struct flat_table table, const struct way *way, char *path, uint8_t *opens,
           struct arrow_fields *fields)
{
    struct arrow_field *field;
    granary_err err;

    if (!gr_grow(&fields->fields, &fields->room, fields->count, sizeof *fields->fields)) {
        free(path);
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    field = &fields->fields[fields->count++];
    *field = (struct arrow_field){.path = path, .depth = (uint8_t)way->depth, .opens = *opens};
    *opens = 0;
    err = read_field(schema, table, field);
    if (path != NULL) {
        field->name = path;
    }
    if (field->item != NULL) {
        field->item->name = field->name;
    }
    return err;
}

static granary_err
add_field(struct arrow_schema *schema, struct flat_table table, const struct way *way, uint8_t *opens,
          struct arrow_fields *fields)
{
    struct flat_in *in = schema->in;
    const char *name = flat_string(in, table, FIELD_NAME);
    bool is_struct = flat_uint(in, table, FIELD_TYPE_TYPE, 1, 0) == TYPE_STRUCT &&
                     flat_table(in, table, FIELD_DICTIONARY).at == 0 && way->depth + 1 < ARROW_NESTED_MOST;
    struct flat_vector children = is_struct ? flat_vector(in, table, FIELD_CHILDREN, 4) : (struct flat_vector){0};
    struct way inner = {.depth = way->depth + 1};
    char *path = NULL;
    granary_err err = GRANARY_OK;

    name = name == NULL ? "" : name;
    fields->names += strlen(name) + (way->path != NULL ? strlen(way->path) + 1 : 0);
    if (fields->names > 4 * in->size || schema->visited++ > in->size) { /* one told many times would be a bomb */
        return gr_fail(GRANARY_ECORRUPT, "Arrow file: column names that overlap");
    }
    if (way->path != NULL && asprintf(&path, "%s.%s", way->path, name) < 0) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    if (children.count == 0) {
        return add_column(schema, table, way, path, opens, fields);
    }
    inner.path = path != NULL ? path : name;
    (*opens)++;
    for (size_t i = 0; err == GRANARY_OK && !in->bad && i < children.count; i++) {
        err = add_field(schema, flat_element_table(in, children, i), &inner, opens, fields);
    }
    free(path);
    return err;
}

granary_err
arrow_fields_add(struct arrow_schema *schema, struct flat_table table, struct arrow_fields *fields)
{
    const struct way way = {.depth = 0};
    uint8_t opens = 0;

    return add_field(schema, table, &way, &opens, fields);
}
