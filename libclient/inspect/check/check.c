/* One look after another, until what was found is certain. */
#include "inspect/check/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "base/sized.h"

/* Looks at a store that serves; what every one of them found is reported. */
#define LOOKS    5
#define PAUSE_NS 20000000

/* ---- findings ---- */

const char *
check_id(const uint64_t id[2], char text[GRANARY_ID_TEXT + 1])
{
    granary_id_format(gr_id_from_words(id[0], id[1]), text);
    return text;
}

granary_finding_kind
check_torn(const struct check *check)
{
    return check->info.life == GRANARY_STORE_SERVING ? GRANARY_FINDING_DAMAGE : GRANARY_FINDING_NOTE;
}

void
check_found(struct check *check, granary_finding_kind kind, const char *code, uint32_t session, const uint64_t *id,
            uint64_t number, const char *format, ...)
{
    struct finding finding = {.kind = kind, .code = code, .session = session, .number = number};
    va_list args;
    int length;

    if (check->err != GRANARY_OK) {
        return;
    }
    if (id != NULL) {
        finding.id = gr_id_from_words(id[0], id[1]);
    }
    va_start(args, format);
    length = vasprintf(&finding.text, format, args);
    va_end(args);
    if (length < 0) {
        check->err = gr_fail(GRANARY_ENOMEM, "no memory for what was found");
        return;
    }
    if (!gr_grow(&check->findings, &check->finding_room, check->finding_count, sizeof finding)) {
        free(finding.text);
        check->err = gr_fail(GRANARY_ENOMEM, "no memory for what was found");
        return;
    }
    check->findings[check->finding_count++] = finding;
}

static void
findings_free(struct finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(findings[i].text);
    }
    free(findings);
}

static int
by_key(const void *left, const void *right)
{
    const struct finding *a = left;
    const struct finding *b = right;
    int order = strcmp(a->code, b->code);

    if (order == 0) {
        order = a->session < b->session ? -1 : a->session > b->session;
    }
    if (order == 0) {
        order = memcmp(&a->id, &b->id, sizeof a->id);
    }
    return order != 0 ? order : (a->number < b->number ? -1 : a->number > b->number);
}

/* Keep only what an earlier look has found too. earlier: sorted by key. */
static void
confirm(struct check *check, const struct finding *earlier, size_t earlier_count)
{
    size_t kept = 0;

    for (size_t i = 0; i < check->finding_count; i++) {
        if (bsearch(&check->findings[i], earlier, earlier_count, sizeof *earlier, by_key) != NULL) {
            check->findings[kept++] = check->findings[i];
        } else {
            free(check->findings[i].text);
        }
    }
    check->finding_count = kept;
}

/* ---- looking things up ---- */

static int
segment_order(const void *left, const void *right)
{
    const struct segment_copy *a = left;
    const struct segment_copy *b = right;

    return a->number < b->number ? -1 : a->number > b->number;
}

const struct segment_copy *
check_segment(const struct check *check, uint32_t number)
{
    struct segment_copy key = {.number = number};

    return check->segment_count == 0 ? NULL
                                     : bsearch(&key, check->segments, check->segment_count, sizeof key, segment_order);
}

const struct client_copy *
check_client(const struct check *check, uint32_t number)
{
    for (size_t i = 0; i < check->client_count; i++) {
        if (check->clients[i].number == number) {
            return &check->clients[i];
        }
    }
    return NULL;
}

static int
file_order(const void *left, const void *right)
{
    const struct file_entry *a = left;
    const struct file_entry *b = right;

    return strcmp(a->name, b->name);
}

const struct file_entry *
check_file(const struct check *check, uint32_t session, const char *kind, uint32_t number)
{
    struct file_entry key;

    file_name(key.name, session, kind, number);
    return check->file_count == 0 ? NULL : bsearch(&key, check->files, check->file_count, sizeof key, file_order);
}

/* ---- one look ---- */

static void
check_fini(struct check *check)
{
    free(check->clients);
    free(check->segments);
    free(check->files);
    free(check->sessions);
    free(check->objects);
}

/* The root's copies; a root that cannot be read is a finding, and then the rest is looked at without it. */
static granary_err
gather(struct check *check)
{
    granary_inspector *inspector = check->inspector;
    granary_err err = root_read(inspector, &check->info);

    if (err == GRANARY_OK) {
        err = root_limits(inspector, &check->limits);
    }
    if (err == GRANARY_OK) {
        err = root_clients(inspector, &check->clients, &check->client_count);
    }
    if (err == GRANARY_OK) {
        err = root_segments(inspector, &check->segments, &check->segment_count);
    }
    if (err == GRANARY_ECORRUPT) {
        check_found(check, GRANARY_FINDING_DAMAGE, "root", 0, NULL, 0, "%s", granary_error_message());
        check->limits = (struct root_limits){UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX};
        check->info.serial_limit = UINT64_MAX;
        check->info.stamp_limit = UINT64_MAX;
        err = check->err;
    }
    if (err == GRANARY_OK) {
        err = files_list(inspector, &check->files, &check->file_count);
    }
    if (err == GRANARY_OK) {
        err = sessions_list(inspector, &check->sessions, &check->session_count);
    }
    if (err == GRANARY_OK && check->segment_count > 0) {
        qsort(check->segments, check->segment_count, sizeof *check->segments, segment_order);
    }
    return err;
}

static granary_err
look(struct check *check)
{
    granary_err err = gather(check);

    if (err != GRANARY_OK) {
        return err;
    }
    check->summary.sessions = check->session_count;
    check->summary.clients = check->client_count;
    check->summary.segments = check->segment_count;
    check_root(check);
    for (size_t i = 0; i < check->session_count && check->err == GRANARY_OK; i++) {
        check_index(check, check->sessions[i]);
    }
    for (size_t i = 0; i < check->object_count; i++) {
        const struct slot_copy *slot = &check->objects[i].slot;

        check->summary.objects += GR_WORD_STATE(slot->word) != GR_SLOT_ALIAS && (slot->flags & GR_FLAG_SLICE) == 0;
    }
    check_memory(check);
    for (size_t i = 0; i < check->session_count && check->err == GRANARY_OK; i++) {
        check_holds(check, check->sessions[i]);
    }
    for (size_t i = 0; i < check->session_count && check->err == GRANARY_OK; i++) {
        check_tables(check, check->sessions[i]);
    }
    if (check->err == GRANARY_OK) {
        check_disk(check);
    }
    return check->err;
}

/* ---- the public side ---- */

static void
report_all(const struct check *check, void (*report)(void *context, const granary_finding *finding), void *context,
           granary_check_summary *ret_summary)
{
    *ret_summary = check->summary;
    for (size_t i = 0; i < check->finding_count; i++) {
        const struct finding *finding = &check->findings[i];
        granary_finding one = {.kind = finding->kind,
                               .code = finding->code,
                               .session = finding->session,
                               .id = finding->id,
                               .number = finding->number,
                               .text = finding->text};

        if (finding->kind == GRANARY_FINDING_DAMAGE) {
            ret_summary->damages++;
        } else {
            ret_summary->notes++;
        }
        if (report != NULL) {
            report(context, &one);
        }
    }
}

granary_err
granary_inspect_check_sized(granary_inspector *inspector, int flags,
                            void (*report)(void *context, const granary_finding *finding), void *context,
                            granary_check_summary *ret_summary, size_t summary_size)
{
    granary_check_summary summary;
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct finding *earlier = NULL;
    size_t earlier_count = 0;
    granary_err err = GRANARY_OK;

    for (int looks = 0; looks < LOOKS; looks++) {
        struct check check = {.inspector = inspector, .flags = flags};
        bool certain;

        err = look(&check);
        check_fini(&check);
        if (err == GRANARY_OK && looks > 0) {
            confirm(&check, earlier, earlier_count);
        }
        findings_free(earlier, earlier_count);
        earlier = check.findings;
        earlier_count = check.finding_count;
        /* What does not change by itself was seen as it is. */
        certain = check.finding_count == 0 ||
                  (check.info.life != GRANARY_STORE_SERVING && check.info.life != GRANARY_STORE_ADOPTING);
        if (err != GRANARY_OK) {
            break;
        }
        if (certain || looks + 1 == LOOKS) {
            report_all(&check, report, context, &summary);
            gr_sized_give(ret_summary, summary_size, &summary, sizeof summary);
            break;
        }
        qsort(earlier, earlier_count, sizeof *earlier, by_key);
        (void)nanosleep(&pause, NULL);
    }
    findings_free(earlier, earlier_count);
    return err;
}
