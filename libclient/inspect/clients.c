/* Clients, and what their lease pages say they lease. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "base/sized.h"
#include "inspect/inspector.h"

/* ---- lease pages ---- */

granary_err
lease_page_read(const struct granary_inspector *inspector, uint32_t session, uint32_t client,
                struct lease_page_copy *ret_page)
{
    struct file file = FILE_NONE;
    struct gr_lease_page *page;
    char name[96];
    granary_err err;

    file_name(name, session, "lease", client);
    page = aligned_alloc(64, sizeof *page);
    err = page == NULL ? gr_fail(GRANARY_ENOMEM, "%s: no memory for a copy", name) : file_open(inspector, name, &file);
    if (err == GRANARY_OK) {
        err = file_read(&file, 0, page, sizeof *page);
    }
    if (err == GRANARY_OK && page->magic != GR_LEASE_MAGIC) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: its first bytes are not a lease page's", name);
    }
    file_close(&file);
    if (err != GRANARY_OK) {
        free(page);
        return err;
    }
    ret_page->client = page->client;
    ret_page->pid = page->pid;
    ret_page->leaving = page->leaving != 0;
    ret_page->start_time = page->start_time;
    copy_text(ret_page->tag, sizeof ret_page->tag, page->tag, sizeof page->tag);
    ret_page->ring_head = page->ring_head;
    ret_page->ring_tail = page->ring_tail;
    ret_page->waiting = page->waiting;
    ret_page->wait_kind = page->wait_kind;
    ret_page->wait_id = gr_id_from_words(page->wait_id[0], page->wait_id[1]);
    ret_page->wait_bytes = page->wait_bytes;
    ret_page->wait_since_ms = page->wait_since_ms;
    ret_page->hazard_count = 0;
    for (size_t i = 0; i < GR_HAZARD_SETS * GR_HAZARD_WAYS; i++) {
        uint64_t hazard = page->hazard[i / GR_HAZARD_WAYS][i % GR_HAZARD_WAYS];

        if (GR_HAZARD_COUNT(hazard) > 0 && GR_HAZARD_SERIAL(hazard) > 0) {
            ret_page->hazards[ret_page->hazard_count++] =
                (struct hazard_copy){.serial = GR_HAZARD_SERIAL(hazard), .count = (uint32_t)GR_HAZARD_COUNT(hazard)};
        }
    }
    free(page);
    return GRANARY_OK;
}

/* ---- clients ---- */

static int
by_number(const void *left, const void *right)
{
    const granary_client_info *a = left;
    const granary_client_info *b = right;

    return a->number < b->number ? -1 : a->number > b->number;
}

static void
add_page(const struct lease_page_copy *page, granary_client_info *info)
{
    info->page = true;
    info->leaving = page->leaving;
    info->leased_objects += page->hazard_count;
    for (size_t i = 0; i < page->hazard_count; i++) {
        info->leases += page->hazards[i].count;
    }
    info->ring_pending = page->ring_head - page->ring_tail;
    info->ring_pending = info->ring_pending > GR_RING_ENTRIES ? 0 : info->ring_pending; /* nonsense */
    info->waiting = page->waiting;
}

/* Leases the store keeps for clients whose page was full. */
static void
add_counted(const granary_inspector *inspector, granary_client_info *infos, size_t count)
{
    uint32_t *sessions;
    size_t session_count;

    if (sessions_list(inspector, &sessions, &session_count) != GRANARY_OK) {
        return;
    }
    for (size_t s = 0; s < session_count; s++) {
        struct ledger_copy *records;
        size_t record_count;

        if (ledger_read(inspector, sessions[s], &records, &record_count) != GRANARY_OK) {
            continue;
        }
        for (size_t i = 0; i < record_count; i++) {
            granary_client_info key = {.number = records[i].client};
            granary_client_info *info = bsearch(&key, infos, count, sizeof key, by_number);

            if (info != NULL && LEDGER_KIND(records[i].word) == GR_LEDGER_LEASE) {
                info->leased_objects++;
                info->leases++;
            }
        }
        free(records);
    }
    free(sessions);
}

granary_err
granary_inspect_clients_sized(granary_inspector *inspector, granary_client_info **ret_infos, size_t *ret_count,
                              size_t info_size)
{
    struct lease_page_copy *page = malloc(sizeof *page);
    granary_client_info *infos = NULL;
    struct client_copy *clients = NULL;
    size_t count = 0;
    granary_err err = root_clients(inspector, &clients, &count);

    if (err == GRANARY_OK) {
        infos = calloc(count + 1, sizeof *infos);
    }
    if (err == GRANARY_OK && (page == NULL || infos == NULL)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to list clients");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        bool stopped;

        infos[i] = (granary_client_info){.number = clients[i].number,
                                         .session = clients[i].session,
                                         .pid = clients[i].pid,
                                         .uid = clients[i].uid,
                                         .since_ms = clients[i].since_ms};
        memcpy(infos[i].tag, clients[i].tag, sizeof infos[i].tag);
        infos[i].alive = !inspector->copy && process_alive(clients[i].pid, clients[i].start_time, &stopped);
        if (lease_page_read(inspector, clients[i].session, clients[i].number, page) == GRANARY_OK) {
            add_page(page, &infos[i]);
        }
    }
    if (err == GRANARY_OK && count > 0) {
        qsort(infos, count, sizeof *infos, by_number);
        add_counted(inspector, infos, count);
    }
    free(page);
    free(clients);
    return gr_sized_give_list(err, infos, sizeof *infos, count, ret_infos, info_size, ret_count);
}

/* ---- leases ---- */

struct leases {
    granary_lease_info *infos;
    size_t count;
    size_t room;
};

static granary_err
leases_add(struct leases *leases, const struct client_copy *client, uint64_t serial, uint32_t count, bool counted)
{
    granary_lease_info *info;

    if (!gr_grow(&leases->infos, &leases->room, leases->count, sizeof *leases->infos)) {
        return gr_fail(GRANARY_ENOMEM, "no memory for %zu leases", leases->count);
    }
    info = &leases->infos[leases->count++];
    *info = (granary_lease_info){.serial = serial,
                                 .session = client->session,
                                 .client = client->number,
                                 .pid = client->pid,
                                 .count = count,
                                 .counted = counted};
    memcpy(info->tag, client->tag, sizeof info->tag);
    return GRANARY_OK;
}

static int
by_serial(const void *left, const void *right)
{
    const granary_lease_info *a = left;
    const granary_lease_info *b = right;

    if (a->session != b->session) {
        return a->session < b->session ? -1 : 1;
    }
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

static int
by_client(const void *left, const void *right)
{
    const granary_lease_info *a = left;
    const granary_lease_info *b = right;

    if (a->client != b->client) {
        return a->client < b->client ? -1 : 1;
    }
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

struct naming {
    struct leases *leases; /* in order of sessions and serials */
    uint32_t session;
};

/* Give the leases of a slot's serial its id. */
static granary_err
name_slot(void *context, const struct slot_copy *slot)
{
    struct naming *naming = context;
    granary_lease_info key = {.session = naming->session, .serial = GR_WORD_SERIAL(slot->word)};
    size_t low = 0;
    size_t high = naming->leases->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_serial(&naming->leases->infos[middle], &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < naming->leases->count && by_serial(&naming->leases->infos[low], &key) == 0; low++) {
        naming->leases->infos[low].id = gr_id_from_words(slot->id[0], slot->id[1]);
        naming->leases->infos[low].bytes = slot->data_size + (slot->where_meta & UINT32_MAX);
        naming->leases->infos[low].deleted = GR_WORD_STATE(slot->word) == GR_SLOT_DELETING;
    }
    return GRANARY_OK;
}

/* LEASE records of a session's ledger. */
static granary_err
collect_counted(const granary_inspector *inspector, uint32_t session, const struct client_copy *clients, size_t count,
                struct leases *leases)
{
    struct ledger_copy *records;
    size_t record_count;
    granary_err err = ledger_read(inspector, session, &records, &record_count);

    if (err != GRANARY_OK) {
        return GRANARY_OK; /* a damaged ledger hides its leases, not the others */
    }
    for (size_t i = 0; i < record_count && err == GRANARY_OK; i++) {
        struct client_copy client = {.number = records[i].client, .session = session, .pid = records[i].pid};

        if (LEDGER_KIND(records[i].word) != GR_LEDGER_LEASE) {
            continue;
        }
        for (size_t c = 0; c < count; c++) {
            if (clients[c].number == client.number) {
                client = clients[c];
            }
        }
        err = leases_add(leases, &client, records[i].other[0], 1, true);
    }
    free(records);
    return err;
}

static granary_err
collect(const granary_inspector *inspector, struct leases *leases)
{
    struct lease_page_copy *page = malloc(sizeof *page);
    struct client_copy *clients = NULL;
    uint32_t *sessions = NULL;
    size_t session_count = 0;
    size_t count = 0;
    granary_err err = root_clients(inspector, &clients, &count);

    if (err == GRANARY_OK && page == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to list leases");
    }
    if (err == GRANARY_OK) {
        err = sessions_list(inspector, &sessions, &session_count);
    }
    for (size_t c = 0; c < count && err == GRANARY_OK; c++) {
        if (lease_page_read(inspector, clients[c].session, clients[c].number, page) != GRANARY_OK) {
            continue; /* it just went, or wrote over its head */
        }
        for (size_t i = 0; i < page->hazard_count && err == GRANARY_OK; i++) {
            err = leases_add(leases, &clients[c], page->hazards[i].serial, page->hazards[i].count, false);
        }
    }
    for (size_t s = 0; s < session_count && err == GRANARY_OK; s++) {
        err = collect_counted(inspector, sessions[s], clients, count, leases);
    }
    if (err == GRANARY_OK && leases->count > 0) {
        qsort(leases->infos, leases->count, sizeof *leases->infos, by_serial);
        for (size_t s = 0; s < session_count; s++) {
            struct naming naming = {.leases = leases, .session = sessions[s]};

            (void)index_walk(inspector, sessions[s], name_slot, &naming);
        }
    }
    free(page);
    free(clients);
    free(sessions);
    return err;
}

granary_err
granary_inspect_leases_sized(granary_inspector *inspector, const granary_id *id, granary_lease_info **ret_infos,
                             size_t *ret_count, size_t info_size)
{
    struct leases leases = {.infos = NULL};
    size_t kept = 0;
    granary_err err = collect(inspector, &leases);

    for (size_t i = 0; i < leases.count && err == GRANARY_OK; i++) {
        if (id == NULL || gr_id_equal(leases.infos[i].id, *id)) {
            leases.infos[kept++] = leases.infos[i];
        }
    }
    if (kept > 0) {
        qsort(leases.infos, kept, sizeof *leases.infos, by_client);
    }
    return gr_sized_give_list(err, leases.infos, sizeof *leases.infos, kept, ret_infos, info_size, ret_count);
}
