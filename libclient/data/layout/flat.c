/* Flatbuffers: tables are written back to front of what they refer to, and read with all bounds checked. */
#include "data/layout/flat.h"

#include <string.h>

/* ---- writing ---- */

static size_t
reserve(struct flat_out *out, size_t size)
{
    size_t at = out->size;

    if (out->bytes != NULL) {
        memset(out->bytes + at, 0, size);
    }
    out->size += size;
    return at;
}

static void
store(struct flat_out *out, size_t at, uint64_t value, size_t size)
{
    if (out->bytes != NULL) {
        memcpy(out->bytes + at, &value, size); /* little-endian, as arrow/write.c asserts */
    }
}

/* Zeros up to a multiple of alignment. */
static void
pad(struct flat_out *out, size_t alignment)
{
    (void)reserve(out, (alignment - out->size % alignment) % alignment);
}

size_t
flat_put_table(struct flat_out *out, const uint8_t *sizes, size_t count)
{
    bool root = out->size == 0;
    size_t inside = 4; /* of the table: its first word leads back to the vtable */
    size_t vtable;
    size_t table;

    if (root) {
        (void)reserve(out, 4);
    }
    pad(out, 2);
    vtable = reserve(out, 4 + 2 * count);
    /* A table at 4 modulo 8 has its 8-byte fields aligned right behind its first word. */
    (void)reserve(out, (12 - out->size % 8) % 8);
    table = reserve(out, 4);
    for (size_t size = 8; size > 0; size /= 2) {
        for (size_t i = 0; i < count; i++) {
            if (sizes[i] == size) {
                store(out, vtable + 4 + 2 * i, inside, 2);
                inside += size;
            }
        }
    }
    (void)reserve(out, inside - 4);
    store(out, vtable, 4 + 2 * count, 2);
    store(out, vtable + 2, inside, 2);
    store(out, table, table - vtable, 4);
    if (root) {
        store(out, 0, table, 4);
    }
    return table;
}

/* Where a field of a written table is. */
static size_t
slot_of(const struct flat_out *out, size_t table, size_t field)
{
    uint32_t back;
    uint16_t inside;

    memcpy(&back, out->bytes + table, sizeof back);
    memcpy(&inside, out->bytes + table - back + 4 + 2 * field, sizeof inside);
    return table + inside;
}

void
flat_set(struct flat_out *out, size_t table, size_t field, uint64_t value, size_t size)
{
    if (out->bytes != NULL) {
        store(out, slot_of(out, table, field), value, size);
    }
}

void
flat_refer(struct flat_out *out, size_t table, size_t field, size_t target)
{
    if (out->bytes != NULL) {
        size_t slot = slot_of(out, table, field);

        store(out, slot, target - slot, 4);
    }
}

size_t
flat_put_string(struct flat_out *out, const char *text, size_t length)
{
    size_t at;

    pad(out, 4);
    at = reserve(out, 4 + length + 1);
    store(out, at, length, 4);
    if (out->bytes != NULL) {
        memcpy(out->bytes + at + 4, text, length);
    }
    return at;
}

size_t
flat_put_vector(struct flat_out *out, size_t count, size_t element_size)
{
    size_t at;

    if (element_size == 4) {
        pad(out, 4);
    } else {
        (void)reserve(out, (12 - out->size % 8) % 8); /* the elements, behind the count, at 0 modulo 8 */
    }
    at = reserve(out, 4 + count * element_size);
    store(out, at, count, 4);
    return at;
}

void
flat_refer_element(struct flat_out *out, size_t vector, size_t i, size_t target)
{
    size_t slot = vector + 4 + 4 * i;

    store(out, slot, target - slot, 4);
}

void
flat_set_element(struct flat_out *out, size_t vector, size_t i, size_t element_size, const void *element)
{
    if (out->bytes != NULL) {
        memcpy(out->bytes + vector + 4 + i * element_size, element, element_size);
    }
}

/* ---- reading ---- */

static void
mark_bad(struct flat_in *in, size_t at)
{
    if (!in->bad) {
        in->bad = true;
        in->bad_at = at < in->size ? at : in->size;
    }
}

static bool
within(struct flat_in *in, size_t at, size_t size)
{
    if (at > in->size || size > in->size - at) {
        mark_bad(in, at);
    }
    return !in->bad;
}

static uint64_t
load(struct flat_in *in, size_t at, size_t size)
{
    uint64_t value = 0;

    if (within(in, at, size)) {
        memcpy(&value, in->bytes + at, size);
    }
    return value;
}

static struct flat_table
table_at(struct flat_in *in, size_t at)
{
    struct flat_table table = {.at = at};
    int64_t vtable = (int64_t)at - (int32_t)(uint32_t)load(in, at, 4);
    size_t vtable_size;

    if (in->bad || vtable < 0) {
        mark_bad(in, at);
        return (struct flat_table){0};
    }
    table.vtable = (size_t)vtable;
    vtable_size = load(in, table.vtable, 2);
    table.size = load(in, table.vtable + 2, 2);
    if (vtable_size < 4 || table.size < 4 || !within(in, table.vtable, vtable_size) || !within(in, at, table.size)) {
        mark_bad(in, table.vtable);
        return (struct flat_table){0};
    }
    table.fields = (vtable_size - 4) / 2;
    return table;
}

/* Where a field of size bytes is; 0: absent. */
static size_t
field_at(struct flat_in *in, struct flat_table table, size_t field, size_t size)
{
    size_t inside;

    if (table.at == 0 || field >= table.fields) {
        return 0;
    }
    inside = load(in, table.vtable + 4 + 2 * field, 2);
    if (inside == 0 || in->bad) {
        return 0;
    }
    if (inside < 4 || inside + size > table.size) {
        mark_bad(in, table.vtable + 4 + 2 * field);
        return 0;
    }
    return table.at + inside;
}

/* Follow the reference at `at`; 0: bad. */
static size_t
follow(struct flat_in *in, size_t at)
{
    size_t target = at + load(in, at, 4);

    return within(in, target, 4) && target != at ? target : 0;
}

struct flat_table
flat_root(struct flat_in *in)
{
    size_t at = follow(in, 0);

    return at == 0 ? (struct flat_table){0} : table_at(in, at);
}

uint64_t
flat_uint(struct flat_in *in, struct flat_table table, size_t field, size_t size, uint64_t fallback)
{
    size_t at = field_at(in, table, field, size);

    return at == 0 ? fallback : load(in, at, size);
}

struct flat_table
flat_table(struct flat_in *in, struct flat_table table, size_t field)
{
    size_t at = field_at(in, table, field, 4);

    at = at == 0 ? 0 : follow(in, at);
    return at == 0 ? (struct flat_table){0} : table_at(in, at);
}

struct flat_vector
flat_vector(struct flat_in *in, struct flat_table table, size_t field, size_t element_size)
{
    size_t at = field_at(in, table, field, 4);
    size_t count;

    at = at == 0 ? 0 : follow(in, at);
    count = at == 0 ? 0 : load(in, at, 4);
    if (count == 0 || !within(in, at + 4, count * element_size)) {
        return (struct flat_vector){0};
    }
    return (struct flat_vector){at + 4, count};
}

struct flat_table
flat_element_table(struct flat_in *in, struct flat_vector vector, size_t i)
{
    size_t at = i < vector.count ? follow(in, vector.at + 4 * i) : 0;

    return at == 0 ? (struct flat_table){0} : table_at(in, at);
}

const char *
flat_string(struct flat_in *in, struct flat_table table, size_t field)
{
    struct flat_vector text = flat_vector(in, table, field, 1);
    size_t at = field_at(in, table, field, 4);

    if (at == 0 || in->bad) {
        return NULL;
    }
    if (text.count == 0) {
        return "";
    }
    if (!within(in, text.at, text.count + 1) || memchr(in->bytes + text.at, '\0', text.count + 1) == NULL ||
        memchr(in->bytes + text.at, '\0', text.count) != NULL) {
        mark_bad(in, text.at);
        return NULL;
    }
    return (const char *)in->bytes + text.at;
}
