#include "mutable/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/id.h"
#include "fuzz.h"
#include "granary/hold.h"
#include "object/object.h"

#define THINGS    4096u
#define SIZE_MOST ((uint64_t)1 << 24)
#define NAMES     4u

static struct {
    char client; /* its address is the client */
    struct thing things[THINGS];
    bool persistent[THINGS];
    size_t count;
    struct {
        char text[GRANARY_TEXT_MAX + 1];
        granary_id id;
    } names[NAMES];
    size_t name_count;
    uint64_t ids;
    int64_t clock_ns;
    int locks; /* a file whose bytes are locked */
    struct {
        struct gr_mutables head;
        struct gr_mutable pages[MEMORY_PAGES];
    } file;
} memory = {.locks = -1};

granary_client *
memory_begin(void)
{
    if (memory.locks < 0) {
        memory.locks = memfd_create("locks", MFD_CLOEXEC);
        must(memory.locks >= 0);
    }
    memory.ids = 0;
    memory.clock_ns = 1000000;
    return (granary_client *)(void *)&memory.client;
}

static void
thing_free(struct thing *thing)
{
    free(thing->data);
    free(thing->meta);
    *thing = (struct thing){.gone = true};
}

void
memory_end(void)
{
    for (size_t i = 0; i < memory.count; i++) {
        thing_free(&memory.things[i]);
        memory.persistent[i] = false;
    }
    memory.count = memory.name_count = 0;
    memset(&memory.file, 0, sizeof memory.file);
}

void
memory_restart(void)
{
    for (size_t i = 0; i < memory.count; i++) {
        if (!memory.persistent[i]) {
            thing_free(&memory.things[i]);
        }
    }
    memory.name_count = 0;
    memset(&memory.file, 0, sizeof memory.file);
}

size_t
memory_count(void)
{
    return memory.count;
}

struct thing *
memory_thing(size_t i)
{
    return &memory.things[i];
}

struct gr_mutable *
memory_pages(void)
{
    return memory.file.pages;
}

static struct thing *
find(granary_id id, bool sealed)
{
    for (size_t i = memory.count; i-- > 0;) {
        struct thing *thing = &memory.things[i];

        if (!thing->gone && thing->sealed == sealed && gr_id_equal(thing->id, id)) {
            return thing;
        }
    }
    return NULL;
}

/* ---- what the room calls ---- */

/* As the linker wants them. */
#define INSTEAD_OF(type, name, ...)                                                                                    \
    type __wrap_##name(__VA_ARGS__); /* NOLINT(bugprone-reserved-identifier) */                                        \
    type __wrap_##name(__VA_ARGS__)  /* NOLINT(bugprone-reserved-identifier) */

/* Each look at the clock is a microsecond later. */
INSTEAD_OF(int, clock_gettime, clockid_t clock, struct timespec *ret_time)
{
    (void)clock;
    memory.clock_ns += 1000;
    *ret_time =
        (struct timespec){.tv_sec = memory.clock_ns / 1000000000, .tv_nsec = (long)(memory.clock_ns % 1000000000)};
    return 0;
}

INSTEAD_OF(granary_id, granary_id_random, void)
{
    return gr_id_from_words(0x6675u, ++memory.ids);
}

INSTEAD_OF(granary_err, gr_client_check, const granary_client *client)
{
    (void)client;
    return GRANARY_OK;
}

static granary_err
fail_missing(granary_id id)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    return gr_fail(GRANARY_ENOENT, "object %s: there is none", text);
}

INSTEAD_OF(bool, granary_object_contains, granary_client *client, granary_id id)
{
    (void)client;
    return find(id, true) != NULL;
}

INSTEAD_OF(granary_err, granary_object_get, granary_client *client, granary_id id, int timeout_ms,
           granary_view *ret_view)
{
    const struct thing *thing = find(id, true);

    (void)client;
    (void)timeout_ms;
    if (thing == NULL) {
        return fail_missing(id);
    }
    *ret_view = (granary_view){.id = id,
                               .data = thing->data,
                               .data_size = thing->data_size,
                               .meta = thing->meta,
                               .meta_size = thing->meta_size};
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, granary_object_get_meta_range, granary_client *client, granary_id id, uint64_t offset,
           uint64_t length, int timeout_ms, granary_view *ret_view)
{
    const struct thing *thing = find(id, true);

    (void)client;
    (void)timeout_ms;
    if (thing == NULL) {
        return fail_missing(id);
    }
    if (offset > thing->meta_size || length > thing->meta_size - offset) {
        return gr_fail(GRANARY_EINVAL, "the range is not in the metadata");
    }
    *ret_view = (granary_view){.id = id, .data = (const char *)thing->meta + offset, .data_size = length};
    return GRANARY_OK;
}

INSTEAD_OF(void, granary_object_release, granary_client *client, granary_view *view)
{
    (void)client;
    *view = (granary_view){.lease = 0};
}

static void *
exactly(uint64_t size)
{
    void *bytes = NULL;

    must(posix_memalign(&bytes, 64, size == 0 ? 1 : size) == 0);
    memset(bytes, 0, size);
    return bytes;
}

INSTEAD_OF(granary_err, granary_object_create_with_sized, granary_client *client, granary_id id, uint64_t data_size,
           uint64_t meta_size, const granary_object_options *options, granary_buffer *ret_buffer, size_t options_size)
{
    struct thing *thing = &memory.things[memory.count];

    (void)client;
    (void)options_size;
    if (find(id, true) != NULL) {
        return gr_fail(GRANARY_EEXIST, "the object is there");
    }
    if (data_size > SIZE_MOST || meta_size > SIZE_MOST || memory.count == THINGS) {
        return gr_fail(GRANARY_EFULL, "memory is full");
    }
    memory.persistent[memory.count++] = options != NULL && options->persist != 0;
    *thing = (struct thing){.id = id,
                            .data = exactly(data_size),
                            .data_size = data_size,
                            .meta = meta_size == 0 ? NULL : exactly(meta_size),
                            .meta_size = meta_size};
    *ret_buffer = (granary_buffer){
        .id = id, .data = thing->data, .data_size = data_size, .meta = thing->meta, .meta_size = meta_size};
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, granary_object_seal, granary_client *client, granary_buffer *buffer)
{
    struct thing *thing = find(buffer->id, false);

    (void)client;
    must(thing != NULL);
    thing->sealed = true;
    return GRANARY_OK;
}

INSTEAD_OF(void, granary_object_abort, granary_client *client, granary_buffer *buffer)
{
    (void)client;
    thing_free(find(buffer->id, false));
}

INSTEAD_OF(granary_err, granary_object_put_with_sized, granary_client *client, granary_id id, const void *data,
           uint64_t data_size, const void *meta, uint64_t meta_size, const granary_object_options *options, int flags,
           size_t options_size)
{
    granary_buffer buffer;
    granary_err err =
        __wrap_granary_object_create_with_sized(client, id, data_size, meta_size, options, &buffer, options_size);

    (void)flags;
    if (err == GRANARY_OK && data_size > 0) {
        memcpy(buffer.data, data, data_size);
    }
    if (err == GRANARY_OK && meta_size > 0) {
        memcpy(buffer.meta, meta, meta_size);
    }
    return err == GRANARY_OK ? __wrap_granary_object_seal(client, &buffer) : err;
}

INSTEAD_OF(granary_err, granary_object_put, granary_client *client, granary_id id, const void *data, uint64_t data_size,
           const void *meta, uint64_t meta_size, int flags)
{
    return __wrap_granary_object_put_with_sized(client, id, data, data_size, meta, meta_size, NULL, flags, 0);
}

/* What is mapped by a lease stays: here until the end. */
INSTEAD_OF(granary_err, granary_object_delete, granary_client *client, granary_id id, int flags)
{
    struct thing *thing = find(id, true);

    (void)client;
    (void)flags;
    if (thing == NULL) {
        return fail_missing(id);
    }
    thing->sealed = false; /* nobody finds it */
    thing->id = (granary_id){{0}};
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, granary_object_delete_many, granary_client *client, const granary_id *ids, size_t count,
           granary_err *ret_errs)
{
    granary_err first = GRANARY_OK;

    must(ret_errs == NULL);
    for (size_t i = 0; i < count; i++) {
        granary_err err = __wrap_granary_object_delete(client, ids[i], 0);

        first = first == GRANARY_OK ? err : first;
    }
    return first;
}

INSTEAD_OF(granary_err, granary_object_info_get_sized, granary_client *client, granary_id id,
           granary_object_info *ret_info, size_t info_size)
{
    const struct thing *thing = find(id, true);

    (void)client;
    if (thing == NULL) {
        return fail_missing(id);
    }
    must(info_size == sizeof *ret_info);
    *ret_info = (granary_object_info){
        .id = id, .state = GRANARY_OBJECT_SEALED, .data_size = thing->data_size, .meta_size = thing->meta_size};
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, granary_object_list_page_sized, granary_client *client, const granary_object_filter *filter,
           uint64_t *cursor, size_t most, granary_object_info *ret_infos, size_t *ret_count, size_t filter_size,
           size_t info_size)
{
    const size_t length = strlen(filter->prefix);
    size_t i = (size_t)*cursor;

    must(filter_size == sizeof *filter);
    for (*ret_count = 0; i < memory.count && *ret_count < most; i++) {
        const struct thing *thing = &memory.things[i];
        char text[GRANARY_ID_TEXT + 1];

        granary_id_format(thing->id, text);
        if (!thing->gone && thing->sealed && strncmp(text, filter->prefix, length) == 0) {
            (void)__wrap_granary_object_info_get_sized(client, thing->id, &ret_infos[(*ret_count)++], info_size);
        }
    }
    *cursor = i < memory.count ? i : 0;
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, granary_object_wait, granary_client *client, const granary_id *ids, size_t count, size_t least,
           int timeout_ms, bool *ret_there)
{
    (void)least;
    (void)timeout_ms;
    (void)ret_there;
    must(count == 1);
    return __wrap_granary_object_contains(client, ids[0]) ? GRANARY_OK : gr_fail(GRANARY_ETIMEDOUT, "it did not come");
}

INSTEAD_OF(granary_err, granary_object_hint, granary_client *client, granary_id id, int importance, int next_use)
{
    (void)importance;
    (void)next_use;
    return __wrap_granary_object_contains(client, id) ? GRANARY_OK : fail_missing(id);
}

/* Little memory: reads put groups of some rows together. */
INSTEAD_OF(granary_err, granary_store_stat_get_sized, granary_client *client, granary_store_stat *ret_stat,
           size_t stat_size)
{
    (void)client;
    must(stat_size == sizeof *ret_stat);
    *ret_stat = (granary_store_stat){.capacity_bytes = 8192};
    return GRANARY_OK;
}

/* ---- holds: nothing goes for want of them ---- */

INSTEAD_OF(granary_err, granary_reference, granary_client *client, granary_id id, const char *owner, uint64_t *ret)
{
    (void)owner;
    (void)ret;
    return __wrap_granary_object_contains(client, id) ? GRANARY_OK : fail_missing(id);
}

INSTEAD_OF(granary_err, granary_unreference, granary_client *client, granary_id id, const char *owner)
{
    (void)owner;
    return __wrap_granary_object_contains(client, id) ? GRANARY_OK : fail_missing(id);
}

INSTEAD_OF(granary_err, granary_pin, granary_client *client, granary_id id, granary_pin_scope scope, const char *why,
           uint64_t *ret_pin)
{
    (void)client;
    (void)id;
    (void)scope;
    (void)why;
    *ret_pin = 1;
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, granary_unpin, granary_client *client, uint64_t pin)
{
    (void)client;
    must(pin == 1);
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, granary_holds_sized, granary_client *client, const granary_id *id, granary_hold **ret_holds,
           size_t *ret_count, size_t hold_size)
{
    (void)client;
    (void)id;
    (void)hold_size;
    *ret_holds = NULL;
    *ret_count = 0;
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, gr_buffer_keep, granary_client *client, const granary_buffer *buffer)
{
    (void)client;
    (void)buffer;
    return GRANARY_OK;
}

INSTEAD_OF(void, gr_buffer_let_go, granary_client *client, uint32_t segment)
{
    (void)client;
    (void)segment;
}

/* ---- names, pages ---- */

static size_t
name_find(const char *name)
{
    size_t i = 0;

    while (i < memory.name_count && strcmp(memory.names[i].text, name) != 0) {
        i++;
    }
    return i;
}

INSTEAD_OF(granary_err, granary_name_get, granary_client *client, const char *name, granary_id *ret_id)
{
    const size_t i = name_find(name);

    (void)client;
    if (i == memory.name_count || gr_id_is_zero(memory.names[i].id)) {
        return gr_fail(GRANARY_ENOENT, "name '%s': there is none", name);
    }
    *ret_id = memory.names[i].id;
    return GRANARY_OK;
}

INSTEAD_OF(granary_err, granary_name_set, granary_client *client, const char *name, granary_id id,
           granary_name_expect expect, granary_id expected, granary_id *ret_previous)
{
    const size_t i = name_find(name);
    const bool bound = i < memory.name_count && !gr_id_is_zero(memory.names[i].id);

    (void)client;
    must(ret_previous == NULL);
    if (expect == GRANARY_NAME_NEW && bound) {
        return gr_fail(GRANARY_EEXIST, "the name is taken");
    }
    if (expect == GRANARY_NAME_ID && (!bound || !gr_id_equal(memory.names[i].id, expected))) {
        return gr_fail(GRANARY_ESTATE, "the name is of another object");
    }
    must(i < NAMES);
    (void)snprintf(memory.names[i].text, sizeof memory.names[i].text, "%s", name);
    memory.names[i].id = id;
    memory.name_count += i == memory.name_count;
    return GRANARY_OK;
}

/* A description of its own, as of any other process. */
INSTEAD_OF(granary_err, gr_mutables_map, granary_client *client, uint32_t pages, struct gr_mutables_map *ret_map)
{
    char path[64];

    (void)client;
    if (pages > GR_MUTABLES_MOST) {
        return gr_fail(GRANARY_ENOENT, "there are no more pages");
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", memory.locks);
    *ret_map = (struct gr_mutables_map){.pages = memory.file.pages,
                                        .count = MEMORY_PAGES,
                                        .fd = open(path, O_RDWR | O_CLOEXEC),
                                        .base = &memory.file.head,
                                        .size = sizeof memory.file};
    return ret_map->fd >= 0 ? GRANARY_OK : gr_fail_errno("locks of tables");
}

INSTEAD_OF(void, gr_mutables_unmap, struct gr_mutables_map *map)
{
    if (map->fd >= 0) {
        (void)close(map->fd);
    }
    *map = (struct gr_mutables_map){.fd = -1};
}
