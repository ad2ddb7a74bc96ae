/*
 * Events are taken in the order of time. A configuration is one way it may have been so far: what the object is, and
 * which of the operations under way have taken effect. When an operation ends, it must have taken effect: each
 * configuration is extended by operations under way until it has, or dropped. No configuration left: it cannot be true.
 * The method is that of Wing and Gong, "Testing and verifying concurrent objects" (1993).
 *
 * Operations without an end stay under way for good, and n of them can have happened in 2^n ways. Most are alike:
 * deletes, and puts of what nobody has read. Of those only their number counts.
 */
#include "torture/objects/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN     24u        /* events before the impossible one; half as many behind it */
#define OPEN_MOST 64u        /* operations on one object under way at the same time; alike ones are not among them */
#define UNREAD    UINT64_MAX /* the value of every put without an end that nobody has read */

struct event {
    int64_t at_ns;
    const struct op *op;
    bool end;
};

/* Operations without an end that are alike. */
enum alike { ALIKE_DELETES, ALIKE_UNREAD_PUTS, ALIKE_KINDS };

struct configuration {
    uint64_t value;             /* 0: the object does not exist */
    uint64_t done;              /* of the open operations */
    uint32_t used[ALIKE_KINDS]; /* of those that are alike, so many */
};

struct set {
    struct configuration *items;
    size_t count;
    size_t room;
};

struct search {
    const struct op *open[OPEN_MOST];
    uint64_t used;    /* places in open */
    uint64_t endless; /* those without an end */
    uint32_t alike[ALIKE_KINDS];
    struct set now, next, seen;
    bool failed; /* out of memory */
};

static void
set_add(struct search *search, struct set *set, struct configuration item)
{
    for (size_t i = 0; i < set->count; i++) {
        if (memcmp(&set->items[i], &item, sizeof item) == 0) {
            return;
        }
    }
    if (set->count == set->room) {
        size_t room = set->room == 0 ? 64 : set->room * 2;
        struct configuration *items = realloc(set->items, room * sizeof *items);

        if (items == NULL) {
            search->failed = true;
            return;
        }
        set->items = items;
        set->room = room;
    }
    set->items[set->count++] = item;
}

/* Whether an operation can take effect now, and what the object is then. */
static bool
applies(const struct op *op, uint64_t *value)
{
    bool there = *value != 0;

    switch (op->kind) {
    case OP_PUT:
        if (op->outcome == OP_NO) {
            return there;
        }
        *value = op->value;
        return !there;
    case OP_DELETE:
        if (op->outcome == OP_NO) {
            return !there;
        }
        *value = 0;
        return there;
    default:
        return op->outcome == OP_NO ? !there : op->value == 0 ? there : *value == op->value;
    }
}

/* What one of many operations that are alike makes of it. */
static void
extend_alike(struct search *search, const struct configuration *from)
{
    for (int kind = 0; kind < ALIKE_KINDS; kind++) {
        bool puts = kind == ALIKE_UNREAD_PUTS;

        if (from->used[kind] < search->alike[kind] && (from->value == 0) == puts) {
            struct configuration to = *from;

            to.used[kind]++;
            to.value = puts ? UNREAD : 0;
            set_add(search, &search->seen, to);
        }
    }
}

/* Whatever may have happened until the operation at `place` took effect. */
static void
extend(struct search *search, unsigned place)
{
    uint64_t bit = (uint64_t)1 << place;

    search->next.count = 0;
    search->seen.count = 0;
    for (size_t i = 0; i < search->now.count; i++) {
        set_add(search, &search->seen, search->now.items[i]);
    }
    for (size_t i = 0; i < search->seen.count; i++) {
        struct configuration from = search->seen.items[i];

        if ((from.done & bit) != 0 || search->open[place]->outcome == OP_EITHER) {
            struct configuration without = from;

            without.done &= ~bit;
            set_add(search, &search->next, without);
        }
        if ((from.done & bit) != 0) {
            continue;
        }
        for (uint64_t left = search->used & ~from.done; left != 0; left &= left - 1) {
            unsigned other = (unsigned)__builtin_ctzll(left);
            struct configuration to = from;

            to.done |= (uint64_t)1 << other;
            if (applies(search->open[other], &to.value)) {
                set_add(search, &search->seen, to);
            }
        }
        extend_alike(search, &from);
    }
}

/* One that has used fewer of the operations without an end can do all that another one can. */
static bool
can_do_all(const struct search *search, const struct configuration *a, const struct configuration *b)
{
    return a->value == b->value && (a->done & b->done) == a->done && ((a->done ^ b->done) & ~search->endless) == 0 &&
           a->used[ALIKE_DELETES] <= b->used[ALIKE_DELETES] && a->used[ALIKE_UNREAD_PUTS] <= b->used[ALIKE_UNREAD_PUTS];
}

static void
prune(struct search *search)
{
    struct set *set = &search->next;

    for (size_t i = 0; i < set->count; i++) {
        for (size_t j = 0; j < set->count; j++) {
            if (i != j && can_do_all(search, &set->items[i], &set->items[j])) {
                set->items[j--] = set->items[--set->count];
                if (i == set->count) {
                    break;
                }
            }
        }
    }
}

static bool
is_read(const struct event *events, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i].op->kind == OP_GET && events[i].op->value == value) {
            return true;
        }
    }
    return false;
}

/* Whether it begins, without an end, and others do just the same: then it is counted. */
static bool
count_alike(struct search *search, const struct event *event, size_t count)
{
    const struct op *op = event->op;

    if (op->outcome != OP_UNKNOWN || (op->kind == OP_PUT && is_read(event, count, op->value))) {
        return false;
    }
    search->alike[op->kind == OP_DELETE ? ALIKE_DELETES : ALIKE_UNREAD_PUTS]++;
    return true;
}

/* The first of `count` events. False: the operation that has ended cannot have seen what it saw, or there are too many
 * open ones (*ret_wide). */
static bool
take_event(struct search *search, const struct event *event, size_t count, bool *ret_wide)
{
    unsigned place = 0;
    struct set before;

    if (!event->end) {
        if (count_alike(search, event, count)) {
            return true;
        }
        if (search->used == UINT64_MAX) {
            *ret_wide = true;
            return false;
        }
        place = (unsigned)__builtin_ctzll(~search->used);
        search->open[place] = event->op;
        search->used |= (uint64_t)1 << place;
        if (event->op->outcome == OP_UNKNOWN) {
            search->endless |= (uint64_t)1 << place;
        }
        return true;
    }
    while (search->open[place] != event->op || (search->used >> place & 1) == 0) {
        place++;
    }
    extend(search, place);
    prune(search);
    search->used &= ~((uint64_t)1 << place);
    before = search->now;
    search->now = search->next;
    search->next = before;
    return search->now.count > 0;
}

static const char *
kind_name(const struct op *op)
{
    return op->kind == OP_PUT ? "put" : op->kind == OP_DELETE ? "delete" : "get";
}

static const char *
outcome_name(const struct op *op)
{
    static const char *const names[] = {"unknown", "yes", "no", "nothing", "either"};

    return names[op->outcome];
}

/* What happened to the object about the time of the event that is impossible, and what nobody knows the end of. */
static void
complain(FILE *out, uint32_t object, const struct event *events, size_t count, size_t at, bool wide)
{
    static const char *const ways[] = {"", "batch", "part"};

    (void)fprintf(out, "object %u: %s\n", object,
                  wide ? "too many operations at once to tell" : "what is marked cannot be true:");
    for (size_t i = 0; i < count; i++) {
        const struct op *op = events[i].op;

        if ((i + SHOWN >= at && i <= at + SHOWN / 2) || op->outcome == OP_UNKNOWN) {
            (void)fprintf(out, "%s %" PRId64 ".%06" PRId64 " %-5s %-6s %-5s %-7s %" PRIx64 "\n", i == at ? "*" : " ",
                          events[i].at_ns / 1000000000, events[i].at_ns / 1000 % 1000000,
                          events[i].end ? "end" : "begin", kind_name(op), ways[op->way], outcome_name(op), op->value);
        }
    }
}

/* The events of one object, in order. */
static bool
check_object(struct search *search, uint32_t object, const struct event *events, size_t count, FILE *complaints)
{
    bool wide = false;

    search->used = search->endless = 0;
    memset(search->alike, 0, sizeof search->alike);
    search->now.count = 0;
    set_add(search, &search->now, (struct configuration){0});
    for (size_t i = 0; i < count; i++) {
        if (!take_event(search, &events[i], count - i, &wide)) {
            complain(complaints, object, events, count, i, wide);
            return false;
        }
    }
    return true;
}

static int
by_object_and_time(const void *a, const void *b)
{
    const struct event *left = a;
    const struct event *right = b;

    if (left->op->object != right->op->object) {
        return left->op->object < right->op->object ? -1 : 1;
    }
    if (left->at_ns != right->at_ns) {
        return left->at_ns < right->at_ns ? -1 : 1;
    }
    return (int)left->end - (int)right->end;
}

/* Whether it can have changed anything, or tells anything. What its client's death cut short is unknown. */
static bool
counts(struct op *op)
{
    if (atomic_load_explicit(&op->ended_ns, memory_order_acquire) == 0) {
        op->outcome = OP_UNKNOWN;
    }
    return op->outcome != OP_NOTHING && (op->kind != OP_GET || op->outcome != OP_UNKNOWN);
}

static struct event *
collect(struct history *const *histories, size_t count, size_t *ret_count)
{
    struct event *events;
    size_t most = 1;
    size_t n = 0;

    for (size_t h = 0; h < count; h++) {
        most += 2 * (size_t)atomic_load(&histories[h]->count);
    }
    events = malloc(most * sizeof *events);
    for (size_t h = 0; events != NULL && h < count; h++) {
        for (uint64_t i = 0; i < atomic_load(&histories[h]->count); i++) {
            struct op *op = &histories[h]->ops[i];

            if (counts(op)) {
                events[n++] = (struct event){op->began_ns, op, false};
                if (op->outcome != OP_UNKNOWN) {
                    events[n++] = (struct event){atomic_load(&op->ended_ns), op, true};
                }
            }
        }
    }
    *ret_count = n;
    return events;
}

size_t
check_histories(struct history *const *histories, size_t count, uint32_t objects, FILE *complaints)
{
    struct search *search = calloc(1, sizeof *search);
    size_t wrong = 0;
    size_t event_count = 0;
    struct event *events = collect(histories, count, &event_count);

    if (search == NULL || events == NULL) {
        wrong = SIZE_MAX;
        goto out;
    }
    qsort(events, event_count, sizeof *events, by_object_and_time);
    for (size_t at = 0; at < event_count && !search->failed;) {
        uint32_t object = events[at].op->object;
        size_t end = at;

        while (end < event_count && events[end].op->object == object) {
            end++;
        }
        wrong += object >= objects || !check_object(search, object, events + at, end - at, complaints);
        at = end;
    }
    wrong = search->failed ? SIZE_MAX : wrong;
out:
    if (search != NULL) {
        free(search->now.items);
        free(search->next.items);
        free(search->seen.items);
    }
    free(search);
    free(events);
    return wrong;
}
