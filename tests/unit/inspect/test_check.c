/* Each kind of damage is found, by its name, with the object or file it concerns; what is whole has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/id.h"
#include "made.h"

#define OBJECTS 40

/* An instance that is whole: objects, a pin with its count, a name, a container, an alias, leases. */
static void
make_whole(struct made *made)
{
    struct gr_slot *alias;
    uint64_t words[2];

    made_init(made);
    for (uint64_t n = 0; n < OBJECTS; n++) {
        (void)made_object(made, n, 100 + n, n % 3 == 0 ? 10 : 0);
    }
    made_lease(made, 1, 2);
    made_lease(made, 2, 1);
    made_record(made, GR_LEDGER_PIN, made_id(OBJECTS), "reason")->scope = 1;
    made_object(made, OBJECTS, 5000, 0)->flags = (uint64_t)1 << GR_FLAGS_PINS_SHIFT;
    (void)made_record(made, GR_LEDGER_NAME, made_id(1), "latest");
    gr_id_words(made_id(1), words);
    memcpy(made_record(made, GR_LEDGER_CONTAINS, made_id(2), "")->other, words, sizeof words);
    made_object(made, OBJECTS + 1, 100, 0)->flags = GR_FLAG_SLICE; /* part of an object: it is not counted */
    made->control->account[GR_ACCOUNT_OBJECTS]--;
    alias = made_slot(made, made_id(100));
    alias->offset = words[0];
    alias->data_size = words[1];
    alias->word = GR_WORD(made->next_serial++, GR_SLOT_ALIAS);
}

struct found {
    char codes[64][32];
    char texts[64][300];
    granary_finding_kind kinds[64];
    size_t count;
};

static void
note(void *context, const granary_finding *finding)
{
    struct found *found = context;

    if (found->count < 64) {
        (void)snprintf(found->codes[found->count], sizeof found->codes[0], "%s", finding->code);
        (void)snprintf(found->texts[found->count], sizeof found->texts[0], "%s", finding->text);
        found->kinds[found->count++] = finding->kind;
    }
}

static void
check(const struct made *made, struct found *found, granary_check_summary *ret_summary)
{
    granary_inspector *inspector;

    found->count = 0;
    assert_int_equal(granary_inspect_open_copy(made->dir, &inspector), GRANARY_OK);
    assert_int_equal(granary_inspect_check(inspector, 0, note, found, ret_summary), GRANARY_OK);
    granary_inspect_close(inspector);
}

static void
what_is_whole_has_no_findings(void **state)
{
    static struct found found;
    granary_check_summary summary;
    struct made made;

    (void)state;
    make_whole(&made);
    check(&made, &found, &summary);
    if (found.count > 0) {
        fail_msg("%s: %s", found.codes[0], found.texts[0]);
    }
    assert_int_equal(summary.objects, OBJECTS + 1);
    assert_int_equal(summary.pages, 2);
    assert_int_equal(summary.segments, 1);
    assert_int_equal(summary.clients, 1);
    assert_int_equal(summary.holds, 3);
    assert_int_equal(summary.leases, 3);
    assert_int_equal(summary.damages + summary.notes, 0);
    made_fini(&made);
}

/* ---- damage ---- */

static struct gr_slot *
slot_of(struct made *made, uint64_t n)
{
    granary_id id = made_id(n);
    struct gr_slot *slots = (struct gr_slot *)(void *)(made->index + GR_INDEX_PAGES_AT);
    uint64_t words[2];

    gr_id_words(id, words);
    for (size_t i = 0; i < 2 * (size_t)GR_PAGE_SLOTS; i++) {
        if (slots[i].word != 0 && slots[i].id[0] == words[0] && slots[i].id[1] == words[1]) {
            return &slots[i];
        }
    }
    abort();
}

static void
truncate_file(const struct made *made, const char *name, off_t size)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", made->dir, name);
    if (truncate(path, size) < 0) {
        abort();
    }
}

static void
hurt_root(struct made *made)
{
    made->root->magic = 7;
}

static void
hurt_truncated_root(struct made *made)
{
    truncate_file(made, "root", 4096);
}

static void
hurt_control(struct made *made)
{
    made->control->magic = 7;
}

static void
hurt_control_depth(struct made *made)
{
    made->control->depth = 77;
}

static void
hurt_control_state(struct made *made)
{
    made->control->state = 9;
}

static void
hurt_control_epoch(struct made *made)
{
    made->control->epoch = 99;
}

static void
hurt_client_number(struct made *made)
{
    made->root->next_client = MADE_CLIENT;
}

static void
hurt_client_twice(struct made *made)
{
    made->root->clients[9] = made->root->clients[3];
}

static void
hurt_segment_state(struct made *made)
{
    made->root->segments[MADE_SEGMENT].word = (uint64_t)MADE_SEGMENT << 8 | 9;
}

static void
hurt_segment_number(struct made *made)
{
    made->root->segments[MADE_SEGMENT + 1] = made->root->segments[MADE_SEGMENT];
}

static void
hurt_segment_missing(struct made *made)
{
    made->root->segments[MADE_SEGMENT].word = 0;
}

static void
hurt_segment_file(struct made *made)
{
    truncate_file(made, "s1.data5", 4096);
}

static void
hurt_page_state(struct made *made)
{
    made_page(made, 3)->word = 77;
}

static void
hurt_page_depth(struct made *made)
{
    made_page(made, 1)->word = (uint64_t)1 << 32 | 5 << 8 | GR_PAGE_LIVE;
}

static void
hurt_page_overlap(struct made *made)
{
    made_page(made, 2)->prefix = 1;
    made_page(made, 2)->word = (uint64_t)1 << 32 | 1 << 8 | GR_PAGE_LIVE;
}

static void
hurt_directory_entry(struct made *made)
{
    made_directory(made)[1] = (uint64_t)1 << 32 | 0;
}

static void
hurt_directory_generation(struct made *made)
{
    made_directory(made)[1] = (uint64_t)2 << 32 | 1;
}

static void
hurt_directory_hole(struct made *made)
{
    made_page(made, 1)->word = (uint64_t)1 << 32 | 1 << 8 | GR_PAGE_FREE;
}

static void
hurt_index_size(struct made *made)
{
    truncate_file(made, "s1.index", (off_t)(GR_INDEX_PAGES_AT + GR_PAGE_BYTES));
}

static void
hurt_slot_state(struct made *made)
{
    slot_of(made, 3)->word = GR_WORD(3, 55);
}

static void
hurt_slot_misplaced(struct made *made)
{
    struct gr_slot *slot = slot_of(made, 3);
    struct gr_slot *slots = (struct gr_slot *)(void *)(made->index + GR_INDEX_PAGES_AT);
    size_t at = (size_t)(slot - slots);
    struct gr_slot *other = &slots[(at + GR_PAGE_SLOTS) % (2 * GR_PAGE_SLOTS)];

    *other = *slot;
    slot->word = GR_WORD(3, GR_SLOT_TOMB);
}

static void
hurt_slot_unreachable(struct made *made)
{
    struct gr_slot *slot = slot_of(made, 3);
    struct gr_slot *slots = (struct gr_slot *)(void *)(made->index + GR_INDEX_PAGES_AT);
    size_t at = (size_t)(slot - slots);
    size_t page = at / GR_PAGE_SLOTS * GR_PAGE_SLOTS;
    struct gr_slot *far = &slots[page + (at - page + GR_PAGE_SLOTS / 2) % GR_PAGE_SLOTS];

    *far = *slot;
    slot->word = 0;
}

static void
hurt_id_twice(struct made *made)
{
    (void)made_object(made, 3, 100, 0);
}

static void
hurt_serial_limit(struct made *made)
{
    made->root->serial_limit = 3;
}

static void
hurt_serial_twice(struct made *made)
{
    slot_of(made, 3)->word = GR_WORD(9, GR_SLOT_SEALED);
}

static void
hurt_stamp_limit(struct made *made)
{
    slot_of(made, 3)->stamp = UINT64_MAX;
}

static void
hurt_stamp_twice(struct made *made)
{
    slot_of(made, 3)->stamp = slot_of(made, 4)->stamp;
}

static void
hurt_object_size(struct made *made)
{
    slot_of(made, 3)->data_size = UINT64_MAX - 5;
}

static void
hurt_object_alignment(struct made *made)
{
    slot_of(made, 3)->offset += 8;
}

static void
hurt_object_beyond(struct made *made)
{
    slot_of(made, OBJECTS)->offset = MADE_SEGMENT_BYTES - 64;
}

static void
hurt_object_overlap(struct made *made)
{
    slot_of(made, 3)->data_size += 1000;
}

static void
hurt_object_overlap_of_a_client(struct made *made)
{
    hurt_object_overlap(made);
    atomic_store(&made->root->segments[MADE_SEGMENT].flags, GR_SEGMENT_CLIENTS);
}

static void
hurt_object_within_another(struct made *made)
{
    slot_of(made, 3)->offset = slot_of(made, OBJECTS)->offset + 1024;
}

static void
hurt_account_balance(struct made *made)
{
    made->control->account[GR_ACCOUNT_FREE] += 64;
}

static void
hurt_account(struct made *made)
{
    made->control->account[GR_ACCOUNT_SEALED] += 64;
    made->control->account[GR_ACCOUNT_FREE] -= 64;
}

static void
hurt_ledger(struct made *made)
{
    made->ledger->magic = 7;
}

static void
hurt_ledger_records(struct made *made)
{
    made->ledger->records = (uint64_t)1 << 60;
}

static void
hurt_hold_kind(struct made *made)
{
    made_record(made, GR_LEDGER_PIN, made_id(1), "")->word = (uint64_t)50 << 8 | 99;
}

static void
hurt_hold_token(struct made *made)
{
    made_record(made, GR_LEDGER_REFERENCE, made_id(1), "owner")->word = (uint64_t)5000 << 8 | GR_LEDGER_REFERENCE;
}

static void
hurt_hold_orphan(struct made *made)
{
    (void)made_record(made, GR_LEDGER_REFERENCE, made_id(999), "owner");
}

static void
hurt_hold_client(struct made *made)
{
    made_record(made, GR_LEDGER_REFERENCE, made_id(1), "")->client = 55;
}

static void
hurt_pin_count(struct made *made)
{
    slot_of(made, 3)->flags |= (uint64_t)3 << GR_FLAGS_PINS_SHIFT;
}

static void
hurt_hazard(struct made *made)
{
    made_lease(made, 900, 1);
}

static void
hurt_lease_page(struct made *made)
{
    made->lease->client = 12345;
}

static void
hurt_lease_missing(struct made *made)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/s1.lease7", made->dir);
    (void)unlink(path);
}

static void
hurt_segment_stray(struct made *made)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/s1.data99", made->dir);
    file = fopen(path, "w");
    if (file == NULL || fclose(file) != 0) {
        abort();
    }
}

static const struct {
    const char *name;
    void (*hurt)(struct made *made);
    const char *code;
    granary_finding_kind kind;
    const char *says; /* part of the sentence; "%": the id of object 3 */
} damages[] = {
#define DAMAGE(name, code, says)                                                                                       \
    {                                                                                                                  \
#name, hurt_##name, code, GRANARY_FINDING_DAMAGE, says                                                         \
    }
#define NOTE(name, code, says)                                                                                         \
    {                                                                                                                  \
#name, hurt_##name, code, GRANARY_FINDING_NOTE, says                                                           \
    }
    DAMAGE(root, "root", "root"),
    DAMAGE(truncated_root, "root", "ends at byte 4096"),
    DAMAGE(control, "control", "s1.control"),
    DAMAGE(control_depth, "control", "depth 77"),
    DAMAGE(control_state, "control-state", "'default'"),
    DAMAGE(control_epoch, "control-epoch", "epoch 99"),
    DAMAGE(client_number, "client-number", "client 7"),
    DAMAGE(client_twice, "client-twice", "client 7"),
    DAMAGE(segment_state, "segment-state", "segment 5"),
    DAMAGE(segment_number, "segment-number", "segment 5"),
    DAMAGE(segment_missing, "segment-missing", "segment 5"),
    DAMAGE(segment_file, "segment-file", "s1.data5 was truncated"),
    DAMAGE(page_state, "page-state", "page 3"),
    DAMAGE(page_depth, "page-depth", "page 1"),
    DAMAGE(page_overlap, "page-overlap", "pages 1 and 2"),
    DAMAGE(directory_entry, "directory-entry", "entry 1"),
    DAMAGE(directory_generation, "directory-entry", "generation 2"),
    DAMAGE(directory_hole, "directory-hole", "entry 1"),
    DAMAGE(index_size, "page-unreadable", "page 1"),
    DAMAGE(slot_state, "slot-state", "%"),
    DAMAGE(slot_misplaced, "slot-misplaced", "%"),
    DAMAGE(slot_unreachable, "slot-unreachable", "%"),
    DAMAGE(id_twice, "id-twice", "%"),
    DAMAGE(serial_limit, "serial-limit", "limit is 3"),
    DAMAGE(serial_twice, "serial-twice", "%"),
    DAMAGE(stamp_limit, "stamp-limit", "%"),
    DAMAGE(stamp_twice, "stamp-twice", "%"),
    DAMAGE(object_size, "object-size", "%"),
    DAMAGE(object_alignment, "object-alignment", "%"),
    DAMAGE(object_beyond, "object-beyond", "segment 5"),
    DAMAGE(object_overlap, "object-overlap", "%"),
    DAMAGE(object_within_another, "object-overlap", "%"),
    NOTE(object_overlap_of_a_client, "object-overlap", "said so"),
    DAMAGE(account_balance, "account-balance", "add up"),
    NOTE(account, "account", "bytes of sealed objects"),
    DAMAGE(ledger, "ledger", "s1.ledger"),
    DAMAGE(ledger_records, "ledger", "s1.ledger"),
    DAMAGE(hold_kind, "hold-kind", "kind 99"),
    DAMAGE(hold_token, "hold-token", "token 5000"),
    NOTE(hold_orphan, "hold-orphan", "does not exist"),
    NOTE(hold_client, "hold-client", "client 55"),
    NOTE(pin_count, "pin-count", "%"),
    NOTE(hazard, "hazard-unknown", "serial 900"),
    NOTE(lease_page, "lease-page", "client 12345"),
    NOTE(lease_missing, "lease-missing", "s1.lease7"),
    NOTE(segment_stray, "segment-stray", "s1.data99"),
};

static void
each_damage_is_found_and_named(void **state)
{
    static struct found found;
    char id[GRANARY_ID_TEXT + 1];

    (void)state;
    granary_id_format(made_id(3), id);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        const char *says = strcmp(damages[i].says, "%") == 0 ? id : damages[i].says;
        granary_check_summary summary;
        struct made made;
        bool hit = false;

        make_whole(&made);
        damages[i].hurt(&made);
        check(&made, &found, &summary);
        for (size_t f = 0; f < found.count; f++) {
            hit = hit || (strcmp(found.codes[f], damages[i].code) == 0 && found.kinds[f] == damages[i].kind &&
                          strstr(found.texts[f], says) != NULL);
        }
        if (!hit) {
            fail_msg("%s: no finding '%s' that says '%s'; %zu findings, the first: %s: %s", damages[i].name,
                     damages[i].code, says, found.count, found.count > 0 ? found.codes[0] : "",
                     found.count > 0 ? found.texts[0] : "");
        }
        if (damages[i].kind == GRANARY_FINDING_NOTE && summary.damages > 0) {
            fail_msg("%s: is allowed, and called damage", damages[i].name);
        }
        made_fini(&made);
    }
}

/* ---- what a store that died may leave ---- */

/* Every moment of a split of page 0 into pages 2 and 3, as the contract orders its steps. */
static void
a_split_that_was_not_finished_is_no_damage(void **state)
{
    static struct found found;

    (void)state;
    for (int steps = 0; steps <= 6; steps++) {
        granary_check_summary summary;
        struct made made;
        struct gr_slot *slots;

        make_whole(&made);
        slots = (struct gr_slot *)(void *)(made.index + GR_INDEX_PAGES_AT);
        made_directory(&made)[2] = made_directory(&made)[0];
        made_directory(&made)[3] = made_directory(&made)[1];
        made.control->depth = 2;
        for (uint32_t half = 0; half < 2; half++) {
            made_page(&made, 2 + half)->prefix = half << 1;
            made_page(&made, 2 + half)->word = (uint64_t)1 << 32 | 2 << 8 | GR_PAGE_BUILDING;
        }
        for (size_t i = 0; i < GR_PAGE_SLOTS; i++) {
            uint64_t hash = gr_slot_hash(slots[i].id[0], slots[i].id[1]);
            struct gr_slot *copy = &slots[(2 + (gr_index_prefix(hash) >> 1 & 1)) * GR_PAGE_SLOTS + gr_page_home(hash)];

            while (slots[i].word != 0 && copy->word != 0) {
                copy++; /* no home is at the end of a page here */
            }
            if (slots[i].word != 0) {
                *copy = slots[i];
            }
        }
        if (steps > 0) {
            made_directory(&made)[0] = (uint64_t)1 << 32 | 2;
        }
        if (steps > 1) {
            made_directory(&made)[2] = (uint64_t)1 << 32 | 3;
        }
        if (steps > 2) {
            made_page(&made, 0)->word = (uint64_t)1 << 32 | 1 << 8 | GR_PAGE_DEAD;
        }
        for (size_t i = 0; i < GR_PAGE_SLOTS && steps > 3; i++) {
            if (slots[i].word != 0) {
                slots[i].word = GR_WORD(GR_WORD_SERIAL(slots[i].word), GR_SLOT_MOVED);
            }
        }
        if (steps > 4) {
            made_page(&made, 2)->word = (uint64_t)1 << 32 | 2 << 8 | GR_PAGE_LIVE;
        }
        if (steps > 5) {
            made_page(&made, 3)->word = (uint64_t)1 << 32 | 2 << 8 | GR_PAGE_LIVE;
        }
        check(&made, &found, &summary);
        if (summary.damages > 0) {
            fail_msg("step %d: %s: %s", steps, found.codes[0], found.texts[0]);
        }
        assert_int_equal(summary.objects, OBJECTS + 1);
        made_fini(&made);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_whole_has_no_findings),
        cmocka_unit_test(each_damage_is_found_and_named),
        cmocka_unit_test(a_split_that_was_not_finished_is_no_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
