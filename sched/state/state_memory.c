/*
 * State in memory: ends with the process. Entries are sorted by (space, key), so scans are walks. Changes since the
 * last commit cannot fail to commit, so there is nothing to undo.
 */
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct entry {
    uint64_t version;
    size_t key_size;
    size_t value_size;
    char space[STATE_SPACE_MAX + 1];
    unsigned char bytes[]; /* key, then value */
};

struct memory {
    struct entry **entries; /* ordered */
    size_t count;
    size_t room;
};

static int
compare(const struct entry *entry, const char *space, const void *key, size_t key_size)
{
    int order = strcmp(entry->space, space);

    if (order == 0 && key_size > 0) {
        order = memcmp(entry->bytes, key, entry->key_size < key_size ? entry->key_size : key_size);
    }
    return order != 0 ? order : (entry->key_size > key_size) - (entry->key_size < key_size);
}

/* The position of the entry, or where it would go. */
static size_t
locate(const struct memory *memory, const char *space, const void *key, size_t key_size, bool *ret_found)
{
    size_t low = 0;
    size_t high = memory->count;

    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(memory->entries[middle], space, key, key_size);

        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct entry *
entry_create(const struct state_put *put, uint64_t version)
{
    struct entry *entry = malloc(sizeof *entry + put->key_size + put->value_size);

    if (entry != NULL) {
        entry->version = version;
        entry->key_size = put->key_size;
        entry->value_size = put->value_size;
        memcpy(entry->space, put->space, strlen(put->space) + 1);
        memcpy(entry->bytes, put->key, put->key_size);
        if (put->value_size > 0) {
            memcpy(entry->bytes + put->key_size, put->value, put->value_size);
        }
    }
    return entry;
}

static granary_err
memory_room(struct memory *memory, size_t more)
{
    if (memory->count + more > memory->room) {
        size_t room = (memory->count + more) * 2 + 16;
        struct entry **entries = reallocarray(memory->entries, room, sizeof(struct entry *));

        if (entries == NULL) {
            return gr_fail(GRANARY_ENOMEM, "state: out of memory");
        }
        memory->entries = entries;
        memory->room = room;
    }
    return GRANARY_OK;
}

static granary_err
memory_open(void *self, const char *path)
{
    (void)self;
    (void)path;
    return GRANARY_OK;
}

static void
memory_close(void *self)
{
    struct memory *memory = self;

    for (size_t i = 0; i < memory->count; i++) {
        free(memory->entries[i]);
    }
    free(memory->entries);
    *memory = (struct memory){0};
}

static granary_err
memory_get(void *self, const char *space, const void *key, size_t key_size, struct gr_buf *ret_value,
           uint64_t *ret_version)
{
    struct memory *memory = self;
    const struct entry *entry;
    bool found;
    size_t at = locate(memory, space, key, key_size, &found);

    if (!found) {
        return gr_fail(GRANARY_ENOENT, "state: no such entry in '%s'", space);
    }
    entry = memory->entries[at];
    gr_buf_add(ret_value, entry->bytes + entry->key_size, entry->value_size);
    if (!gr_buf_ok(ret_value)) {
        return gr_fail(GRANARY_ENOMEM, "state: out of memory");
    }
    if (ret_version != NULL) {
        *ret_version = entry->version;
    }
    return GRANARY_OK;
}

static granary_err
walk(struct memory *memory, const struct state_range *range, bool values, state_visit *visit, void *context)
{
    granary_err err = GRANARY_OK;
    size_t seen = 0;
    bool found;
    size_t at = locate(memory, range->space, range->after, range->after_size, &found);

    for (at += found; err == GRANARY_OK && at < memory->count; at++) {
        const struct entry *entry = memory->entries[at];

        if (strcmp(entry->space, range->space) != 0 || (range->limit != 0 && seen++ == range->limit)) {
            break;
        }
        err = visit(context, &(struct state_entry){.key = entry->bytes,
                                                   .key_size = entry->key_size,
                                                   .value = values ? entry->bytes + entry->key_size : NULL,
                                                   .value_size = values ? entry->value_size : 0,
                                                   .version = entry->version});
    }
    return err;
}

static granary_err
memory_scan(void *self, const struct state_range *range, state_visit *visit, void *context)
{
    return walk(self, range, true, visit, context);
}

static granary_err
memory_scan_keys(void *self, const struct state_range *range, state_visit *visit, void *context)
{
    return walk(self, range, false, visit, context);
}

static granary_err
memory_put(void *self, const struct state_put *put, uint64_t *ret_version)
{
    struct memory *memory = self;
    struct entry *entry;
    uint64_t version;
    bool found;
    size_t at;
    granary_err err = state_check(put->space, put->key, put->key_size);

    if (err != GRANARY_OK || (err = memory_room(memory, 1)) != GRANARY_OK) {
        return err;
    }
    at = locate(memory, put->space, put->key, put->key_size, &found);
    version = found ? memory->entries[at]->version : 0;
    if (put->expected != STATE_ANY && put->expected != version) {
        return gr_fail(GRANARY_ESTATE, "state: an entry in '%s' has version %llu, not %llu", put->space,
                       (unsigned long long)version, (unsigned long long)put->expected);
    }
    entry = entry_create(put, version + 1);
    if (entry == NULL) {
        return gr_fail(GRANARY_ENOMEM, "state: out of memory");
    }
    if (found) {
        free(memory->entries[at]);
    } else {
        memmove(memory->entries + at + 1, memory->entries + at, (memory->count - at) * sizeof(struct entry *));
        memory->count++;
    }
    memory->entries[at] = entry;
    if (ret_version != NULL) {
        *ret_version = entry->version;
    }
    return GRANARY_OK;
}

static granary_err
memory_delete(void *self, const char *space, const void *key, size_t key_size)
{
    struct memory *memory = self;
    bool found;
    size_t at = locate(memory, space, key, key_size, &found);

    if (!found) {
        return gr_fail(GRANARY_ENOENT, "state: no such entry in '%s'", space);
    }
    free(memory->entries[at]);
    memory->count--;
    memmove(memory->entries + at, memory->entries + at + 1, (memory->count - at) * sizeof(struct entry *));
    return GRANARY_OK;
}

/* Back to what was there before puts[at]: NULL is nothing. Takes old. */
static void
restore(struct memory *memory, const struct state_put *put, struct entry *old)
{
    bool found;
    size_t at = locate(memory, put->space, put->key, put->key_size, &found);

    if (old == NULL) {
        (void)memory_delete(memory, put->space, put->key, put->key_size);
    } else {
        free(memory->entries[at]);
        memory->entries[at] = old;
    }
}

static struct entry *
entry_copy(const struct memory *memory, const struct state_put *put, bool *ret_failed)
{
    bool found;
    size_t at = locate(memory, put->space, put->key, put->key_size, &found);
    struct entry *copy = NULL;

    if (found) {
        const struct entry *entry = memory->entries[at];
        size_t size = sizeof *entry + entry->key_size + entry->value_size;

        copy = malloc(size);
        if (copy == NULL) {
            *ret_failed = true;
            return NULL;
        }
        memcpy(copy, entry, size);
    }
    return copy;
}

static granary_err
memory_put_txn(void *self, const struct state_put *puts, size_t count)
{
    struct memory *memory = self;
    struct entry **before = calloc(count + 1, sizeof(struct entry *));
    granary_err err = before == NULL ? gr_fail(GRANARY_ENOMEM, "state: out of memory") : GRANARY_OK;
    size_t done = 0;

    while (err == GRANARY_OK && done < count) {
        bool failed = false;
        granary_err checked = state_check(puts[done].space, puts[done].key, puts[done].key_size);

        before[done] = checked == GRANARY_OK ? entry_copy(memory, &puts[done], &failed) : NULL;
        err = failed ? gr_fail(GRANARY_ENOMEM, "state: out of memory") : memory_put(memory, &puts[done], NULL);
        if (err != GRANARY_OK) {
            free(before[done]);
            break;
        }
        done++;
    }
    /* From the last to the first, so that an entry put twice ends as it began. */
    while (done > 0) {
        done--;
        if (err != GRANARY_OK) {
            restore(memory, &puts[done], before[done]);
        } else {
            free(before[done]);
        }
    }
    free(before);
    return err;
}

static granary_err
memory_mv(void *self, const char *space, const void *key, size_t key_size, const char *new_space, const void *new_key,
          size_t new_key_size)
{
    struct memory *memory = self;
    struct entry *entry;
    bool found;
    size_t at;
    granary_err err = state_check(new_space, new_key, new_key_size);

    if (err != GRANARY_OK) {
        return err;
    }
    at = locate(memory, space, key, key_size, &found);
    if (!found) {
        return gr_fail(GRANARY_ENOENT, "state: no such entry in '%s'", space);
    }
    (void)locate(memory, new_space, new_key, new_key_size, &found);
    if (found) {
        return gr_fail(GRANARY_EEXIST, "state: the entry in '%s' exists already", new_space);
    }
    entry = memory->entries[at];
    err = memory_put(memory,
                     &(struct state_put){.space = new_space,
                                         .key = new_key,
                                         .key_size = new_key_size,
                                         .value = entry->bytes + entry->key_size,
                                         .value_size = entry->value_size,
                                         .expected = STATE_ABSENT},
                     NULL);
    if (err == GRANARY_OK) {
        memory->entries[locate(memory, new_space, new_key, new_key_size, &found)]->version = entry->version + 1;
        err = memory_delete(memory, space, key, key_size);
    }
    return err;
}

static granary_err
memory_delete_all(void *self, const char *space, const void *prefix, size_t prefix_size)
{
    struct memory *memory = self;
    granary_err err = state_check(space, prefix, prefix_size);
    bool found;
    size_t first;
    size_t end;

    if (err != GRANARY_OK) {
        return err;
    }
    first = end = locate(memory, space, prefix, prefix_size, &found);
    while (end < memory->count && strcmp(memory->entries[end]->space, space) == 0 &&
           memory->entries[end]->key_size >= prefix_size &&
           memcmp(memory->entries[end]->bytes, prefix, prefix_size) == 0) {
        free(memory->entries[end++]);
    }
    memmove(memory->entries + first, memory->entries + end, (memory->count - end) * sizeof(struct entry *));
    memory->count -= end - first;
    return GRANARY_OK;
}

static granary_err
memory_commit(void *self)
{
    (void)self;
    return GRANARY_OK;
}

static void
memory_rollback(void *self)
{
    (void)self;
}

const struct state_ops state_memory = {
    .name = "memory",
    .self_size = sizeof(struct memory),
    .open = memory_open,
    .close = memory_close,
    .get = memory_get,
    .scan = memory_scan,
    .scan_keys = memory_scan_keys,
    .put = memory_put,
    .put_txn = memory_put_txn,
    .mv = memory_mv,
    .delete = memory_delete,
    .delete_all = memory_delete_all,
    .commit = memory_commit,
    .rollback = memory_rollback,
};
