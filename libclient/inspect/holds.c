/* The ledger: pins, references, containers, names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "inspect/inspector.h"

static int
by_token(const void *left, const void *right)
{
    const struct ledger_copy *a = left;
    const struct ledger_copy *b = right;

    return LEDGER_TOKEN(a->word) < LEDGER_TOKEN(b->word) ? -1 : LEDGER_TOKEN(a->word) > LEDGER_TOKEN(b->word);
}

static granary_err
read_all(const struct file *file, struct ledger_copy **ret_records, size_t *ret_count)
{
    struct {
        uint64_t magic;
        uint32_t version;
        uint32_t session;
        uint64_t records;
    } head;
    struct ledger_copy *records;
    size_t count = 0;
    size_t fit;
    granary_err err = file_read(file, 0, &head, sizeof head);

    if (err == GRANARY_OK && head.magic != GR_LEDGER_MAGIC) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: %s", file->name,
                      head.magic == 0 ? "not complete: its store died while it made it"
                                      : "its first bytes are not a ledger's");
    }
    if (err == GRANARY_OK) {
        err = file_check_version(file, head.version);
    }
    if (err == GRANARY_OK && head.records > (file->size - sizeof(struct gr_ledger)) / sizeof *records) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: it says it has room for %llu records, but is %llu bytes long", file->name,
                      (unsigned long long)head.records, (unsigned long long)file->size);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    fit = (size_t)head.records;
    records = malloc((fit + 1) * sizeof *records);
    if (records == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: no memory for %zu records", file->name, fit);
    }
    err = file_read_records(file, sizeof(struct gr_ledger), records, sizeof *records, fit);
    for (size_t i = 0; i < fit && err == GRANARY_OK; i++) {
        if (LEDGER_KIND(records[i].word) != GR_LEDGER_FREE) {
            records[count++] = records[i];
        }
    }
    if (err != GRANARY_OK) {
        free(records);
        return err;
    }
    qsort(records, count, sizeof *records, by_token);
    *ret_records = records;
    *ret_count = count;
    return GRANARY_OK;
}

granary_err
ledger_read(const struct granary_inspector *inspector, uint32_t session, struct ledger_copy **ret_records,
            size_t *ret_count)
{
    struct file file = FILE_NONE;
    char name[96];
    granary_err err;

    file_name(name, session, "ledger", NO_NUMBER);
    err = file_open(inspector, name, &file);
    if (err == GRANARY_ENOENT) {
        *ret_records = NULL;
        *ret_count = 0;
        return GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = file.size < sizeof(struct gr_ledger) ? gr_fail(GRANARY_ECORRUPT, "%s: shorter than its header", name)
                                                   : read_all(&file, ret_records, ret_count);
    }
    file_close(&file);
    return err;
}

/* ---- the public side ---- */

static bool
describe(const struct ledger_copy *record, granary_hold *ret_hold)
{
    static const granary_hold_kind kinds[] = {[GR_LEDGER_PIN] = GRANARY_HOLD_PIN,
                                              [GR_LEDGER_REFERENCE] = GRANARY_HOLD_REFERENCE,
                                              [GR_LEDGER_CONTAINS] = GRANARY_HOLD_CONTAINER,
                                              [GR_LEDGER_NAME] = GRANARY_HOLD_NAME,
                                              [GR_LEDGER_LEASE] = GRANARY_HOLD_LEASE,
                                              [GR_LEDGER_PENDING] = GRANARY_HOLD_CONTAINER};
    unsigned kind = LEDGER_KIND(record->word);

    if (kind == GR_LEDGER_FREE || kind >= sizeof kinds / sizeof kinds[0]) {
        return false;
    }
    *ret_hold = (granary_hold){.kind = kinds[kind],
                               .id = gr_id_from_words(record->id[0], record->id[1]),
                               .token = LEDGER_TOKEN(record->word),
                               .scope = (granary_pin_scope)record->scope,
                               .client = record->client,
                               .pid = record->pid,
                               .since_ms = (int64_t)record->since_ms};
    if (ret_hold->kind == GRANARY_HOLD_CONTAINER) {
        ret_hold->container = gr_id_from_words(record->other[0], record->other[1]);
    }
    copy_text(ret_hold->text, sizeof ret_hold->text, record->text, sizeof record->text);
    /* A counted object would go at once, were it not for its creator. */
    if (kind == GR_LEDGER_REFERENCE && (record->flags & GR_LEDGER_CREATOR) != 0) {
        (void)snprintf(ret_hold->text, sizeof ret_hold->text, "its creator");
    }
    return true;
}

granary_err
granary_inspect_holds_sized(granary_inspector *inspector, uint32_t session, const granary_id *id,
                            granary_hold **ret_holds, size_t *ret_count, size_t hold_size)
{
    struct ledger_copy *records = NULL;
    granary_hold *holds = NULL;
    size_t kept = 0;
    size_t count;
    granary_err err = ledger_read(inspector, session, &records, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    if (count > 0) {
        holds = malloc(count * sizeof *holds);
        err = holds == NULL ? gr_fail(GRANARY_ENOMEM, "no memory for %zu records of the ledger", count) : GRANARY_OK;
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (describe(&records[i], &holds[kept]) && (id == NULL || gr_id_equal(holds[kept].id, *id))) {
            kept++;
        }
    }
    free(records);
    return gr_sized_give_list(err, holds, sizeof *holds, kept, ret_holds, hold_size, ret_count);
}
