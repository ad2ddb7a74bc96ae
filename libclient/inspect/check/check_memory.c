/* Where objects lie, what identifies them, and the byte account. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "inspect/check/check.h"

static int
compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static uint32_t
where_of(const struct check_object *object)
{
    return (uint32_t)(object->slot.where_meta >> 32);
}

static int
by_id(const void *left, const void *right)
{
    const struct check_object *a = left;
    const struct check_object *b = right;
    int order = compare(a->session, b->session);

    return order != 0 ? order : memcmp(a->slot.id, b->slot.id, sizeof a->slot.id);
}

const struct check_object *
check_find(const struct check *check, uint32_t session, const uint64_t id[2], size_t *ret_count)
{
    struct check_object key = {.session = session};
    const struct check_object *found;
    const struct check_object *end = check->objects + check->object_count;
    const struct check_object *last;

    memcpy(key.slot.id, id, sizeof key.slot.id);
    found = check->object_count == 0
                ? NULL
                : bsearch(&key, check->objects, check->object_count, sizeof *check->objects, by_id);
    if (found == NULL) {
        return NULL;
    }
    while (found > check->objects && by_id(found - 1, &key) == 0) {
        found--;
    }
    for (last = found; last < end && by_id(last, &key) == 0; last++) {
    }
    *ret_count = (size_t)(last - found);
    return found;
}

static void
order(struct check *check, struct gr_ordered *some, size_t count)
{
    if (!gr_order(some, count) && check->err == GRANARY_OK) {
        check->err = gr_fail(GRANARY_ENOMEM, "no memory to check %zu objects", count);
    }
}

/* ---- where ---- */

/* segment, file: where the object should be; NULL when there is none. before: the object that may reach into it. */
static void
check_place(struct check *check, const struct check_object *object, const struct segment_copy *segment,
            const struct file_entry *file, const struct check_object *before)
{
    const struct slot_copy *slot = &object->slot;
    uint64_t footprint = 0;
    uint64_t previous = 0;
    char other[GRANARY_ID_TEXT + 1];
    char id[GRANARY_ID_TEXT + 1];

    (void)check_id(slot->id, id);
    if (!slot_footprint(slot, &footprint)) {
        return; /* reported with its page */
    }
    if (segment == NULL || segment->session != object->session) {
        check_found(check, GRANARY_FINDING_DAMAGE, "segment-missing", object->session, slot->id, where_of(object),
                    "object %s: the root knows no segment %u of session %u", id, where_of(object), object->session);
        return;
    }
    if (slot->offset % GR_ALIGN != 0) {
        check_found(check, GRANARY_FINDING_DAMAGE, "object-alignment", object->session, slot->id, segment->number,
                    "object %s: begins at byte %llu of segment %u, which is no multiple of %u", id,
                    (unsigned long long)slot->offset, segment->number, GR_ALIGN);
    }
    if (slot->offset > segment->size || footprint > segment->size - slot->offset) {
        check_found(check, GRANARY_FINDING_DAMAGE, "object-beyond", object->session, slot->id, segment->number,
                    "object %s: %llu bytes at byte %llu reach beyond segment %u of %llu bytes", id,
                    (unsigned long long)footprint, (unsigned long long)slot->offset, segment->number,
                    (unsigned long long)segment->size);
    } else if (file == NULL || slot->offset + footprint > file->size) {
        /* A writer can truncate its own segment: the store marks it, and that is no fault of the store's. */
        check_found(check, (segment->flags & GR_SEGMENT_SPOILED) != 0 ? GRANARY_FINDING_NOTE : GRANARY_FINDING_DAMAGE,
                    "segment-file", object->session, slot->id, segment->number, "object %s: s%u.data%u %s", id,
                    object->session, segment->number,
                    file == NULL ? "does not exist" : "was truncated: the object reaches beyond its end");
    }
    if (before != NULL && where_of(before) == where_of(object) && slot_footprint(&before->slot, &previous) &&
        before->slot.offset + previous > slot->offset) {
        /* A client says where its objects lie. Who lies harms his own: all in a segment are one writer's. */
        bool said = (segment->flags & GR_SEGMENT_CLIENTS) != 0;

        check_found(check, said ? GRANARY_FINDING_NOTE : GRANARY_FINDING_DAMAGE, "object-overlap", object->session,
                    slot->id, segment->number, "objects %s and %s overlap at byte %llu of segment %u%s",
                    check_id(before->slot.id, other), id, (unsigned long long)slot->offset, segment->number,
                    said ? ": the client that wrote them said so" : "");
    }
}

static uint64_t
end_of(const struct check_object *object)
{
    uint64_t footprint = 0;

    (void)slot_footprint(&object->slot, &footprint);
    return object->slot.offset > UINT64_MAX - footprint ? UINT64_MAX : object->slot.offset + footprint;
}

/* Those in memory, by segment and offset. */
static void
check_places(struct check *check, struct gr_ordered *some)
{
    const struct check_object *before = NULL; /* of those in the same segment, the one that reaches farthest */
    const struct check_object *last = NULL;
    const struct segment_copy *segment = NULL;
    const struct file_entry *file = NULL;
    size_t count = 0;

    for (size_t i = 0; i < check->object_count; i++) {
        if (check_in_memory(&check->objects[i].slot)) {
            some[count++] = (struct gr_ordered){.keys = {where_of(&check->objects[i]), check->objects[i].slot.offset},
                                                .item = &check->objects[i]};
        }
    }
    order(check, some, count);
    for (size_t i = 0; i < count && check->err == GRANARY_OK; i++) {
        const struct check_object *object = some[i].item;

        if (last == NULL || where_of(last) != where_of(object) || last->session != object->session) {
            segment = check_segment(check, where_of(object));
            file = check_file(check, object->session, "data", where_of(object));
        }
        check_place(check, object, segment, file, before);
        if (before == NULL || where_of(before) != where_of(object) || end_of(object) > end_of(before)) {
            before = object;
        }
        last = object;
    }
}

/* ---- what identifies ---- */

static uint64_t
serial_of(const struct check_object *object)
{
    return GR_WORD_SERIAL(object->slot.word);
}

static uint64_t
stamp_of(const struct check_object *object)
{
    return object->slot.stamp;
}

static void
check_unique(struct check *check, struct gr_ordered *some, const char *code, const char *what,
             uint64_t (*number_of)(const struct check_object *object))
{
    char id[GRANARY_ID_TEXT + 1];
    char other[GRANARY_ID_TEXT + 1];
    size_t count = 0;

    for (size_t i = 0; i < check->object_count; i++) {
        const struct check_object *object = &check->objects[i];

        if (GR_WORD_STATE(object->slot.word) != GR_SLOT_ALIAS) {
            some[count++] = (struct gr_ordered){.keys = {number_of(object)}, .item = object};
        }
    }
    order(check, some, count);
    for (size_t i = 1; i < count; i++) {
        if (some[i - 1].keys[0] == some[i].keys[0]) {
            const struct check_object *first = some[i - 1].item;
            const struct check_object *second = some[i].item;

            check_found(check, GRANARY_FINDING_DAMAGE, code, second->session, second->slot.id, some[i].keys[0],
                        "objects %s and %s have the same %s, %llu", check_id(first->slot.id, other),
                        check_id(second->slot.id, id), what, (unsigned long long)some[i].keys[0]);
        }
    }
}

/* ---- the account ---- */

/* What the slots add up to, in the terms of the account. */
struct sums {
    uint64_t sealed;
    uint64_t retiring;
    uint64_t objects;
    uint64_t spilled;
};

static struct sums
sums_of(const struct check *check)
{
    struct sums sums = {0};

    for (size_t i = 0; i < check->object_count; i++) {
        const struct slot_copy *slot = &check->objects[i].slot;
        uint64_t footprint = 0;

        (void)slot_footprint(slot, &footprint);
        switch (GR_WORD_STATE(slot->word)) {
        case GR_SLOT_SEALED:
        case GR_SLOT_RETIRING:
            sums.sealed += footprint;
            sums.objects += (slot->flags & GR_FLAG_SLICE) == 0; /* a part of an object is none */
            break;
        case GR_SLOT_DELETING:
            sums.retiring += footprint;
            break;
        case GR_SLOT_SPILLED:
            sums.objects++;
            sums.spilled++;
            break;
        default:
            break;
        }
    }
    return sums;
}

static void
check_sum(struct check *check, uint32_t session, enum gr_account which, const char *what, uint64_t account,
          uint64_t slots)
{
    if (account != slots) {
        check_found(check, check_torn(check), "account", session, NULL, (uint64_t)which,
                    "s%u.control: the account says %llu %s, the index %llu", session, (unsigned long long)account, what,
                    (unsigned long long)slots);
    }
}

static void
check_account(struct check *check)
{
    struct sums sums = sums_of(check);

    for (size_t i = 0; i < check->session_count; i++) {
        struct control_copy control;
        uint64_t sum = 0;

        if (control_read(check->inspector, check->sessions[i], &control) != GRANARY_OK || !control.account_settled ||
            control.state == GR_CONTROL_CLOSED) {
            continue;
        }
        for (int part = GR_ACCOUNT_FREE; part <= GR_ACCOUNT_POOLED; part++) {
            sum += control.account[part];
        }
        if (sum != control.account[GR_ACCOUNT_CAPACITY]) {
            check_found(check, GRANARY_FINDING_DAMAGE, "account-balance", control.session, NULL, 0,
                        "s%u.control: the parts of the account add up to %llu bytes, the capacity is %llu",
                        control.session, (unsigned long long)sum,
                        (unsigned long long)control.account[GR_ACCOUNT_CAPACITY]);
        }
        /* Every session shows the whole store's. */
        check_sum(check, control.session, GR_ACCOUNT_SEALED, "bytes of sealed objects",
                  control.account[GR_ACCOUNT_SEALED], sums.sealed);
        check_sum(check, control.session, GR_ACCOUNT_RETIRING, "bytes of deleted objects",
                  control.account[GR_ACCOUNT_RETIRING], sums.retiring);
        check_sum(check, control.session, GR_ACCOUNT_OBJECTS, "objects", control.account[GR_ACCOUNT_OBJECTS],
                  sums.objects);
        check_sum(check, control.session, GR_ACCOUNT_OBJECTS_SPILLED, "spilled objects",
                  control.account[GR_ACCOUNT_OBJECTS_SPILLED], sums.spilled);
    }
}

/* ---- by id ---- */

/* Lay the objects out by session and id, for check_find(). */
static void
sort_objects(struct check *check, struct gr_ordered *some)
{
    struct check_object *sorted = malloc((check->object_count + 1) * sizeof *sorted);

    if (sorted == NULL) {
        check->err = gr_fail(GRANARY_ENOMEM, "no memory to check %zu objects", check->object_count);
        return;
    }
    gr_order_expect(sorted, check->object_count * sizeof *sorted);
    for (size_t i = 0; i < check->object_count; i++) {
        const struct check_object *object = &check->objects[i];

        some[i] = (struct gr_ordered){
            .keys = {object->session, gr_order_of_bytes(object->slot.id[0]), gr_order_of_bytes(object->slot.id[1])},
            .item = object};
    }
    order(check, some, check->object_count);
    for (size_t i = 0; i < check->object_count; i++) {
        sorted[i] = *(const struct check_object *)some[i].item;
    }
    free(check->objects);
    check->objects = sorted;
    check->object_room = check->object_count;
}

void
check_memory(struct check *check)
{
    struct gr_ordered *some = malloc((check->object_count + 1) * sizeof *some);

    if (some == NULL) {
        check->err = gr_fail(GRANARY_ENOMEM, "no memory to check %zu objects", check->object_count);
        return;
    }
    sort_objects(check, some);
    check_places(check, some);
    check_unique(check, some, "serial-twice", "serial", serial_of);
    check_unique(check, some, "stamp-twice", "stamp", stamp_of);
    check_account(check);
    free(some);
}
