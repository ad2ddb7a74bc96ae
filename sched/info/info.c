/* Queries are answered from the state as it is; those that wait for a change are looked at once a turn. */

#include "sched/info/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "contract/versions.h"
#include "sched/core/manager.h"
#include "sched/core/pack.h"

/* The part of a position that is a row's among those of one key. */
#define KEY_SHIFT     40
#define KEYS_MAX      4096
#define MISSING_NAMED 5

/* Numbers of Reply's fields, as in granary.proto. */
enum { REPLY_VERSION = 1, REPLY_TABLE = 11 };

static const struct info_walk *const walks[INFO_SUBJECTS] = {
#define SUBJECT(name, text) &info_walk_##name,
#define FIELD(subject, name, kind, text)
#include "contract/subjects.def"
#undef SUBJECT
#undef FIELD
};

/* A request that is answered when its subject changes. */
struct waiting {
    uint64_t ticket;
    int64_t deadline_ns;
    enum info_subject subject;
    uint8_t *query; /* packed Info */
    size_t size;
    uint64_t since;
};

struct info {
    bool risen; /* some have, and those who wait have not been looked at */
    uint64_t versions[INFO_SUBJECTS];
    struct waiting *waiting;
    size_t waiting_count, waiting_room;
};

struct info *
info_create(int64_t unix_ms)
{
    struct info *info = calloc(1, sizeof *info);

    for (int i = 0; info != NULL && i < INFO_SUBJECTS; i++) {
        info->versions[i] = (uint64_t)unix_ms << 20 | 1; /* a million changes a ms do not come */
    }
    return info;
}

void
info_destroy(struct info *info)
{
    if (info != NULL) {
        for (size_t i = 0; i < info->waiting_count; i++) {
            free(info->waiting[i].query);
        }
        free(info->waiting);
        free(info);
    }
}

/* ---- what subjects use ---- */

struct task_graph *
info_graph(struct manager *manager, const char *key, const char **ret_rest)
{
    char front[GRANARY_KEY_MAX];
    struct task_graph *graph = graph_find(manager, key);
    size_t length = strlen(key);

    *ret_rest = "";
    for (size_t at = length; graph == NULL && at-- > 0;) {
        if (at < sizeof front && key[at] == '/') {
            memcpy(front, key, at);
            front[at] = '\0';
            graph = graph_find(manager, front);
            *ret_rest = key + at + 1;
        }
    }
    return graph;
}

/* ---- one table ---- */

/* The error of a query that names keys that are not there. */
static granary_err
check_keys(struct manager *manager, struct table *table, const Granary__Info *query)
{
    const struct info_walk *walk = walks[table_subject(table)];
    struct gr_buf missing = {0};
    size_t count = 0;
    granary_err err = GRANARY_OK;

    if (query->n_keys > KEYS_MAX) {
        return gr_fail(GRANARY_EINVAL, "info: at most %d keys", KEYS_MAX);
    }
    table_probe(table, true);
    for (size_t i = 0; i < query->n_keys && !query->ignore_missing; i++) {
        if (!walk->named(manager, table, query->keys[i], 0) && count++ < MISSING_NAMED) {
            gr_buf_addf(&missing, "%s'%.80s'", count > 1 ? ", " : "", query->keys[i]);
        }
    }
    table_probe(table, false);
    if (count > MISSING_NAMED) {
        gr_buf_addf(&missing, " and %zu more", count - MISSING_NAMED);
    }
    if (count > 0) {
        err = gr_fail(GRANARY_ENOENT, "%s: not found: %s: `granary info %s` lists them", query->subject,
                      gr_buf_ok(&missing) ? missing.bytes : "some keys", query->subject);
    }
    gr_buf_free(&missing);
    return err;
}

static void
table_fill(struct manager *manager, struct table *table, const Granary__Info *query)
{
    const struct info_walk *walk = walks[table_subject(table)];

    if (query->n_keys == 0) {
        walk->all(manager, table);
    }
    for (size_t i = (size_t)(query->cursor >> KEY_SHIFT); i < query->n_keys && !table_full(table); i++) {
        (void)walk->named(manager, table, query->keys[i], (uint64_t)i << KEY_SHIFT);
    }
}

static void
info_answer(struct manager *manager, uint64_t ticket, const Granary__Info *query)
{
    struct table *table = NULL;
    struct action *action;
    granary_err err = table_create(query, &table);

    if (err == GRANARY_OK) {
        err = check_keys(manager, table, query);
    }
    if (err != GRANARY_OK) {
        reply_failure(manager, ticket, err);
        table_destroy(table);
        return;
    }
    table_fill(manager, table, query);
    action = action_add(manager, ACTION_REPLY);
    if (action != NULL) {
        action->ticket = ticket;
        pack_varint(&action->bytes, REPLY_VERSION, GR_WIRE_OLDEST);
        if (!table_pack(table, manager->info->versions[table_subject(table)], &action->bytes, REPLY_TABLE)) {
            gr_buf_free(&action->bytes);
            manager->actions.count--;
            reply_no_memory(manager, ticket);
        }
    }
    table_destroy(table);
}

/* ---- waiting for a change ---- */

/* A version covers what has changed before it was told, and nothing that changes later, in the same turn or not. */
static void
raise_versions(struct manager *manager)
{
    struct info *info = manager->info;

    for (int i = 0; i < INFO_SUBJECTS; i++) {
        info->versions[i] += manager->changed >> i & 1;
    }
    info->risen = info->risen || manager->changed != 0;
    manager->changed = 0;
}

static bool
waiting_add(struct info *info, struct waiting waiting, const Granary__Info *query)
{
    if (!gr_grow(&info->waiting, &info->waiting_room, info->waiting_count, sizeof *info->waiting)) {
        return false;
    }
    waiting.size = granary__info__get_packed_size(query);
    waiting.query = malloc(waiting.size + 1);
    if (waiting.query == NULL) {
        return false;
    }
    (void)granary__info__pack(query, waiting.query);
    info->waiting[info->waiting_count++] = waiting;
    return true;
}

static struct waiting
waiting_take(struct info *info, size_t position)
{
    struct waiting waiting = info->waiting[position];

    info->waiting[position] = info->waiting[--info->waiting_count];
    return waiting;
}

void
info_request(struct manager *manager, uint64_t ticket, const Granary__Info *query, int64_t now_ns)
{
    enum info_subject subject = info_subject_find(query->subject);
    struct waiting waiting = {.ticket = ticket, .subject = subject, .since = query->since_version};

    raise_versions(manager);
    if (subject == INFO_SUBJECTS || query->since_version < manager->info->versions[subject]) {
        info_answer(manager, ticket, query);
        return;
    }
    waiting.deadline_ns = wait_until_ns(query->timeout_ms, now_ns);
    if (!waiting_add(manager->info, waiting, query)) {
        reply_no_memory(manager, ticket);
    }
}

static void
answer_waiting(struct manager *manager, struct waiting *waiting)
{
    Granary__Info *query = granary__info__unpack(NULL, waiting->size, waiting->query);

    if (query == NULL) {
        reply_no_memory(manager, waiting->ticket);
    } else {
        info_answer(manager, waiting->ticket, query);
        granary__info__free_unpacked(query, NULL);
    }
    free(waiting->query);
}

void
info_turn(struct manager *manager)
{
    struct info *info = manager->info;

    raise_versions(manager);
    if (!info->risen) {
        return;
    }
    info->risen = false;
    for (size_t i = 0; i < info->waiting_count;) {
        if (info->versions[info->waiting[i].subject] > info->waiting[i].since) {
            struct waiting waiting = waiting_take(info, i);

            answer_waiting(manager, &waiting);
        } else {
            i++;
        }
    }
}

void
info_expire(struct manager *manager, int64_t now_ns)
{
    struct info *info = manager->info;
    char text[96];

    for (size_t i = 0; i < info->waiting_count;) {
        if (info->waiting[i].deadline_ns <= now_ns) {
            struct waiting waiting = waiting_take(info, i);

            (void)snprintf(text, sizeof text, "%s: nothing has changed", info_subject_name(waiting.subject));
            reply_error(manager, waiting.ticket, GRANARY_ETIMEDOUT, text);
            free(waiting.query);
        } else {
            i++;
        }
    }
}

int64_t
info_deadline(const struct manager *manager)
{
    int64_t deadline = INT64_MAX;

    for (size_t i = 0; i < manager->info->waiting_count; i++) {
        int64_t other = manager->info->waiting[i].deadline_ns;

        deadline = other < deadline ? other : deadline;
    }
    return deadline;
}
