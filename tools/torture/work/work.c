/* Each kind is a pack of processes with a board and a journal in shared memory; all kinds are treated alike. */
#include "torture/work/work.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "granary/graph.h"
#include "granary/read.h"
#include "granary/sql.h"
#include "torture/common/client.h"
#include "torture/common/shared.h"

#define SESSION      "torture-work"
#define STOP_MS      400000 /* for a worker to end: a call may wait twice */
#define EMPTY_MS     20000  /* for frees */
#define MESSAGE_MOST 2048
#define SAID         20 /* complaints of one kind that tell enough */

static const struct {
    const char *name;
    unsigned processes;
    const struct work_kind *kind;
} rows[WORKS] = {
#define WORK(NAME, name, processes, checked) {#name, processes, &work_##name},
#include "torture/work/works.def"
#undef WORK
};

const char *
work_text(enum work_name name)
{
    return rows[name].name;
}

/* ---- for kinds ---- */

static void
undone(struct work *work)
{
    atomic_fetch_add(&work->board->undone, 1);
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

bool
work_count(struct work *work, granary_err err, const char *what)
{
    if (err == GRANARY_OK) {
        atomic_fetch_add(&work->board->done, 1);
        return true;
    }
    /* The supervisor was killed, until somebody says `granary up`; or others have all the memory at this moment. */
    if (err == GRANARY_EUNREACHABLE || err == GRANARY_EFULL) {
        undone(work);
        return false;
    }
    if (atomic_fetch_add(&work->board->failed, 1) < SAID) {
        (void)fprintf(stderr, "torture: %s: %s: %s\n", work->pack.what, what, granary_error_message());
    }
    return false;
}

bool
work_count_read(struct work *work, granary_err err, const char *what)
{
    if (err == GRANARY_EIO && strstr(granary_error_message(), "submit again") != NULL) {
        undone(work);
        return false;
    }
    return work_count(work, err, what);
}

void
work_wrong(struct work *work, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    atomic_fetch_add(&work->board->wrong, 1);
    (void)fprintf(stderr, "torture: %s: %s\n", work->pack.what, text);
}

granary_err
work_take(granary_client *client, const char *key, void (*take)(void *context, const granary_frame *frame),
          void *context)
{
    const granary_read_options options = {.timeout_ms = WORK_PATIENCE_MS};
    granary_result result;
    granary_err err = granary_graph_result(client, key, GRANARY_SQL_TARGET, &result);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; err == GRANARY_OK && i < result.chunk_count; i++) {
        const granary_chunk_request request = {.graph = key, .target = GRANARY_SQL_TARGET, .chunk = i};
        granary_chunk chunk;

        err = granary_chunk_read_many(client, &request, 1, &options, &chunk);
        if (err == GRANARY_OK) {
            take(context, chunk.frame);
            granary_chunk_release(client, &chunk, 1);
        }
    }
    granary_result_free(&result);
    return err;
}

/* Ask a SELECT, and give each part of its result to `take`. */
static granary_err
ask(granary_client *client, const char *sql, bool may_recall, void (*take)(void *context, const granary_frame *frame),
    void *context, bool *ret_recalled)
{
    const granary_graph_options options = {.flags = GRANARY_GRAPH_OWNED | (may_recall ? 0 : GRANARY_GRAPH_NO_RECALL)};
    granary_graph_status status = {.subtasks_total = 0};
    granary_graph *graph = NULL;
    char key[GRANARY_KEY_MAX] = "";
    granary_err err = granary_sql_graph(client, sql, strlen(sql), &graph);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_graph_run(client, graph, &options, WORK_PATIENCE_MS, key, &status);
    granary_graph_destroy(graph);
    err = err == GRANARY_OK ? work_take(client, key, take, context) : err;
    if (ret_recalled != NULL) {
        *ret_recalled = err == GRANARY_OK && status.subtasks_total == 0;
    }
    if (key[0] != '\0' && err != GRANARY_EUNREACHABLE) { /* else it goes with this process */
        char message[MESSAGE_MOST];

        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        (void)granary_graph_delete(client, key);
        (void)gr_fail(GRANARY_OK, "%s", message); /* it is what tells a file that was replaced from others */
    }
    return err;
}

struct row {
    int64_t *values;
    bool full;
};

static int64_t
whole_number(const granary_column *column)
{
    const bool there = column->validity == NULL || (column->validity[0] & 1) != 0;

    switch (there ? column->dtype : GRANARY_BOOL) {
    case GRANARY_INT64:
    case GRANARY_UINT64:
        return *(const int64_t *)column->values;
    case GRANARY_INT32:
        return *(const int32_t *)column->values;
    default:
        return 0;
    }
}

static void
take_row(void *context, const granary_frame *frame)
{
    struct row *row = context;

    if (granary_frame_rows(frame) > 0 && !row->full) {
        for (size_t i = 0; i < WORK_ROW && granary_frame_column(frame, i) != NULL; i++) {
            row->values[i] = whole_number(granary_frame_column(frame, i));
        }
        row->full = true;
    }
}

granary_err
work_row(granary_client *client, const char *sql, bool may_recall, int64_t ret_row[static WORK_ROW], bool *ret_recalled)
{
    struct row row = {.values = ret_row};
    granary_err err;

    memset(ret_row, 0, WORK_ROW * sizeof *ret_row);
    err = ask(client, sql, may_recall, take_row, &row, ret_recalled);
    return err == GRANARY_OK && !row.full ? gr_fail(GRANARY_ECORRUPT, "no row: %s", sql) : err;
}

/* ---- all kinds ---- */

static granary_client *
connect_to(const struct work *work)
{
    const granary_connect_options options = {.instance = work->site->instance,
                                             .session = SESSION,
                                             .tag = "torture",
                                             .timeout_ms = WORK_PATIENCE_MS,
                                             .reconnect_ms = WORK_PATIENCE_MS};
    int64_t deadline = gr_deadline_ns(WORK_PATIENCE_MS);
    granary_client *client = NULL;
    granary_err err;

    while ((err = granary_connect(&options, &client)) == GRANARY_EUNREACHABLE && gr_now_ns() < deadline) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "torture: %s: connect: %s\n", work->pack.what, granary_error_message());
        atomic_fetch_add(&work->board->failed, 1);
    }
    return client;
}

static void
run_worker(void *context, unsigned number, uint64_t seed)
{
    struct work *work = context;
    granary_client *client = work->kind->by_itself ? NULL : connect_to(work);

    if (work->kind->by_itself || client != NULL) {
        work->kind->run(work, client, number, seed);
    }
    granary_disconnect(client);
}

static bool
create_one(struct work *work, const struct works *works, enum work_name name)
{
    *work = (struct work){.kind = rows[name].kind,
                          .site = &works->site,
                          .pack = {.what = rows[name].name,
                                   .count = rows[name].processes,
                                   .run = run_worker,
                                   .context = work,
                                   .seed = works->site.seed * 31 + name}};
    work->board = shared_map(works->site.directory, sizeof *work->board);
    work->journal = work->kind->journal_bytes > 0 ? shared_map(works->site.directory, work->kind->journal_bytes) : NULL;
    if (work->board == NULL || (work->kind->journal_bytes > 0 && work->journal == NULL)) {
        perror("granary: torture: map");
        return false;
    }
    return work->kind->create == NULL || work->kind->create(work);
}

bool
works_create(struct works *works, const struct work_site *site, unsigned kinds)
{
    bool good = true;

    *works = (struct works){.site = *site, .kinds = kinds};
    for (enum work_name name = 0; good && name < WORKS; name++) {
        good = (kinds & 1u << name) == 0 || create_one(&works->all[name], works, name);
    }
    return good;
}

void
works_destroy(struct works *works)
{
    for (enum work_name name = 0; name < WORKS; name++) {
        struct work *work = &works->all[name];

        if (work->kind != NULL && work->kind->destroy != NULL && work->board != NULL) {
            work->kind->destroy(work);
        }
        shared_unmap(work->journal, work->kind == NULL ? 0 : work->kind->journal_bytes);
        shared_unmap(work->board, sizeof *work->board);
    }
}

void
works_end(struct works *works)
{
    for (enum work_name name = 0; name < WORKS; name++) {
        if (works->all[name].kind != NULL && works->all[name].kind->end != NULL) {
            works->all[name].kind->end(&works->all[name]);
        }
    }
}

void
works_start(struct works *works)
{
    for (enum work_name name = 0; name < WORKS; name++) {
        struct work *work = &works->all[name];
        granary_client *client;

        if (work->kind == NULL) {
            continue;
        }
        client = work->kind->by_itself ? NULL : connect_to(work);
        atomic_store(&work->board->stop, false);
        if ((client == NULL && !work->kind->by_itself) || (work->kind->set != NULL && !work->kind->set(work, client))) {
            (void)fprintf(stderr, "torture: %s: nothing to work on: %s\n", work->pack.what, granary_error_message());
            atomic_fetch_add(&work->board->failed, 1);
        } else {
            pack_start(&work->pack);
        }
        granary_disconnect(client);
    }
}

void
works_stop(struct works *works)
{
    for (enum work_name name = 0; name < WORKS; name++) {
        if (works->all[name].kind != NULL) {
            atomic_store(&works->all[name].board->stop, true);
            if (works->all[name].kind->stop != NULL) {
                works->all[name].kind->stop(&works->all[name]);
            }
        }
    }
    for (enum work_name name = 0; name < WORKS; name++) {
        if (works->all[name].kind != NULL) {
            pack_await(&works->all[name].pack, STOP_MS);
        }
    }
}

/* Graphs of killed workers, what may be recalled, and then nothing is left of the session. */
static bool
empty_session(granary_client *client)
{
    int64_t deadline = gr_deadline_ns(EMPTY_MS);
    size_t count = 1;

    while (count > 0 && gr_now_ns() < deadline) {
        granary_object_info *infos = NULL;

        (void)granary_graph_delete_all(client, SESSION, NULL);
        if (granary_object_list(client, &infos, &count) != GRANARY_OK) {
            count = 1;
        }
        free(infos);
        if (count > 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        }
    }
    return count == 0 || client_say_objects(client) == 0;
}

void
works_inspect(struct works *works)
{
    granary_client *client = NULL;
    struct work *first = NULL;

    for (enum work_name name = 0; name < WORKS; name++) {
        struct work *work = &works->all[name];

        if (work->kind == NULL) {
            continue;
        }
        first = first == NULL ? work : first;
        client = client == NULL ? connect_to(work) : client;
        if (client != NULL && work->kind->judge != NULL) {
            work->impossible += work->kind->judge(work, client, stderr);
            work->judged++;
        }
    }
    if (client != NULL && !empty_session(client)) {
        atomic_fetch_add(&first->board->failed, 1);
    }
    granary_disconnect(client);
}

static bool
is_clean(const struct work *work)
{
    return work->pack.crashes + work->impossible + atomic_load(&work->board->wrong) +
               atomic_load(&work->board->failed) ==
           0;
}

bool
works_are_clean(const struct works *works)
{
    bool clean = true;

    for (enum work_name name = 0; name < WORKS; name++) {
        clean = clean && (works->all[name].kind == NULL || is_clean(&works->all[name]));
    }
    return clean;
}

bool
works_have_begun(const struct works *works)
{
    bool begun = true;

    for (enum work_name name = 0; name < WORKS; name++) {
        const struct work *work = &works->all[name];

        begun = begun &&
                (work->kind == NULL || name == WORK_TABLES || !is_clean(work) ||
                 (work->kind->has_begun != NULL ? work->kind->has_begun(work) : atomic_load(&work->board->done) > 0));
    }
    return begun;
}

bool
works_report(const struct works *works)
{
    for (enum work_name name = 0; name < WORKS; name++) {
        const struct work *work = &works->all[name];

        if (work->kind == NULL) {
            if (name == WORK_DASK && works->site.python != NULL) {
                (void)printf("%-18s left out: install Debian's python3-distributed\n", rows[name].name);
            }
            continue;
        }
        (void)printf("%-18s %" PRIu64 " done, %" PRIu64 " undone by blows, %" PRIu64 " wrong, %" PRIu64
                     " impossible, %" PRIu64 " failed, %" PRIu64 " crashed",
                     work->pack.what, atomic_load(&work->board->done), atomic_load(&work->board->undone),
                     atomic_load(&work->board->wrong), work->impossible, atomic_load(&work->board->failed),
                     work->pack.crashes);
        if (work->kind->special != NULL) {
            (void)printf("; %" PRIu64 " %s", atomic_load(&work->board->special), work->kind->special);
        }
        (void)putchar('\n');
    }
    return works_are_clean(works);
}
