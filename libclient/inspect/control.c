/* Sessions: their control pages, accounts and counters. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/barrier.h"
#include "base/error.h"
#include "base/sized.h"
#include "inspect/inspector.h"

#define ACCOUNT_TRIES 64

/* The account is one set between two equal even versions; a store killed inside an update leaves it odd for good. */
static granary_err
read_account(const struct file *file, struct control_copy *copy)
{
    enum { AT = offsetof(struct gr_control, account_version) };
    struct {
        uint64_t version;
        uint64_t account[GR_ACCOUNT_COUNT];
    } one, two;
    granary_err err = GRANARY_OK;

    _Static_assert(offsetof(struct gr_control, account) == AT + sizeof(uint64_t), "read in one piece");
    for (int tries = 0; tries < ACCOUNT_TRIES && err == GRANARY_OK && !copy->account_settled; tries++) {
        err = file_read(file, AT, &one, sizeof one);
        barrier_full();
        if (err == GRANARY_OK) {
            err = file_read(file, AT, &two, sizeof two);
        }
        copy->account_settled = err == GRANARY_OK && one.version % 2 == 0 && memcmp(&one, &two, sizeof one) == 0;
    }
    if (err == GRANARY_OK) {
        copy->account_version = one.version;
        memcpy(copy->account, one.account, sizeof one.account);
    }
    return err;
}

granary_err
control_read(const struct granary_inspector *inspector, uint32_t session, struct control_copy *ret_control)
{
    struct file file = FILE_NONE;
    struct gr_control page; /* all but the futex words behind `any` */
    const struct gr_control *control = &page;
    struct control_copy copy = {.session = session};
    char name[96];
    granary_err err;

    file_name(name, session, "control", NO_NUMBER);
    err = file_open(inspector, name, &file);
    if (err == GRANARY_ENOENT) {
        return gr_fail(GRANARY_ENOENT, "session %u: not found", session);
    }
    if (err == GRANARY_OK) {
        err = file_read(&file, 0, &page, offsetof(struct gr_control, any));
    }
    if (err == GRANARY_OK && control->magic != GR_CONTROL_MAGIC) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: %s", name,
                      control->magic == 0 ? "not complete: its store died while it made it"
                                          : "its first bytes are not a control page's");
    }
    if (err == GRANARY_OK) {
        err = file_check_version(&file, control->version);
    }
    if (err == GRANARY_OK && (control->session != session || control->depth > GR_INDEX_MAX_DEPTH)) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: it says session %u, depth %u, which cannot be", name, control->session,
                      control->depth);
    }
    if (err == GRANARY_OK) {
        err = read_account(&file, &copy);
    }
    file_close(&file);
    if (err != GRANARY_OK) {
        return err;
    }
    copy_text(copy.name, sizeof copy.name, control->session_name, sizeof control->session_name);
    copy.state = control->state;
    copy.depth = control->depth;
    copy.flags = control->flags;
    copy.epoch = control->epoch;
    copy.quota_bytes = control->quota_bytes;
    copy.used_bytes = control->used_bytes;
    copy.idle_ms = (int64_t)control->idle_ms;
    copy.created_ms = (int64_t)control->created_ms;
    copy.last_used_ms = (int64_t)control->last_used_ms;
    copy.uid = (uint32_t)control->uid;
    copy.store_sleeping = control->store_sleeping != 0;
    for (size_t i = 0; i < GR_COUNTER_COUNT; i++) {
        copy.counters[i] = control->counters[i];
    }
    *ret_control = copy;
    return GRANARY_OK;
}

static int
by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

granary_err
sessions_list(const struct granary_inspector *inspector, uint32_t **ret_sessions, size_t *ret_count)
{
    struct file_entry *entries;
    uint32_t *sessions = NULL;
    size_t files;
    size_t count = 0;
    granary_err err = files_list(inspector, &entries, &files);

    if (err != GRANARY_OK) {
        return err;
    }
    sessions = malloc((files + 1) * sizeof *sessions);
    for (size_t i = 0; sessions != NULL && i < files; i++) {
        if (strcmp(entries[i].kind, "control") == 0) {
            sessions[count++] = entries[i].session;
        }
    }
    free(entries);
    if (sessions == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to list sessions");
    }
    qsort(sessions, count, sizeof *sessions, by_number);
    *ret_sessions = sessions;
    *ret_count = count;
    return GRANARY_OK;
}

/* ---- the public side ---- */

/* What the files of a session say beside its control page. */
static void
add_files(const struct file_entry *entries, size_t count, granary_inspect_session_info *info)
{
    for (size_t i = 0; i < count; i++) {
        if (entries[i].session == info->number && strcmp(entries[i].kind, "index") == 0) {
            info->index_bytes = entries[i].resident;
        } else if (entries[i].session == info->number && strcmp(entries[i].kind, "ledger") == 0) {
            info->ledger_bytes = entries[i].resident;
        }
    }
}

static granary_err
describe_session(const granary_inspector *inspector, uint32_t number, granary_inspect_session_info *ret_info)
{
    struct control_copy control;
    struct index index;
    granary_err err = control_read(inspector, number, &control);

    if (err != GRANARY_OK) {
        return err;
    }
    *ret_info = (granary_inspect_session_info){
        .number = number,
        .state = (granary_session_state)control.state,
        .epoch = control.epoch,
        .uid = control.uid,
        .strict = (control.flags & GR_CONTROL_STRICT) != 0,
        .shared = (control.flags & GR_CONTROL_SHARED) != 0,
        .quota_bytes = control.quota_bytes,
        .used_bytes = control.used_bytes,
        .idle_ms = control.idle_ms,
        .created_ms = control.created_ms,
        .last_used_ms = control.last_used_ms,
        .store_sleeps = control.store_sleeping,
    };
    memcpy(ret_info->name, control.name, sizeof ret_info->name);
    if (index_read(inspector, number, &index) == GRANARY_OK) {
        ret_info->pages = (uint32_t)index.page_count;
        index_release(&index);
    }
    return GRANARY_OK;
}

granary_err
granary_inspect_sessions_sized(granary_inspector *inspector, granary_inspect_session_info **ret_infos,
                               size_t *ret_count, size_t info_size)
{
    granary_inspect_session_info *infos = NULL;
    struct client_copy *clients = NULL;
    struct file_entry *entries = NULL;
    uint32_t *numbers = NULL;
    size_t client_count = 0;
    size_t file_count = 0;
    size_t sessions = 0;
    size_t count = 0;
    granary_err err = sessions_list(inspector, &numbers, &sessions);

    if (err == GRANARY_OK) {
        err = root_clients(inspector, &clients, &client_count);
    }
    if (err == GRANARY_OK) {
        err = files_list(inspector, &entries, &file_count);
    }
    if (err == GRANARY_OK && (infos = calloc(sessions + 1, sizeof *infos)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to list sessions");
    }
    for (size_t i = 0; i < sessions && err == GRANARY_OK; i++) {
        /* One that is being made, or just went, or is damaged, is none. */
        if (describe_session(inspector, numbers[i], &infos[count]) != GRANARY_OK) {
            continue;
        }
        for (size_t c = 0; c < client_count; c++) {
            infos[count].clients += clients[c].session == numbers[i];
        }
        add_files(entries, file_count, &infos[count]);
        count++;
    }
    free(entries);
    free(clients);
    free(numbers);
    return gr_sized_give_list(err, infos, sizeof *infos, count, ret_infos, info_size, ret_count);
}

granary_err
granary_inspect_session_find(granary_inspector *inspector, const char *name, uint32_t *ret_session)
{
    uint32_t *numbers;
    size_t count;
    granary_err err = sessions_list(inspector, &numbers, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_fail(GRANARY_ENOENT, "session %s: not found: `granary sessions` lists them", name);
    for (size_t i = 0; i < count && err != GRANARY_OK; i++) {
        struct control_copy control;

        if (control_read(inspector, numbers[i], &control) == GRANARY_OK && control.state != GR_CONTROL_CLOSED &&
            strcmp(control.name, name) == 0) {
            *ret_session = numbers[i];
            err = GRANARY_OK;
        }
    }
    free(numbers);
    /* Looking at a damaged one may have left another message. */
    return err == GRANARY_OK ? err
                             : gr_fail(GRANARY_ENOENT, "session %s: not found: `granary sessions` lists them", name);
}

granary_err
granary_inspect_stat_sized(granary_inspector *inspector, uint32_t session, granary_store_stat *ret_stat,
                           size_t stat_size)
{
    granary_store_stat stat;
    struct control_copy copy;
    granary_err err = control_read(inspector, session, &copy);

    if (err != GRANARY_OK) {
        return err;
    }
    stat = (granary_store_stat){
#define ACCOUNT(name, member, unit, part, summary) .member = copy.account[GR_ACCOUNT_##name],
#include "contract/account.def"
#undef ACCOUNT
#define COUNTER(name, unit, summary) .name = copy.counters[GR_COUNTER_##name],
#include "contract/counters.def"
#undef COUNTER
    };
    gr_sized_give(ret_stat, stat_size, &stat, sizeof stat);
    return GRANARY_OK;
}
