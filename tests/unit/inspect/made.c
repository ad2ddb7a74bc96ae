#include "made.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"

static void *
make_file(const struct made *made, const char *name, size_t size)
{
    char path[128];
    void *bytes;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", made->dir, name);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
        abort();
    }
    bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (bytes == MAP_FAILED) {
        abort();
    }
    return bytes;
}

#define INDEX_BYTES  (GR_INDEX_PAGES_AT + MADE_PAGES * GR_PAGE_BYTES)
#define LEDGER_BYTES (sizeof(struct gr_ledger) + MADE_LEDGER * sizeof(struct gr_ledger_record))
#define TABLES_BYTES (sizeof(struct gr_mutables) + sizeof(struct gr_mutable))
#define EVENTS_BYTES (sizeof(struct gr_events) + MADE_EVENTS * sizeof(struct gr_event))

static void
make_root(struct made *made)
{
    struct gr_root *root = made->root = make_file(made, "root", sizeof *root);
    struct gr_client_record *client = &root->clients[3];
    struct gr_segment_record *segment = &root->segments[MADE_SEGMENT];

    root->version = GR_SHM_VERSION;
    root->state = GR_CONTROL_SERVING;
    root->epoch = 3;
    root->store_pid = 4242;
    root->uid = 1000;
    (void)snprintf(root->runtime, sizeof root->runtime, "/run/made");
    (void)snprintf(root->spill_dir, sizeof root->spill_dir, "/nowhere/made");
    root->capacity = (uint64_t)64 << 20;
    root->group = UINT32_MAX;
    root->rung = 1;
    root->serial_limit = 1000;
    root->stamp_limit = (uint64_t)2000000000000 << 20;
    root->next_session = 2;
    root->next_client = MADE_CLIENT + 1;
    root->next_segment = MADE_SEGMENT + 1;
    root->next_file = MADE_SPILL_FILE + 1;
    root->next_token = 100;
    client->session = 1;
    client->pid = 777;
    client->uid = 1000;
    client->since_ms = 1700000000000;
    (void)snprintf(client->tag, sizeof client->tag, "worker");
    client->word = MADE_CLIENT;
    segment->size = MADE_SEGMENT_BYTES;
    segment->session = 1;
    segment->writer = MADE_CLIENT;
    segment->word = (uint64_t)MADE_SEGMENT << 8 | GR_SEGMENT_OPEN;
    root->magic = GR_ROOT_MAGIC;
}

static void
make_session(struct made *made)
{
    struct gr_control *control = made->control = make_file(made, "s1.control", sizeof *control);

    control->version = GR_SHM_VERSION;
    control->session = 1;
    control->epoch = 3;
    control->state = GR_CONTROL_SERVING;
    (void)snprintf(control->session_name, sizeof control->session_name, "default");
    control->depth = 1;
    control->account[GR_ACCOUNT_CAPACITY] = (uint64_t)64 << 20;
    control->account[GR_ACCOUNT_WRITING] = MADE_SEGMENT_BYTES;
    control->account[GR_ACCOUNT_FREE] = ((uint64_t)64 << 20) - MADE_SEGMENT_BYTES;
    control->account[GR_ACCOUNT_CLIENTS] = 1;
    control->magic = GR_CONTROL_MAGIC;

    made->index = make_file(made, "s1.index", INDEX_BYTES);
    for (uint32_t i = 0; i < 2; i++) {
        made_directory(made)[i] = (uint64_t)1 << 32 | i;
        made_page(made, i)->prefix = i;
        made_page(made, i)->word = (uint64_t)1 << 32 | 1 << 8 | GR_PAGE_LIVE;
    }

    made->ledger = make_file(made, "s1.ledger", LEDGER_BYTES);
    made->ledger->version = GR_SHM_VERSION;
    made->ledger->session = 1;
    made->ledger->records = MADE_LEDGER;
    made->ledger->magic = GR_LEDGER_MAGIC;

    made->lease = make_file(made, "s1.lease7", sizeof *made->lease);
    made->lease->version = GR_SHM_VERSION;
    made->lease->client = MADE_CLIENT;
    made->lease->pid = 777;
    (void)snprintf(made->lease->tag, sizeof made->lease->tag, "worker");
    made->lease->magic = GR_LEASE_MAGIC;
    (void)munmap(make_file(made, "s1.data5", MADE_SEGMENT_BYTES), MADE_SEGMENT_BYTES);
}

void
made_init(struct made *made)
{
    *made = (struct made){.next_serial = 1};
    /* Where an instance's files are; a disk would be slow for so many that live so short. */
    (void)snprintf(made->dir, sizeof made->dir, "/dev/shm/granary-made-XXXXXX");
    if (mkdtemp(made->dir) == NULL) {
        abort();
    }
    make_root(made);
    make_session(made);
    made->events = make_file(made, "events", EVENTS_BYTES);
    made->events->version = GR_SHM_VERSION;
    made->events->entries = MADE_EVENTS;
    made->events->magic = GR_EVENTS_MAGIC;
}

void
made_fini(struct made *made)
{
    (void)munmap(made->root, sizeof *made->root);
    (void)munmap(made->control, sizeof *made->control);
    (void)munmap(made->index, INDEX_BYTES);
    (void)munmap(made->ledger, LEDGER_BYTES);
    (void)munmap(made->lease, sizeof *made->lease);
    if (made->tables != NULL) {
        (void)munmap(made->tables, TABLES_BYTES);
    }
    (void)munmap(made->events, EVENTS_BYTES);
    gr_remove_tree(made->dir);
}

granary_id
made_id(uint64_t n)
{
    return gr_id_from_words(n * 0x9e3779b97f4a7c15ull, n + 1);
}

struct gr_page_record *
made_page(struct made *made, uint32_t page)
{
    return (struct gr_page_record *)(void *)(made->index + GR_INDEX_RECORDS_AT) + page;
}

uint64_t *
made_directory(struct made *made)
{
    return (uint64_t *)(void *)(made->index + GR_INDEX_DIRECTORY_AT);
}

struct gr_slot *
made_slot(struct made *made, granary_id id)
{
    uint64_t words[2];
    uint64_t hash;
    uint32_t page;

    gr_id_words(id, words);
    hash = gr_slot_hash(words[0], words[1]);
    page = (uint32_t)made_directory(made)[gr_index_prefix(hash) & 1];
    for (uint32_t at = gr_page_home(hash);; at++) {
        struct gr_slot *slot =
            (struct gr_slot *)(void *)(made->index + GR_INDEX_PAGES_AT + page * GR_PAGE_BYTES) + at % GR_PAGE_SLOTS;

        if (slot->word == 0) {
            slot->id[0] = words[0];
            slot->id[1] = words[1];
            return slot;
        }
    }
}

struct gr_slot *
made_object(struct made *made, uint64_t n, uint64_t data_size, uint32_t meta_size)
{
    uint64_t footprint = GR_FOOTPRINT(data_size, (uint64_t)meta_size);
    struct gr_slot *slot = made_slot(made, made_id(n));

    slot->offset = made->next_offset;
    slot->data_size = data_size;
    slot->where_meta = (uint64_t)MADE_SEGMENT << 32 | meta_size;
    slot->stamp = (uint64_t)1700000000000 << 20 | made->next_serial;
    slot->word = GR_WORD(made->next_serial++, GR_SLOT_SEALED);
    made->next_offset += footprint;
    made->root->segments[MADE_SEGMENT].sealed_total += footprint;
    made->control->account[GR_ACCOUNT_SEALED] += footprint;
    made->control->account[GR_ACCOUNT_WRITING] -= footprint;
    made->control->account[GR_ACCOUNT_OBJECTS] += 1;
    return slot;
}

void
made_lease(struct made *made, uint64_t serial, uint32_t count)
{
    _Atomic uint64_t *set = made->lease->hazard[serial % GR_HAZARD_SETS];

    while (*set != 0) {
        set++;
    }
    *set = GR_HAZARD(serial, count);
}

struct gr_ledger_record *
made_record(struct made *made, enum gr_ledger_kind kind, granary_id id, const char *text)
{
    struct gr_ledger_record *record = (struct gr_ledger_record *)(void *)(made->ledger + 1);
    uint64_t token = 1;

    for (; record->word != 0; record++) {
        token++;
    }
    gr_id_words(id, record->id);
    record->since_ms = 1700000000000;
    record->client = MADE_CLIENT;
    record->pid = 777;
    (void)snprintf(record->text, sizeof record->text, "%s", text);
    record->word = token << 8 | kind;
    return record;
}

void
made_event(struct made *made, enum gr_event_kind kind, granary_id id, uint64_t a, uint64_t b)
{
    uint32_t number = made->events_made++;
    struct gr_event *event = &made->events->ring[number % MADE_EVENTS];
    uint64_t words[2];

    gr_id_words(id, words);
    event->time_ns = 1700000000000000000ull + number;
    event->id[0] = words[0];
    event->id[1] = words[1];
    event->a = a;
    event->b = b;
    event->kind_session = (uint64_t)kind << 32 | 1;
    event->client = MADE_CLIENT;
    event->sequence = number + 1;
    made->events->next = made->events_made;
}

void
made_table(struct made *made, granary_id id)
{
    struct gr_mutable *page;
    char text[GRANARY_ID_TEXT + 1], owner[GRANARY_TEXT_MAX + 1];
    uint64_t words[2];

    made->tables = make_file(made, "s1.mutables", TABLES_BYTES);
    made->tables->version = GR_SHM_VERSION;
    made->tables->session = 1;
    made->tables->magic = GR_MUTABLES_MAGIC;
    page = (struct gr_mutable *)(void *)(made->tables + 1);
    gr_id_words(id, words);
    granary_id_format(id, text);
    (void)snprintf(owner, sizeof owner, "table:%s", text);
    page->id[0] = words[0];
    page->id[1] = words[1];
    page->sealed = INT64_MIN;
    page->lanes = 2;
    page->lane[0].word = GR_LANE(3, GR_LANE_IDLE);
    page->lane[0].blocks = 2;
    page->lane[0].chunks = 2;
    (void)made_record(made, GR_LEDGER_REFERENCE, made_id(5), owner);
}
