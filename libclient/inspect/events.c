/* The flight recorder. */
#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "inspect/inspector.h"

static const char *const event_names[] = {
#define EVENT(name, summary) #name,
#include "contract/events.def"
#undef EVENT
};

static const char *const event_texts[] = {
#define EVENT(name, summary) summary,
#include "contract/events.def"
#undef EVENT
};

const char *
granary_flight_event_name(uint32_t kind)
{
    return kind < GR_EVENT_COUNT ? event_names[kind] : "?";
}

const char *
granary_flight_event_text(uint32_t kind)
{
    return kind < GR_EVENT_COUNT ? event_texts[kind] : "?";
}

/* The ring as it lies. */
struct event_copy {
    uint64_t sequence;
    uint64_t time_ns;
    uint64_t id[2];
    uint64_t a, b;
    uint64_t kind_session;
    uint64_t client;
};
_Static_assert(sizeof(struct event_copy) == sizeof(struct gr_event), "read as they lie");

_Static_assert(sizeof(struct gr_events) == offsetof(struct gr_events, ring), "the head is what is before the ring");

static granary_err
recorder_open(const struct granary_inspector *inspector, struct file *ret_file, uint64_t *ret_entries,
              uint64_t *ret_next)
{
    struct file file = FILE_NONE;
    struct gr_events head;
    const struct gr_events *events = &head;
    granary_err err = file_open(inspector, "events", &file);

    if (err == GRANARY_ENOENT) {
        return gr_fail(GRANARY_ENOENT, "%s: no flight recorder is there", inspector->about);
    }
    if (err == GRANARY_OK) {
        err = file_read(&file, 0, &head, sizeof head);
    }
    if (err == GRANARY_OK && events->magic != GR_EVENTS_MAGIC) {
        err = gr_fail(GRANARY_ECORRUPT, "events: its first bytes are not a flight recorder's");
    }
    if (err == GRANARY_OK) {
        err = file_check_version(&file, events->version);
    }
    if (err == GRANARY_OK && (events->entries == 0 || (events->entries & (events->entries - 1)) != 0 ||
                              events->entries > (file.size - sizeof head) / sizeof(struct gr_event))) {
        err = gr_fail(GRANARY_ECORRUPT, "events: it says it has %llu entries, but is %llu bytes long",
                      (unsigned long long)events->entries, (unsigned long long)file.size);
    }
    if (err != GRANARY_OK) {
        file_close(&file);
        return err;
    }
    *ret_entries = events->entries;
    *ret_next = events->next;
    *ret_file = file;
    return GRANARY_OK;
}

/* Read up to `most` entries from number `at` on, none across the ring's end; those overwritten meanwhile are left out.
 */
static granary_err
read_run(const struct file *file, uint64_t entries, uint64_t at, size_t most, granary_flight_event *ret_events,
         size_t *count)
{
    struct event_copy *copies = malloc(most * sizeof *copies);
    granary_err err;

    if (copies == NULL) {
        return gr_fail(GRANARY_ENOMEM, "events: no memory for %zu entries", most);
    }
    err = file_read_records(file, offsetof(struct gr_events, ring) + at % entries * sizeof *copies, copies,
                            sizeof *copies, most);
    for (size_t i = 0; i < most && err == GRANARY_OK; i++) {
        const struct event_copy *copy = &copies[i];

        if (copy->sequence == at + i + 1) {
            ret_events[(*count)++] = (granary_flight_event){.sequence = copy->sequence,
                                                            .time_ns = (int64_t)copy->time_ns,
                                                            .kind = (uint32_t)(copy->kind_session >> 32),
                                                            .session = (uint32_t)copy->kind_session,
                                                            .client = (uint32_t)copy->client,
                                                            .id = gr_id_from_words(copy->id[0], copy->id[1]),
                                                            .a = copy->a,
                                                            .b = copy->b};
        }
    }
    free(copies);
    return err;
}

granary_err
granary_inspect_events_sized(granary_inspector *inspector, uint64_t *next, size_t most,
                             granary_flight_event *ret_events, size_t *ret_count, size_t event_size)
{
    void *events = NULL;
    struct file file;
    uint64_t entries;
    uint64_t end;
    uint64_t at = *next;
    size_t count = 0;
    granary_err err = recorder_open(inspector, &file, &entries, &end);

    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_sized_borrow(ret_events, event_size, sizeof *ret_events, most, &events);
    if (at > end) { /* another recorder than the caller knew */
        at = 0;
    }
    if (end > entries && at < end - entries) {
        at = end - entries;
    }
    while (at < end && count < most && err == GRANARY_OK) {
        uint64_t run = entries - at % entries;

        run = run < end - at ? run : end - at;
        run = run < most - count ? run : most - count;
        err = read_run(&file, entries, at, (size_t)run, events, &count);
        at += run;
    }
    file_close(&file);
    gr_sized_return(ret_events, event_size, events, sizeof *ret_events, count);
    if (err == GRANARY_OK) {
        *next = at;
        *ret_count = count;
    }
    return err;
}
