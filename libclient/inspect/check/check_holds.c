/* The ledger and the lease pages: who holds what, and that it is there. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "inspect/check/check.h"

static const char *
kind_name(unsigned kind)
{
    static const char *const names[] = {
        [GR_LEDGER_FREE] = "free",          [GR_LEDGER_PIN] = "pin",   [GR_LEDGER_REFERENCE] = "reference",
        [GR_LEDGER_CONTAINS] = "container", [GR_LEDGER_NAME] = "name", [GR_LEDGER_LEASE] = "lease",
        [GR_LEDGER_PENDING] = "container"};

    return kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

/* Whether a record goes when its client does. */
static bool
ends_with_client(const struct ledger_copy *record)
{
    unsigned kind = LEDGER_KIND(record->word);

    return record->client != 0 &&
           (kind == GR_LEDGER_LEASE || kind == GR_LEDGER_PENDING ||
            ((kind == GR_LEDGER_PIN || kind == GR_LEDGER_REFERENCE) && record->scope == GRANARY_PIN_CLIENT));
}

static void
check_record(struct check *check, uint32_t session, const struct ledger_copy *record, const struct ledger_copy *before)
{
    uint64_t token = LEDGER_TOKEN(record->word);
    unsigned kind = LEDGER_KIND(record->word);
    char id[GRANARY_ID_TEXT + 1];
    char other[GRANARY_ID_TEXT + 1];
    size_t count;

    (void)check_id(record->id, id);
    if (kind > GR_LEDGER_PENDING) {
        check_found(check, GRANARY_FINDING_DAMAGE, "hold-kind", session, record->id, token,
                    "object %s: s%u.ledger, token %llu: kind %u does not exist", id, session, (unsigned long long)token,
                    kind);
        return;
    }
    if (token == 0 || token >= check->limits.token || (before != NULL && LEDGER_TOKEN(before->word) == token)) {
        check_found(check, GRANARY_FINDING_DAMAGE, "hold-token", session, record->id, token,
                    "object %s: s%u.ledger: token %llu %s", id, session, (unsigned long long)token,
                    before != NULL && LEDGER_TOKEN(before->word) == token ? "is there twice" : "was not given yet");
    }
    if (check_find(check, session, record->id, &count) == NULL) {
        check_found(check, check_torn(check), "hold-orphan", session, record->id, token,
                    "object %s: s%u.ledger, token %llu: a %s of an object that does not exist", id, session,
                    (unsigned long long)token, kind_name(kind));
    }
    if (kind == GR_LEDGER_CONTAINS && check_find(check, session, record->other, &count) == NULL) {
        check_found(check, check_torn(check), "hold-orphan", session, record->id, token,
                    "object %s: s%u.ledger, token %llu: it is contained in object %s, which does not exist", id,
                    session, (unsigned long long)token, check_id(record->other, other));
    }
    if (ends_with_client(record) && check_client(check, record->client) == NULL && check->info.epoch > 0) {
        check_found(check, check_torn(check), "hold-client", session, record->id, token,
                    "object %s: s%u.ledger, token %llu: a %s of client %u, which does not exist", id, session,
                    (unsigned long long)token, kind_name(kind), record->client);
    }
}

static int
by_id(const void *left, const void *right)
{
    const struct ledger_copy *a = left;
    const struct ledger_copy *b = right;

    return memcmp(a->id, b->id, sizeof a->id);
}

/* Pins in the ledger are pins in the slots. records: sorted by id. */
static void
check_pins(struct check *check, uint32_t session, const struct ledger_copy *records, size_t count)
{
    size_t at = 0;

    for (size_t i = 0; i < check->object_count; i++) {
        const struct slot_copy *slot = &check->objects[i].slot;
        enum gr_slot_state state = GR_WORD_STATE(slot->word);
        char id[GRANARY_ID_TEXT + 1];
        unsigned pins = 0;

        if (check->objects[i].session != session || state == GR_SLOT_DELETING || state == GR_SLOT_ALIAS) {
            continue;
        }
        for (; at < count && memcmp(records[at].id, slot->id, sizeof slot->id) < 0; at++) {
        }
        for (size_t r = at; r < count && memcmp(records[r].id, slot->id, sizeof slot->id) == 0; r++) {
            pins += LEDGER_KIND(records[r].word) == GR_LEDGER_PIN;
        }
        if (pins != GR_FLAGS_PINS(slot->flags)) {
            check_found(check, check_torn(check), "pin-count", session, slot->id, 0,
                        "object %s: the index says %u pins, the ledger has %u", check_id(slot->id, id),
                        GR_FLAGS_PINS(slot->flags), pins);
        }
    }
}

/* ---- hazards ---- */

static int
by_serial(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* A client may write anything into its page, so what is odd there is a note at most. serials: sorted. */
static void
check_page(struct check *check, uint32_t session, const struct client_copy *client, struct lease_page_copy *page,
           const uint64_t *serials, size_t count)
{
    granary_err err = lease_page_read(check->inspector, session, client->number, page);

    if (err != GRANARY_OK) {
        if (err != GRANARY_ENOENT) { /* a missing one is reported with the root */
            check_found(check, GRANARY_FINDING_NOTE, "lease-page", session, NULL, client->number, "%s",
                        granary_error_message());
        }
        return;
    }
    if (page->client != client->number || page->pid != client->pid) {
        check_found(check, GRANARY_FINDING_NOTE, "lease-page", session, NULL, client->number,
                    "s%u.lease%u: it says client %u of pid %u, the root says pid %u", session, client->number,
                    page->client, page->pid, client->pid);
    }
    for (size_t i = 0; i < page->hazard_count; i++) {
        uint64_t serial = page->hazards[i].serial;

        check->summary.leases += page->hazards[i].count;
        if (count == 0 || bsearch(&serial, serials, count, sizeof *serials, by_serial) == NULL) {
            check_found(check, GRANARY_FINDING_NOTE, "hazard-unknown", session, NULL, serial,
                        "s%u.lease%u: client %u (pid %u) holds serial %llu, which no object in memory has", session,
                        client->number, client->number, client->pid, (unsigned long long)serial);
        }
    }
}

static void
check_hazards(struct check *check, uint32_t session)
{
    struct lease_page_copy *page = malloc(sizeof *page);
    uint64_t *serials = malloc((check->object_count + 1) * sizeof *serials);
    size_t count = 0;

    if (page == NULL || serials == NULL) {
        check->err = gr_fail(GRANARY_ENOMEM, "no memory to check leases");
    } else {
        for (size_t i = 0; i < check->object_count; i++) {
            if (check->objects[i].session == session && check_in_memory(&check->objects[i].slot)) {
                serials[count++] = GR_WORD_SERIAL(check->objects[i].slot.word);
            }
        }
        qsort(serials, count, sizeof *serials, by_serial);
        for (size_t i = 0; i < check->client_count; i++) {
            if (check->clients[i].session == session) {
                check_page(check, session, &check->clients[i], page, serials, count);
            }
        }
    }
    free(serials);
    free(page);
}

void
check_holds(struct check *check, uint32_t session)
{
    struct ledger_copy *records = NULL;
    size_t count = 0;
    granary_err err = ledger_read(check->inspector, session, &records, &count);

    if (err == GRANARY_ENOMEM) {
        check->err = err;
        return;
    }
    if (err != GRANARY_OK) {
        check_found(check, GRANARY_FINDING_DAMAGE, "ledger", session, NULL, 0, "%s", granary_error_message());
    } else {
        check->summary.holds += count;
        for (size_t i = 0; i < count; i++) {
            check_record(check, session, &records[i], i == 0 ? NULL : &records[i - 1]);
        }
        if (count > 0) {
            qsort(records, count, sizeof *records, by_id);
        }
        check_pins(check, session, records, count);
    }
    free(records);
    check_hazards(check, session);
}
