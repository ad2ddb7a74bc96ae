/* Holders, found by one pass over slots, lease pages and the ledger. */
#include "store/flow/holders.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/text/buf.h"
#include "base/text/size.h"
#include "granary/hold.h"
#include "store/flow/reclaim.h"
#include "store/segment/depot.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

#define HOLDERS        3u    /* that an error names of each kind */
#define HOLDERS_LOOKED 32u   /* clients */
#define PINS_LOOKED    1024u /* records of ledgers */

/* Leases of one client, as its lease page says. */
static unsigned
leases_of(const struct client *client)
{
    unsigned leases = 0;

    for (unsigned set = 0; set < GR_HAZARD_SETS; set++) {
        for (unsigned way = 0; way < GR_HAZARD_WAYS; way++) {
            leases += GR_HAZARD_COUNT(atomic_load_explicit(&client->page->hazard[set][way], memory_order_relaxed)) > 0;
        }
    }
    return leases + ledger_leases(&client->session->ledger, client->number);
}

static void
describe_writers(const struct store *store, struct gr_buf *buf)
{
    char size[GR_SIZE_TEXT];
    unsigned named = 0;

    for (const struct list *node = store->segments.open.next; node != &store->segments.open && named < HOLDERS;
         node = node->next) {
        const struct segment *segment = list_owner(node, struct segment, in_order);

        if (segment->writer != NULL && segment->size > segment->sealed_total) {
            gr_buf_addf(buf, "%s%s by %s (pid %d)", named++ == 0 ? ": " : ", ",
                        gr_size_format(segment->size - segment->sealed_total, size), segment->writer->tag,
                        (int)segment->writer->pid);
        }
    }
}

static void
describe_readers(const struct store *store, struct gr_buf *buf)
{
    unsigned looked = 0;
    unsigned named = 0;

    for (const struct list *node = store->clients.all.next;
         node != &store->clients.all && named < HOLDERS && looked < HOLDERS_LOOKED; node = node->next, looked++) {
        const struct client *client = list_owner(node, struct client, in_store);
        unsigned leases = client->session == NULL ? 0 : leases_of(client);

        if (leases > 0) {
            gr_buf_addf(buf, "%s%u objects by %s (pid %d)", named++ == 0 ? "; leased: " : ", ", leases, client->tag,
                        (int)client->pid);
        }
    }
    if (named > 0) {
        gr_buf_addf(buf, " (who releases them, or gets fewer at a time, makes room)");
    }
}

/* Pins of one session, by who said the same about why. */
struct pins {
    const struct gr_ledger_record *first;
    uint64_t count;
    uint64_t bytes;
};

static void
add_pins(const struct session *session, uid_t reader, const struct pins *pins, struct gr_buf *buf)
{
    uid_t owner = (uid_t)atomic_load_explicit(&session->control->uid, memory_order_relaxed);
    char size[GR_SIZE_TEXT];

    gr_buf_addf(buf, "%s by %llu pin%s ", gr_size_format(pins->bytes, size), (unsigned long long)pins->count,
                pins->count == 1 ? "" : "s");
    if (owner != reader && reader != geteuid()) {
        gr_buf_addf(buf, "of uid %u", (unsigned)owner);
        return;
    }
    gr_buf_addf(buf, "in session '%s'", session->name);
    if (pins->first->text[0] != '\0') {
        gr_buf_addf(buf, " for '%.*s'", (int)sizeof pins->first->text, pins->first->text);
    }
    if (pins->first->scope == GRANARY_PIN_CLIENT) {
        gr_buf_addf(buf, " by pid %u", pins->first->pid);
    }
}

/* Of one client, when they end with it. */
static bool
are_alike(const struct gr_ledger_record *pin, const struct gr_ledger_record *other)
{
    return pin->scope == other->scope && (pin->scope != GRANARY_PIN_CLIENT || pin->client == other->client) &&
           strncmp(pin->text, other->text, sizeof pin->text) == 0;
}

/* The session's pins that are like its first one; objects that are pinned but not in memory do not count. */
static struct pins
pins_of(const struct session *session, unsigned *looked)
{
    struct pins pins = {.count = 0};
    uint32_t position = 0;

    for (uint32_t number; *looked < PINS_LOOKED && (number = ledger_next(&session->ledger, &position)) != 0;
         ++*looked) {
        const struct gr_ledger_record *record = ledger_record(&session->ledger, number);
        const struct gr_slot *slot = record_kind(record) != GR_LEDGER_PIN
                                         ? NULL
                                         : index_find(&session->index, gr_id_from_words(record->id[0], record->id[1]));

        if (slot != NULL && slot_state(slot) == GR_SLOT_SEALED &&
            (pins.first == NULL || are_alike(pins.first, record))) {
            pins.first = pins.first == NULL ? record : pins.first;
            pins.count++;
            pins.bytes += slot_footprint(slot) / GR_FLAGS_PINS(slot_flags(slot)); /* each has its part */
        }
    }
    return pins;
}

static void
describe_pins(const struct store *store, uid_t reader, struct gr_buf *buf)
{
    char size[GR_SIZE_TEXT];
    uint64_t told = 0;
    unsigned looked = 0;
    unsigned named = 0;

    for (const struct list *node = store->sessions.all.next;
         store->account.pinned > 0 && node != &store->sessions.all && named < HOLDERS && looked < PINS_LOOKED;
         node = node->next) {
        const struct session *session = list_owner(node, struct session, in_store);
        struct pins pins = pins_of(session, &looked);

        if (pins.count > 0) {
            gr_buf_addf(buf, "%s", named++ == 0 ? "; pinned: " : ", ");
            add_pins(session, reader, &pins, buf);
            told += pins.bytes;
        }
    }
    if (named > 0 && told < store->account.pinned) {
        gr_buf_addf(buf, ", %s by others", gr_size_format(store->account.pinned - told, size));
    }
    if (named > 0) {
        gr_buf_addf(buf, " (`granary pins --session NAME` tells more, `granary unpin` ends them)");
    }
}

void
holders_describe(const struct store *store, uid_t reader, char *text, size_t size)
{
    const uint64_t *bytes = store->account.bytes;
    uint64_t shm = memory_free(store);
    /* Who was spared at first may have been looked at twice. */
    uint64_t blocked = reclaim_blocked_bytes(store) < bytes[GR_ACCOUNT_SEALED] ? reclaim_blocked_bytes(store)
                                                                               : bytes[GR_ACCOUNT_SEALED];
    struct gr_buf buf = {0};
    char text_of[7][GR_SIZE_TEXT];

    gr_buf_addf(&buf,
                "of %s %s are free, %s in objects (%s pinned, %s leased when last tried), %s in deleted objects still "
                "leased, %s in rooms being written",
                gr_size_format(bytes[GR_ACCOUNT_CAPACITY], text_of[0]),
                gr_size_format(bytes[GR_ACCOUNT_FREE] + bytes[GR_ACCOUNT_POOLED], text_of[1]),
                gr_size_format(bytes[GR_ACCOUNT_SEALED], text_of[2]), gr_size_format(store->account.pinned, text_of[3]),
                gr_size_format(blocked, text_of[4]), gr_size_format(bytes[GR_ACCOUNT_RETIRING], text_of[5]),
                gr_size_format(bytes[GR_ACCOUNT_WRITING] + bytes[GR_ACCOUNT_RESERVED], text_of[6]));
    if (store->depots->error[0] != '\0') {
        gr_buf_addf(&buf, "; delete what is not needed (`granary forget NAME`, `granary rm ID`), or give more disk or "
                          "--memory");
    }
    describe_writers(store, &buf);
    describe_pins(store, reader, &buf);
    describe_readers(store, &buf);
    if (shm < bytes[GR_ACCOUNT_FREE]) {
        gr_buf_addf(&buf, "; other files fill /dev/shm, which has room for %s more", gr_size_format(shm, text_of[0]));
    }
    (void)snprintf(text, size, "%s", gr_buf_ok(&buf) ? buf.bytes : "out of memory");
    gr_buf_free(&buf);
}
