/*
 * The schema: a tree of elements in the order of a walk through it, each with the number of its children. Leaves are
 * what has values; columns are what a user asks for, one a leaf.
 *
 * A list is a group annotated as such, with one repeated child. That child is a group around the item, or, in older
 * files, the item itself: if it is no group, has several children, or is called `array` or `..._tuple`. An element that
 * is repeated without such a group is a list, too. A map is a list of structs. Neither the groups nor the item add to the
 * name: an item's struct is flattened as any other.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/value/utf8.h"
#include "parquet/private.h"

#define DEEPEST      64
#define NAME_MOST    4096               /* bytes of a dotted name */
#define NAMES_MOST   ((size_t)64 << 20) /* of all of them */
#define ELEMENT_STEP 64

/* ---- elements ---- */

/* The unit of a time: a union of empty structs. */
static int32_t
read_unit(struct thrift_in *in)
{
    struct thrift_field field = {.id = 0};
    int32_t unit = 0;

    while (thrift_next(in, &field)) {
        unit = field.id;
        thrift_skip(in, &field);
    }
    return unit;
}

/* What stands within a logical type. */
static void
read_logical_options(struct thrift_in *in, struct parquet_element *element)
{
    struct thrift_field field = {.id = 0};

    while (thrift_next(in, &field)) {
        if (element->logical == LOGICAL_DECIMAL && field.id == 1) {
            element->scale = (int32_t)thrift_int(in, &field);
        } else if (element->logical == LOGICAL_DECIMAL && field.id == 2) {
            element->precision = (int32_t)thrift_int(in, &field);
        } else if (element->logical == LOGICAL_INTEGER && field.id == 1) {
            element->bits = (int32_t)thrift_int(in, &field);
        } else if (element->logical == LOGICAL_INTEGER && field.id == 2) {
            element->is_signed = thrift_bool(in, &field);
        } else if (element->logical == LOGICAL_TIMESTAMP && field.id == 1) {
            element->is_utc = thrift_bool(in, &field);
        } else if ((element->logical == LOGICAL_TIME || element->logical == LOGICAL_TIMESTAMP) && field.id == 2 &&
                   thrift_struct(in, &field)) {
            element->unit = read_unit(in);
        } else {
            thrift_skip(in, &field);
        }
    }
}

/* A union: its one field says which type it is. */
static void
read_logical(struct thrift_in *in, struct parquet_element *element)
{
    struct thrift_field field = {.id = 0};

    while (thrift_next(in, &field)) {
        bool known = field.id >= LOGICAL_STRING && field.id <= LOGICAL_GEOGRAPHY;

        element->logical = known ? field.id : LOGICAL_NEWER;
        if (known && thrift_struct(in, &field)) {
            read_logical_options(in, element);
        } else {
            thrift_skip(in, &field);
        }
    }
}

/* The older way to say it; scale and precision stand beside it. */
static void
take_converted(int64_t converted, struct parquet_element *element)
{
    static const struct {
        uint8_t logical;
        uint8_t unit;
        uint8_t bits;
        bool is_signed;
    } types[] = {
        {LOGICAL_STRING, 0, 0, false},
        {LOGICAL_MAP, 0, 0, false},
        {LOGICAL_MAP, 0, 0, false},
        {LOGICAL_LIST, 0, 0, false},
        {LOGICAL_ENUM, 0, 0, false},
        {LOGICAL_DECIMAL, 0, 0, false},
        {LOGICAL_DATE, 0, 0, false},
        {LOGICAL_TIME, UNIT_MILLIS, 0, false},
        {LOGICAL_TIME, UNIT_MICROS, 0, false},
        {LOGICAL_TIMESTAMP, UNIT_MILLIS, 0, false},
        {LOGICAL_TIMESTAMP, UNIT_MICROS, 0, false},
        {LOGICAL_INTEGER, 0, 8, false},
        {LOGICAL_INTEGER, 0, 16, false},
        {LOGICAL_INTEGER, 0, 32, false},
        {LOGICAL_INTEGER, 0, 64, false},
        {LOGICAL_INTEGER, 0, 8, true},
        {LOGICAL_INTEGER, 0, 16, true},
        {LOGICAL_INTEGER, 0, 32, true},
        {LOGICAL_INTEGER, 0, 64, true},
        {LOGICAL_JSON, 0, 0, false},
        {LOGICAL_BSON, 0, 0, false},
        {LOGICAL_INTERVAL, 0, 0, false},
    };

    if (converted < 0) {
        return;
    }
    if ((size_t)converted >= sizeof types / sizeof types[0]) {
        element->logical = LOGICAL_NEWER;
        return;
    }
    element->logical = types[converted].logical;
    element->unit = types[converted].unit;
    element->bits = types[converted].bits;
    element->is_signed = types[converted].is_signed;
}

static void
read_element(struct thrift_in *in, struct parquet_element *element)
{
    struct thrift_field field = {.id = 0};
    int64_t converted = -1;

    *element = (struct parquet_element){.physical = -1, .repetition = PARQUET_REQUIRED};
    while (thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            element->physical = (int32_t)thrift_int(in, &field);
            break;
        case 2:
            element->length = (int32_t)thrift_int(in, &field);
            break;
        case 3:
            element->repetition = (int32_t)thrift_int(in, &field);
            break;
        case 4:
            element->name = thrift_binary(in, &field);
            break;
        case 5:
            element->children = (int32_t)thrift_int(in, &field);
            break;
        case 6:
            converted = thrift_int(in, &field);
            break;
        case 7:
            element->scale = (int32_t)thrift_int(in, &field);
            break;
        case 8:
            element->precision = (int32_t)thrift_int(in, &field);
            break;
        case 10:
            if (thrift_struct(in, &field)) {
                read_logical(in, element);
            }
            break;
        default:
            thrift_skip(in, &field);
        }
    }
    if (element->logical == LOGICAL_NONE) {
        take_converted(converted, element);
    }
}

granary_err
parquet_read_schema(struct gr_parquet *file, struct thrift_in *in, const struct thrift_field *field,
                    struct parquet_elements *ret_elements)
{
    struct thrift_list list = thrift_list(in, field, THRIFT_STRUCT);
    struct parquet_element *elements = NULL;
    size_t room = 0;

    ret_elements->count = 0;
    for (size_t i = 0; i < list.count && !in->bad; i++) {
        if (i == room) { /* what is claimed may be much more than what is there */
            struct parquet_element *more;

            room = room == 0 ? ELEMENT_STEP : room * 2;
            more = gr_region_alloc(file->memory, room * sizeof *more);
            if (more == NULL) {
                return parquet_no_memory();
            }
            if (i > 0) {
                memcpy(more, elements, i * sizeof *more);
            }
            elements = more;
        }
        read_element(in, &elements[i]);
    }
    *ret_elements = (struct parquet_elements){.count = in->bad ? 0 : list.count, .elements = elements};
    return in->bad ? parquet_corrupt(in, "its schema") : GRANARY_OK;
}

/* ---- the walk ---- */

struct walk {
    struct gr_parquet *file;
    const struct parquet_elements *all;
    size_t next; /* element */
    size_t names;
    char name[NAME_MOST + 1];
};

/* What an element is to the one that it is in. */
enum role {
    ROLE_FIELD,
    ROLE_REPEATED, /* of a list */
    ROLE_ENTRY,    /* the same of a map */
    ROLE_ITEM,
};

struct place {
    size_t name;     /* bytes of the path so far */
    uint16_t levels; /* definition */
    uint16_t repeats;
    uint16_t items; /* definition level of an item of the deepest list */
    enum role role; /* of what is in it */
    bool hidden;    /* within a column that is there already */
};

static granary_err
fail_schema(const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "its schema is damaged: %s", what);
}

/* Append an element's name to the path; *ret_name: bytes of it. */
static granary_err
add_name(struct walk *walk, const struct place *place, const struct parquet_element *element, size_t *ret_name)
{
    size_t dot = place->name > 0;
    size_t size = place->name + dot + element->name.size;

    if (size > NAME_MOST) {
        return gr_fail(GRANARY_EUNSUPPORTED, "a column's name has more than %d bytes", NAME_MOST);
    }
    if (element->name.size == 0 || memchr(element->name.bytes, '\0', element->name.size) != NULL ||
        utf8_first_invalid((const char *)element->name.bytes, element->name.size) != NULL) {
        return fail_schema(element->name.size == 0 ? "a column has no name" : "a column's name is no text");
    }
    if (dot > 0) {
        walk->name[place->name] = '.';
    }
    memcpy(walk->name + place->name + dot, element->name.bytes, element->name.size);
    *ret_name = size;
    return GRANARY_OK;
}

static granary_err
add_column(struct walk *walk, size_t name, const char *what, bool readable)
{
    struct gr_parquet *file = walk->file;
    struct gr_parquet_column *column = &file->columns[file->column_count];
    char *copy;

    walk->names += name + 1;
    if (walk->names > NAMES_MOST) {
        return gr_fail(GRANARY_EUNSUPPORTED, "its columns' names have more than %zu bytes together", NAMES_MOST);
    }
    copy = gr_region_alloc(file->memory, name + 1);
    if (copy == NULL) {
        return parquet_no_memory();
    }
    memcpy(copy, walk->name, name);
    copy[name] = '\0';
    *column = (struct gr_parquet_column){.name = copy, .leaf = file->leaf_count, .readable = readable};
    (void)snprintf(column->what, sizeof column->what, "%s", what);
    file->column_count++;
    return GRANARY_OK;
}

static granary_err
walk_leaf(struct walk *walk, const struct parquet_element *element, const struct place *place)
{
    struct gr_parquet *file = walk->file;
    struct gr_parquet_leaf *leaf = &file->leaves[file->leaf_count];
    char what[sizeof file->columns->what] = "list";
    bool readable;
    granary_err err = GRANARY_OK;

    if (element->physical < 0 || element->physical > GR_PARQUET_FIXED || element->children > 0) {
        return fail_schema("an element is neither a group nor of a known type");
    }
    *leaf = (struct gr_parquet_leaf){.levels = place->levels, .repeats = place->repeats, .items = place->items};
    if (place->hidden) {
        leaf->physical = (enum gr_parquet_physical)element->physical;
        leaf->length = element->length;
    } else {
        parquet_leaf_type(element, leaf, what, sizeof what);
        readable = leaf->form != GR_PARQUET_OTHER && place->repeats <= 1;
        if (place->repeats > 1) {
            (void)snprintf(what, sizeof what, "list of lists");
        } else if (place->repeats > 0 && leaf->form == GR_PARQUET_NULLS) { /* lists of nothing */
            readable = false;
            (void)snprintf(what, sizeof what, "list of nulls");
        } else if (place->repeats > 0) {
            char item[sizeof what];

            (void)snprintf(item, sizeof item, "%s", what);
            (void)snprintf(what, sizeof what, "list of %.*s", (int)sizeof what - 9, item);
        }
        err = add_column(walk, place->name, what, readable);
    }
    file->leaf_count++;
    return err;
}

static bool
ends_with(const struct thrift_bytes *name, const char *end)
{
    size_t size = strlen(end);

    return name->size >= size && memcmp(name->bytes + name->size - size, end, size) == 0;
}

/* Whether a repeated group of a list is around the item. */
static bool
is_around_item(const struct parquet_element *element)
{
    bool is_array = element->name.size == 5 && memcmp(element->name.bytes, "array", 5) == 0;

    return element->children == 1 && !is_array && !ends_with(&element->name, "_tuple");
}

/* A group: what its children are to it. false: it cannot be read, and is one column. */
static bool
enter_group(const struct parquet_element *element, enum role role, struct place *place)
{
    bool is_list = element->logical == LOGICAL_LIST || element->logical == LOGICAL_MAP;

    if (element->logical == LOGICAL_VARIANT) {
        return false;
    }
    if ((role == ROLE_REPEATED || role == ROLE_ENTRY) && element->repetition != PARQUET_REPEATED) {
        return false;
    }
    if (role == ROLE_REPEATED && is_around_item(element)) {
        place->role = ROLE_ITEM;
    } else if (is_list && element->repetition != PARQUET_REPEATED) {
        place->role = element->logical == LOGICAL_MAP ? ROLE_ENTRY : ROLE_REPEATED;
        return element->children == 1;
    } else {
        place->role = ROLE_FIELD;
    }
    return true;
}

static granary_err
walk_element(struct walk *walk, const struct place *parent, int depth)
{
    const struct parquet_element *element;
    struct place place = *parent;
    granary_err err;

    if (walk->next >= walk->all->count) {
        return fail_schema("a group has more children than there are");
    }
    if (depth > DEEPEST) {
        return gr_fail(GRANARY_EUNSUPPORTED, "its columns are nested more than %d deep", DEEPEST);
    }
    element = &walk->all->elements[walk->next++];
    if (element->repetition < PARQUET_REQUIRED || element->repetition > PARQUET_REPEATED || element->children < 0) {
        return fail_schema("an element is repeated in no known way");
    }
    place.levels = (uint16_t)(place.levels + (element->repetition != PARQUET_REQUIRED));
    place.repeats = (uint16_t)(place.repeats + (element->repetition == PARQUET_REPEATED));
    place.items = element->repetition == PARQUET_REPEATED ? place.levels : place.items;
    err = parent->hidden || parent->role != ROLE_FIELD ? GRANARY_OK : add_name(walk, parent, element, &place.name);
    if (err == GRANARY_OK && element->physical >= 0) {
        return walk_leaf(walk, element, &place);
    }
    if (err == GRANARY_OK && !parent->hidden && !enter_group(element, parent->role, &place)) {
        place.hidden = true;
        err = add_column(walk, place.name, element->logical == LOGICAL_VARIANT ? "variant" : "list", false);
    }
    for (int32_t i = 0; err == GRANARY_OK && i < element->children; i++) {
        err = walk_element(walk, &place, depth + 1);
    }
    return err;
}

granary_err
parquet_set_columns(struct gr_parquet *file, const struct parquet_elements *elements)
{
    struct walk *walk = gr_region_zalloc(file->memory, 1, sizeof *walk);
    struct place root = {.name = 0};
    granary_err err = GRANARY_OK;

    file->leaves = gr_region_zalloc(file->memory, elements->count + 1, sizeof *file->leaves);
    file->columns = gr_region_zalloc(file->memory, elements->count + 1, sizeof *file->columns);
    if (walk == NULL || file->leaves == NULL || file->columns == NULL) {
        return parquet_no_memory();
    }
    if (elements->count == 0 || elements->elements[0].physical >= 0 || elements->elements[0].children < 0) {
        return fail_schema("it has no root");
    }
    *walk = (struct walk){.file = file, .all = elements, .next = 1};
    for (int32_t i = 0; err == GRANARY_OK && i < elements->elements[0].children; i++) {
        err = walk_element(walk, &root, 1);
    }
    return err == GRANARY_OK && walk->next != elements->count ? fail_schema("elements belong to no group") : err;
}
