/* Ledgers: records in shared memory are the truth; lists and trees beside them are rebuilt when adopted. */
#include "store/ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/barrier.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "contract/versions.h"
#include "store/base/shmfile.h"

#define WORD(token, kind) ((uint64_t)(token) << 8 | (uint64_t)(kind))

/* Address space for all records there can be, so that a record never moves. */
#define SPAN (((uint64_t)LEDGER_MOST + 1) * sizeof(struct gr_ledger_record))

/* What ledger.ids knows of an id, in an entry's two numbers. */
struct about {
    uint32_t first;
    uint32_t keepers;
    uint32_t creator;
};

static struct about
about_of(const struct map_entry *entry)
{
    return entry == NULL ? (struct about){0, 0, 0}
                         : (struct about){(uint32_t)entry->value.numbers[0], (uint32_t)entry->value.numbers[1],
                                          (uint32_t)(entry->value.numbers[1] >> 32)};
}

static void
about_set(struct map_entry *entry, struct about about)
{
    entry->value.numbers[0] = about.first;
    entry->value.numbers[1] = (uint64_t)about.creator << 32 | about.keepers;
}

static struct map_key
key_of_id(const struct gr_ledger_record *record)
{
    return (struct map_key){{record->id[0], record->id[1]}};
}

static struct map_key
key_of_request(uint32_t client, uint64_t request)
{
    return (struct map_key){{client, request}};
}

static struct tree_links *
links_by_token(const void *context, uint32_t node)
{
    const struct ledger *ledger = context;

    return &ledger->notes[node].by_token;
}

static int
compare_tokens(const void *context, const void *key, uint32_t node)
{
    uint64_t left = *(const uint64_t *)key;
    uint64_t right = record_token(ledger_record(context, node));

    return left < right ? -1 : left > right;
}

static const struct tree_kind by_token = {links_by_token, compare_tokens};

static bool
keeps(enum gr_ledger_kind kind, const struct gr_ledger_record *record)
{
    return kind == GR_LEDGER_NAME || kind == GR_LEDGER_CONTAINS || kind == GR_LEDGER_PENDING ||
           (kind == GR_LEDGER_REFERENCE && (record->flags & GR_LEDGER_CREATOR) == 0);
}

static bool
is_creator(enum gr_ledger_kind kind, const struct gr_ledger_record *record)
{
    return kind == GR_LEDGER_REFERENCE && (record->flags & GR_LEDGER_CREATOR) != 0;
}

static bool
ends_with_client(enum gr_ledger_kind kind, const struct gr_ledger_record *record)
{
    return kind == GR_LEDGER_LEASE ||
           ((kind == GR_LEDGER_PIN || kind == GR_LEDGER_REFERENCE) && record->scope == 0 && record->client != 0);
}

/* ---- the file ---- */

/* Notes for records up to `room`, all of them free. */
static bool
notes_expect(struct ledger *ledger, uint32_t room)
{
    uint32_t more = ledger->note_room == 0 ? LEDGER_STEP : ledger->note_room;
    struct ledger_note *notes;

    while (more <= room) {
        more *= 2;
    }
    if (more == ledger->note_room) {
        return true;
    }
    notes = realloc(ledger->notes, more * sizeof *notes);
    if (notes == NULL) {
        return false;
    }
    ledger->notes = notes;
    ledger->note_room = more;
    return true;
}

/* Records room + 1 .. more have memory now. The lowest is used first, so that a file is dense. */
static void
add_free(struct ledger *ledger, uint32_t more)
{
    for (uint32_t number = more; number > ledger->room; number--) {
        ledger->notes[number].id_next = ledger->free;
        ledger->free = number;
    }
    ledger->room = more;
}

static granary_err
grow(struct ledger *ledger)
{
    uint32_t room = ledger->room == 0 ? LEDGER_STEP - 1 : ledger->room + LEDGER_STEP;
    uint64_t bytes = ledger_bytes(ledger);

    if (room > LEDGER_MOST) {
        return gr_fail(GRANARY_EFULL, "a session's ledger holds at most %u records", LEDGER_MOST);
    }
    if (ledger->kept_small) {
        return gr_fail(GRANARY_EFULL,
                       "a session's ledger: its user's sessions have their share of memory for ledgers and "
                       "indexes: take names, pins and references back, or delete a session");
    }
    if (!notes_expect(ledger, room)) {
        return gr_fail(GRANARY_ENOMEM, "no memory for more records in a session's ledger");
    }
    /* Pages before use: touching a record is never a SIGBUS. */
    if (FAULT_FAILS(ledger_grow) ||
        gr_fd_allocate(ledger->fd, bytes, LEDGER_STEP * sizeof(struct gr_ledger_record)) < 0) {
        return gr_fail_errno("a session's ledger, %llu bytes of shared memory", (unsigned long long)bytes);
    }
    FAULT_STEP(ledger_pages);
    add_free(ledger, room);
    atomic_store_explicit(&ledger->file->records, room, memory_order_release);
    FAULT_STEP(ledger_grown);
    return GRANARY_OK;
}

static granary_err
map_file(struct ledger *ledger)
{
    void *bytes = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, ledger->fd, 0);

    if (bytes == MAP_FAILED) {
        return gr_fail_errno("shared memory %s: map", ledger->name);
    }
    (void)madvise(bytes, SPAN, MADV_DONTFORK);
    ledger->file = bytes;
    ledger->records = (struct gr_ledger_record *)(void *)((char *)bytes + sizeof *ledger->file);
    return GRANARY_OK;
}

static void
init(struct ledger *ledger, const char *prefix, uint32_t session, _Atomic uint64_t *next_token)
{
    *ledger = (struct ledger){.next_token = next_token, .fd = -1, .tokens = {&by_token, ledger, 0}};
    shmfile_name(ledger->name, prefix, session, "ledger", SHMFILE_NO_NUMBER);
}

/* Let go of everything but the file. */
static void
forget(struct ledger *ledger)
{
    if (ledger->file != NULL) {
        (void)munmap(ledger->file, SPAN);
    }
    gr_fd_close(&ledger->fd);
    free(ledger->notes);
    map_free(&ledger->ids);
    map_free(&ledger->clients);
    map_free(&ledger->requests);
    *ledger = (struct ledger){.fd = -1};
}

granary_err
ledger_create(struct ledger *ledger, const char *prefix, uint32_t session, uint32_t version,
              _Atomic uint64_t *next_token)
{
    granary_err err;

    init(ledger, prefix, session, next_token);
    err = shmfile_create(ledger->name, 0, &ledger->fd);
    if (err != GRANARY_OK) {
        forget(ledger);
        return err;
    }
    if ((err = map_file(ledger)) != GRANARY_OK || (err = grow(ledger)) != GRANARY_OK) {
        ledger_fini(ledger);
        return err;
    }
    ledger->file->version = version;
    ledger->file->session = session;
    atomic_store_explicit(&ledger->file->magic, GR_LEDGER_MAGIC, memory_order_release);
    return GRANARY_OK;
}

void
ledger_close(struct ledger *ledger)
{
    forget(ledger);
}

void
ledger_fini(struct ledger *ledger)
{
    if (ledger->name[0] != '\0') {
        (void)shm_unlink(ledger->name);
    }
    forget(ledger);
}

uint64_t
ledger_bytes(const struct ledger *ledger)
{
    return ledger->room == 0 ? 0 : ((uint64_t)ledger->room + 1) * sizeof(struct gr_ledger_record);
}

/* ---- lists ---- */

static void
join_id(struct ledger *ledger, struct map_entry *entry, uint32_t number)
{
    struct gr_ledger_record *record = ledger_record(ledger, number);
    struct ledger_note *note = ledger_note(ledger, number);
    struct about about = about_of(entry);

    note->id_prev = 0;
    note->id_next = about.first;
    if (about.first != 0) {
        ledger_note(ledger, about.first)->id_prev = number;
    }
    about.first = number;
    about.keepers += keeps(record_kind(record), record);
    if (is_creator(record_kind(record), record)) {
        about.creator = number;
    }
    about_set(entry, about);
}

static void
leave_id(struct ledger *ledger, uint32_t number, enum gr_ledger_kind kind)
{
    const struct gr_ledger_record *record = ledger_record(ledger, number);
    const struct ledger_note *note = ledger_note(ledger, number);
    struct map_entry *entry = map_find(&ledger->ids, key_of_id(record));
    struct about about = about_of(entry);

    if (note->id_prev != 0) {
        ledger_note(ledger, note->id_prev)->id_next = note->id_next;
    } else {
        about.first = note->id_next;
    }
    if (note->id_next != 0) {
        ledger_note(ledger, note->id_next)->id_prev = note->id_prev;
    }
    about.keepers -= keeps(kind, record);
    if (about.creator == number) {
        about.creator = 0;
    }
    if (about.first == 0) {
        map_remove(&ledger->ids, entry);
    } else {
        about_set(entry, about);
    }
}

/* What ledger.clients knows of a client, in an entry's two numbers. */
struct belongings {
    uint32_t first, last;
    uint32_t leases;
};

static struct belongings
belongings_of(const struct map_entry *entry)
{
    return entry == NULL ? (struct belongings){0, 0, 0}
                         : (struct belongings){(uint32_t)entry->value.numbers[0], (uint32_t)entry->value.numbers[1],
                                               (uint32_t)(entry->value.numbers[1] >> 32)};
}

static void
belongings_set(struct map_entry *entry, struct belongings all)
{
    entry->value.numbers[0] = all.first;
    entry->value.numbers[1] = (uint64_t)all.leases << 32 | all.last;
}

static void
join_client(struct ledger *ledger, struct map_entry *entry, uint32_t number)
{
    struct ledger_note *note = ledger_note(ledger, number);
    struct belongings all = belongings_of(entry);

    note->client_prev = 0;
    note->client_next = all.first;
    if (all.first != 0) {
        ledger_note(ledger, all.first)->client_prev = number;
    } else {
        all.last = number;
    }
    all.first = number;
    all.leases += record_kind(ledger_record(ledger, number)) == GR_LEDGER_LEASE;
    belongings_set(entry, all);
}

static void
leave_client(struct ledger *ledger, uint32_t number, enum gr_ledger_kind kind)
{
    const struct ledger_note *note = ledger_note(ledger, number);
    struct map_entry *entry = map_find(&ledger->clients, map_key_number(ledger_record(ledger, number)->client));
    struct belongings all = belongings_of(entry);

    if (note->client_next != 0) {
        ledger_note(ledger, note->client_next)->client_prev = note->client_prev;
    } else {
        all.last = note->client_prev;
    }
    if (note->client_prev != 0) {
        ledger_note(ledger, note->client_prev)->client_next = note->client_next;
    } else {
        all.first = note->client_next;
    }
    all.leases -= kind == GR_LEDGER_LEASE;
    if (entry == NULL) { /* it has departed */
        ledger->departed = note->client_prev == 0 ? note->client_next : ledger->departed;
    } else if (all.first == 0) {
        map_remove(&ledger->clients, entry);
    } else {
        belongings_set(entry, all);
    }
}

uint32_t
ledger_leases(const struct ledger *ledger, uint32_t client)
{
    return belongings_of(map_find(&ledger->clients, map_key_number(client))).leases;
}

void
ledger_depart(struct ledger *ledger, uint32_t client)
{
    struct map_entry *entry = map_find(&ledger->clients, map_key_number(client));
    struct belongings all = belongings_of(entry);

    if (entry == NULL) {
        return;
    }
    ledger_note(ledger, all.last)->client_next = ledger->departed;
    if (ledger->departed != 0) {
        ledger_note(ledger, ledger->departed)->client_prev = all.last;
    }
    ledger->departed = all.first;
    map_remove(&ledger->clients, entry);
}

/* Entries in every map a record needs; made before anything else, for only this can fail. */
struct places {
    struct map_entry *id, *client, *request;
};

static bool
places_expect(struct ledger *ledger, enum gr_ledger_kind kind, const struct gr_ledger_record *fields,
              struct places *ret_places)
{
    struct places places = {0};
    bool of_client = ends_with_client(kind, fields);

    places.id = map_add(&ledger->ids, key_of_id(fields));
    places.client = of_client ? map_add(&ledger->clients, map_key_number(fields->client)) : NULL;
    places.request =
        fields->request != 0 ? map_add(&ledger->requests, key_of_request(fields->client, fields->request)) : NULL;
    if (places.id != NULL && (places.client != NULL || !of_client) &&
        (places.request != NULL || fields->request == 0)) {
        *ret_places = places;
        return true;
    }
    if (places.id != NULL && about_of(places.id).first == 0) {
        map_remove(&ledger->ids, places.id);
    }
    if (places.client != NULL && places.client->value.numbers[0] == 0) {
        map_remove(&ledger->clients, places.client);
    }
    if (places.request != NULL) {
        map_remove(&ledger->requests, places.request);
    }
    return false;
}

static void
join(struct ledger *ledger, const struct places *places, uint32_t number)
{
    uint64_t token = record_token(ledger_record(ledger, number));

    join_id(ledger, places->id, number);
    if (places->client != NULL) {
        join_client(ledger, places->client, number);
    }
    if (places->request != NULL) {
        places->request->value.numbers[0] = number;
    }
    tree_insert(&ledger->tokens, &token, number);
    ledger->count++;
}

/* ---- records ---- */

static uint64_t
token_next(const struct ledger *ledger)
{
    uint64_t token = atomic_load_explicit(ledger->next_token, memory_order_relaxed);

    atomic_store_explicit(ledger->next_token, token + 1, memory_order_release);
    return token;
}

granary_err
ledger_add(struct ledger *ledger, enum gr_ledger_kind kind, const struct gr_ledger_record *fields, uint32_t *ret_number)
{
    struct gr_ledger_record *record;
    struct places places;
    granary_err err;
    uint32_t number;

    if (ledger->free == 0 && (err = grow(ledger)) != GRANARY_OK) {
        return err;
    }
    if (!places_expect(ledger, kind, fields, &places)) {
        return gr_fail(GRANARY_ENOMEM, "no memory for one more record in a session's ledger");
    }
    number = ledger->free;
    ledger->free = ledger_note(ledger, number)->id_next;
    record = ledger_record(ledger, number);
    /* The word is 0: nobody believes what is written before it is not. */
    barrier_release();
    memcpy(record->id, fields->id, sizeof record->id);
    memcpy(record->other, fields->other, sizeof record->other);
    memcpy(record->text, fields->text, sizeof record->text);
    record->since_ms = (uint64_t)gr_wall_ms();
    record->client = fields->client;
    record->scope = fields->scope;
    record->flags = fields->flags;
    record->pid = fields->pid;
    record->request = fields->request;
    FAULT_STEP(ledger_fields);
    atomic_store_explicit(&record->word, WORD(token_next(ledger), kind), memory_order_release);
    FAULT_STEP(ledger_added);
    join(ledger, &places, number);
    *ret_number = number;
    return GRANARY_OK;
}

void
ledger_remove(struct ledger *ledger, uint32_t number)
{
    struct gr_ledger_record *record = ledger_record(ledger, number);
    enum gr_ledger_kind kind = record_kind(record);
    uint64_t token = record_token(record);

    tree_remove(&ledger->tokens, &token);
    atomic_store_explicit(&record->word, 0, memory_order_release);
    FAULT_STEP(ledger_removed);
    leave_id(ledger, number, kind);
    if (ends_with_client(kind, record)) {
        leave_client(ledger, number, kind);
    }
    if (record->request != 0) {
        map_remove(&ledger->requests, map_find(&ledger->requests, key_of_request(record->client, record->request)));
    }
    ledger_note(ledger, number)->id_next = ledger->free;
    ledger->free = number;
    ledger->count--;
}

void
ledger_settle(struct ledger *ledger, uint32_t number)
{
    struct gr_ledger_record *record = ledger_record(ledger, number);

    atomic_store_explicit(&record->word, WORD(record_token(record), GR_LEDGER_CONTAINS), memory_order_release);
    FAULT_STEP(ledger_settled);
}

uint32_t
ledger_find_token(const struct ledger *ledger, uint64_t token)
{
    return tree_find(&ledger->tokens, &token);
}

uint32_t
ledger_find_request(const struct ledger *ledger, uint32_t client, uint64_t request)
{
    struct map_entry *entry = map_find(&ledger->requests, key_of_request(client, request));

    return entry == NULL ? 0 : (uint32_t)entry->value.numbers[0];
}

uint32_t
ledger_after(const struct ledger *ledger, uint64_t token)
{
    return tree_after(&ledger->tokens, &token);
}

uint32_t
ledger_first_of(const struct ledger *ledger, granary_id id)
{
    return about_of(map_find(&ledger->ids, map_key_id(id))).first;
}

uint32_t
ledger_keepers(const struct ledger *ledger, granary_id id)
{
    return about_of(map_find(&ledger->ids, map_key_id(id))).keepers;
}

uint32_t
ledger_creator(const struct ledger *ledger, granary_id id)
{
    return about_of(map_find(&ledger->ids, map_key_id(id))).creator;
}

uint32_t
ledger_next(const struct ledger *ledger, uint32_t *position)
{
    while (*position < ledger->room) {
        uint32_t number = ++*position;

        if (record_word(ledger_record(ledger, number)) != 0) {
            return number;
        }
    }
    return 0;
}

/* ---- adoption ---- */

/* Whether a record found in the file can be one. */
static bool
makes_sense(const struct ledger *ledger, const struct gr_ledger_record *record)
{
    enum gr_ledger_kind kind = record_kind(record);

    if (record_token(record) == 0 || kind < GR_LEDGER_PIN || kind > GR_LEDGER_PENDING ||
        (record->id[0] | record->id[1]) == 0 || memchr(record->text, '\0', sizeof record->text) == NULL ||
        ledger_find_token(ledger, record_token(record)) != 0) {
        return false;
    }
    if (record->request != 0 && ledger_find_request(ledger, record->client, record->request) != 0) {
        return false;
    }
    switch (kind) {
    case GR_LEDGER_PIN:
        return record->scope <= 2;
    case GR_LEDGER_REFERENCE:
        return record->scope <= 1 && (!is_creator(kind, record) ||
                                      ledger_creator(ledger, gr_id_from_words(record->id[0], record->id[1])) == 0);
    case GR_LEDGER_NAME:
        return record->text[0] != '\0';
    case GR_LEDGER_LEASE:
        return record->other[0] != 0 && record->client != 0;
    default:
        return (record->other[0] | record->other[1]) != 0;
    }
}

/* Find what is in the file again. */
static granary_err
adopt_records(struct ledger *ledger, uint32_t room, uint32_t *ret_dropped)
{
    if (!notes_expect(ledger, room)) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the %u records of a session's ledger", room);
    }
    ledger->room = room;
    for (uint32_t number = room; number > 0; number--) {
        struct gr_ledger_record *record = ledger_record(ledger, number);
        uint64_t token = record_token(record);
        struct places places;

        if (record_word(record) != 0 && makes_sense(ledger, record)) {
            if (!places_expect(ledger, record_kind(record), record, &places)) {
                return gr_fail(GRANARY_ENOMEM, "no memory for the %u records of a session's ledger", room);
            }
            join(ledger, &places, number);
            if (token >= atomic_load_explicit(ledger->next_token, memory_order_relaxed)) {
                atomic_store_explicit(ledger->next_token, token + 1, memory_order_relaxed);
            }
            continue;
        }
        if (record_word(record) != 0) {
            atomic_store_explicit(&record->word, 0, memory_order_release);
            ++*ret_dropped;
        }
        ledger_note(ledger, number)->id_next = ledger->free;
        ledger->free = number;
    }
    return GRANARY_OK;
}

/*
 * How many records the file has room for, whatever its header says. Errors: ECORRUPT it is no ledger of that session ·
 * EIO · ... it cannot be told
 */
static granary_err
check_file(const struct ledger *ledger, uint32_t session, uint32_t *ret_room)
{
    const struct gr_ledger *file = ledger->file;
    struct stat stat;
    uint64_t room, fits;

    if (fstat(ledger->fd, &stat) < 0) {
        return gr_fail_errno("shared memory %s", ledger->name);
    }
    if ((uint64_t)stat.st_size < 2 * sizeof(struct gr_ledger_record) || (uint64_t)stat.st_size > SPAN ||
        atomic_load_explicit(&file->magic, memory_order_acquire) != GR_LEDGER_MAGIC || !gr_shm_known(file->version) ||
        file->session != session || (room = atomic_load_explicit(&file->records, memory_order_relaxed)) == 0) {
        return gr_fail(GRANARY_ECORRUPT, "shared memory %s: is no ledger of session %u", ledger->name, session);
    }
    fits = (uint64_t)stat.st_size / sizeof(struct gr_ledger_record) - 1;
    *ret_room = (uint32_t)(room < fits ? room : fits);
    return GRANARY_OK;
}

granary_err
ledger_adopt(struct ledger *ledger, const char *prefix, uint32_t session, _Atomic uint64_t *next_token,
             uint32_t *ret_dropped)
{
    granary_err err;
    uint32_t room = 0;

    *ret_dropped = 0;
    init(ledger, prefix, session, next_token);
    ledger->fd = gr_shm_open(ledger->name, O_RDWR);
    if (ledger->fd < 0) {
        err = gr_fail_errno("shared memory %s", ledger->name);
    } else {
        err = map_file(ledger);
    }
    if (err == GRANARY_OK) {
        err = check_file(ledger, session, &room);
    }
    if (err == GRANARY_OK) {
        err = adopt_records(ledger, room, ret_dropped);
    }
    if (err != GRANARY_OK) {
        forget(ledger);
    }
    return err;
}
