/* Named resources and what is granted of each; different needs are numbered, so that a subtask carries one number. */

#include "sched/dispatch/resources.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "base/text/buf.h"

#define NEEDS_MAX 4096

struct resource {
    char *name;
    uint64_t amount;
    uint64_t granted;
};

struct need {
    uint64_t slots;
    uint64_t memory_bytes;
    uint64_t *amounts; /* by resource; NULL: none of any */
};

struct resources {
    struct resource *items;
    size_t count;
    struct need *needs; /* [0]: NEED_NONE */
    uint32_t need_count;
    size_t need_room;
};

static struct resource *
resource_find(const struct resources *resources, const char *name)
{
    for (size_t i = 0; i < resources->count; i++) {
        if (strcmp(resources->items[i].name, name) == 0) {
            return &resources->items[i];
        }
    }
    return NULL;
}

static bool
need_add(struct resources *resources, struct need need)
{
    if (!gr_grow(&resources->needs, &resources->need_room, resources->need_count, sizeof *resources->needs)) {
        return false;
    }
    resources->needs[resources->need_count++] = need;
    return true;
}

struct resources *
resources_create(const struct resource_amount *amounts, size_t count)
{
    struct resources *resources = calloc(1, sizeof *resources);
    bool good = resources != NULL && need_add(resources, (struct need){.slots = 1});

    if (good) {
        resources->items = calloc(count + 1, sizeof *resources->items);
        good = resources->items != NULL;
    }
    for (size_t i = 0; good && i < count; i++) {
        struct resource *resource = resource_find(resources, amounts[i].name);

        if (resource == NULL) {
            resource = &resources->items[resources->count];
            resource->name = strdup(amounts[i].name);
            good = resource->name != NULL;
            resources->count += good;
        }
        if (good) {
            resource->amount += amounts[i].amount;
        }
    }
    if (!good) {
        resources_destroy(resources);
        return NULL;
    }
    return resources;
}

void
resources_destroy(struct resources *resources)
{
    if (resources != NULL) {
        for (size_t i = 0; i < resources->count; i++) {
            free(resources->items[i].name);
        }
        for (uint32_t i = 0; i < resources->need_count; i++) {
            free(resources->needs[i].amounts);
        }
        free(resources->items);
        free(resources->needs);
        free(resources);
    }
}

/* ---- needs ---- */

static granary_err
refuse(const struct resources *resources, const char *name, uint64_t wanted, uint64_t slots, uint64_t memory_bytes)
{
    struct gr_buf text = {0};

    for (size_t i = 0; i < resources->count; i++) {
        gr_buf_addf(&text, ", %llu %s", (unsigned long long)resources->items[i].amount, resources->items[i].name);
    }
    (void)gr_fail(GRANARY_EINVAL,
                  "resources: %llu of '%.60s' cannot be granted: this instance has %llu slots, %llu bytes of "
                  "memory%s: ask for less, or start it with --resource NAME=AMOUNT",
                  (unsigned long long)wanted, name, (unsigned long long)slots, (unsigned long long)memory_bytes,
                  gr_buf_ok(&text) && text.bytes != NULL ? text.bytes : "");
    gr_buf_free(&text);
    return GRANARY_EINVAL;
}

static bool
need_equal(const struct resources *resources, const struct need *a, const struct need *b)
{
    for (size_t i = 0; i < resources->count; i++) {
        if ((a->amounts == NULL ? 0 : a->amounts[i]) != (b->amounts == NULL ? 0 : b->amounts[i])) {
            return false;
        }
    }
    return a->slots == b->slots && a->memory_bytes == b->memory_bytes;
}

/* Add one amount to a need. */
static granary_err
need_collect(const struct resources *resources, struct need *need, const struct resource_amount *amount, uint64_t slots,
             uint64_t memory_bytes)
{
    const struct resource *resource = resource_find(resources, amount->name);
    bool is_slots = strcmp(amount->name, "slots") == 0;
    bool is_memory = strcmp(amount->name, "memory") == 0;

    if ((is_slots && slots > 0 && amount->amount > slots) ||
        (is_memory && memory_bytes > 0 && amount->amount > memory_bytes) ||
        (!is_slots && !is_memory && (resource == NULL || amount->amount > resource->amount))) {
        return refuse(resources, amount->name, amount->amount, slots, memory_bytes);
    }
    if (is_slots) {
        need->slots = amount->amount > 0 ? amount->amount : 1;
    } else if (is_memory) {
        need->memory_bytes = amount->amount;
    } else {
        need->amounts[resource - resources->items] = amount->amount;
    }
    return GRANARY_OK;
}

granary_err
resources_need(struct resources *resources, const struct resource_amount *amounts, size_t count, uint64_t slots,
               uint64_t memory_bytes, uint32_t *ret_need)
{
    struct need need = {.slots = 1, .amounts = calloc(resources->count + 1, sizeof *need.amounts)};
    granary_err err = need.amounts == NULL ? gr_fail(GRANARY_ENOMEM, "scheduler: out of memory") : GRANARY_OK;
    uint32_t at = 0;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = need_collect(resources, &need, &amounts[i], slots, memory_bytes);
    }
    if (err != GRANARY_OK) {
        goto out;
    }
    while (at < resources->need_count && !need_equal(resources, &need, &resources->needs[at])) {
        at++;
    }
    if (at == NEEDS_MAX) {
        err = gr_fail(GRANARY_EFULL, "resources: subtasks ask for more than %d different amounts", NEEDS_MAX);
        goto out;
    }
    if (at == resources->need_count) {
        if (!need_add(resources, need)) {
            err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
            goto out;
        }
        need.amounts = NULL;
    }
    *ret_need = at;
out:
    free(need.amounts);
    return err;
}

uint32_t
resources_slots(const struct resources *resources, uint32_t need)
{
    return (uint32_t)resources->needs[need].slots;
}

uint64_t
resources_memory(const struct resources *resources, uint32_t need)
{
    return resources->needs[need].memory_bytes;
}

/* ---- granting ---- */

bool
resources_fit(const struct resources *resources, uint32_t need)
{
    const uint64_t *amounts = resources->needs[need].amounts;

    for (size_t i = 0; amounts != NULL && i < resources->count; i++) {
        if (amounts[i] > resources->items[i].amount - resources->items[i].granted) {
            return false;
        }
    }
    return true;
}

void
resources_take(struct resources *resources, uint32_t need)
{
    const uint64_t *amounts = resources->needs[need].amounts;

    assert(resources_fit(resources, need));
    for (size_t i = 0; amounts != NULL && i < resources->count; i++) {
        resources->items[i].granted += amounts[i];
    }
}

void
resources_give_back(struct resources *resources, uint32_t need)
{
    const uint64_t *amounts = resources->needs[need].amounts;

    for (size_t i = 0; amounts != NULL && i < resources->count; i++) {
        assert(resources->items[i].granted >= amounts[i]);
        resources->items[i].granted -= amounts[i];
    }
}

bool
resources_compete(const struct resources *resources, uint32_t need, uint32_t waiting)
{
    const uint64_t *mine = resources->needs[need].amounts;
    const uint64_t *wanted = resources->needs[waiting].amounts;

    for (size_t i = 0; mine != NULL && wanted != NULL && i < resources->count; i++) {
        if (mine[i] > 0 && wanted[i] > 0) {
            return true;
        }
    }
    return false;
}

/* ---- telling ---- */

size_t
resources_count(const struct resources *resources)
{
    return resources->count;
}

const char *
resources_at(const struct resources *resources, size_t position, uint64_t *ret_amount, uint64_t *ret_granted)
{
    *ret_amount = resources->items[position].amount;
    *ret_granted = resources->items[position].granted;
    return resources->items[position].name;
}

void
resources_describe(const struct resources *resources, uint32_t need, char *text, size_t room)
{
    const struct need *what = &resources->needs[need];
    size_t used = 0;

    text[0] = '\0';
    if (what->slots > 1) {
        used += (size_t)snprintf(text, room, "%llu slots", (unsigned long long)what->slots);
    }
    if (what->memory_bytes > 0 && used < room) {
        used += (size_t)snprintf(text + used, room - used, "%s%llu bytes of memory", used > 0 ? ", " : "",
                                 (unsigned long long)what->memory_bytes);
    }
    for (size_t i = 0; what->amounts != NULL && i < resources->count && used < room; i++) {
        if (what->amounts[i] > 0) {
            used += (size_t)snprintf(text + used, room - used, "%s%llu %s", used > 0 ? ", " : "",
                                     (unsigned long long)what->amounts[i], resources->items[i].name);
        }
    }
}
