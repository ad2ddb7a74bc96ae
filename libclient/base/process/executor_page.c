/* Copies of executors' pages taken while the page is still (contract/executor_page.h), and which of them live. */
#include "base/process/executor_page.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"

#define TRIES 100

const char *
gr_executor_phase_name(enum gr_executor_phase phase)
{
    static const char *const names[] = {"idle", "lease", "run", "store"};

    return (unsigned)phase < sizeof names / sizeof names[0] ? names[phase] : "?";
}

const char *
gr_confinement_name(enum gr_confinement confined)
{
    static const char *const names[] = {"no", "calls", "files", "signals"};

    return (unsigned)confined < sizeof names / sizeof names[0] ? names[confined] : "?";
}

/* A time that may be subtracted from others: what the page says is whatever its writer wrote. */
static int64_t
read_time(const _Atomic int64_t *time)
{
    int64_t ns = atomic_load(time);

    return ns < 0 ? 0 : ns;
}

static void
copy_page(const struct gr_executor_page *page, struct gr_executor_state *state)
{
    *state = (struct gr_executor_state){
        .pid = page->pid,
        .start_time = page->start_time,
        .node = page->node,
        .slot = page->slot,
        .phase = (enum gr_executor_phase)atomic_load(&page->phase),
        .subtask = atomic_load(&page->subtask),
        .attempt = atomic_load(&page->attempt),
        .since_ns = read_time(&page->since_ns),
        .waits_for = gr_id_from_words(atomic_load(&page->waits_for[0]), atomic_load(&page->waits_for[1])),
        .waits_since_ns = read_time(&page->waits_since_ns),
        .progress = (double)atomic_load(&page->progress) / 1e9,
        .beats = atomic_load(&page->beats),
        .done = atomic_load(&page->done),
        .program = atomic_load(&page->program),
        .confined = (enum gr_confinement)atomic_load(&page->confined),
    };
    memcpy(state->log, page->log, sizeof state->log);
    state->log[sizeof state->log - 1] = '\0';
    state->progress = state->progress > 1 ? 1 : state->progress;
}

granary_err
gr_executor_page_read(const char *runtime, int64_t pid, struct gr_executor_state *ret_state)
{
    struct gr_executor_page first;
    struct gr_executor_page second;
    char path[160];
    granary_err err = GRANARY_OK;
    bool still = false;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s/%lld", runtime, GR_EXECUTOR_PAGES, (long long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return gr_fail_errno("%s", path);
    }
    /* Read, not mapped: a file that somebody truncates is a short read and no SIGBUS. */
    for (int i = 0; i < TRIES && err == GRANARY_OK && !still; i++) {
        err = gr_pread_all(fd, &first, sizeof first, 0);
        if (err == GRANARY_OK && first.magic != GR_EXECUTOR_PAGE_MAGIC) {
            err = gr_fail(GRANARY_ECORRUPT, "%s: no executor's page", path);
        } else if (err == GRANARY_OK && first.version != GR_EXECUTOR_PAGE_VERSION) {
            err = gr_fail(GRANARY_EVERSION, "%s: a page of version %u, this granary reads %u: restart the instance",
                          path, first.version, GR_EXECUTOR_PAGE_VERSION);
        }
        if (err == GRANARY_OK) {
            err = gr_pread_all(fd, &second, sizeof second, 0);
        }
        still = err == GRANARY_OK && first.turn % 2 == 0 && first.turn == second.turn;
    }
    if (err == GRANARY_OK && !still) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: its executor stopped in the middle of writing it", path);
    }
    if (err == GRANARY_OK) {
        copy_page(&first, ret_state);
    }
    gr_fd_close(&fd);
    return err;
}

static int
by_pid(const void *left, const void *right)
{
    const struct gr_executor_state *a = left;
    const struct gr_executor_state *b = right;

    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Those that have a page, living or not. Errors: ENOMEM */
static granary_err
list_pids(const char *runtime, int64_t **ret_pids, size_t *ret_count)
{
    granary_err err = GRANARY_OK;
    int64_t *pids = NULL;
    struct dirent *entry;
    size_t count = 0;
    size_t room = 0;
    char path[160];
    DIR *folder;

    (void)snprintf(path, sizeof path, "%s/%s", runtime, GR_EXECUTOR_PAGES);
    folder = opendir(path);
    while (err == GRANARY_OK && folder != NULL && (entry = readdir(folder)) != NULL) {
        char *end;
        long long pid = strtoll(entry->d_name, &end, 10);

        if (count == room) {
            int64_t *grown = reallocarray(pids, room * 2 + 64, sizeof *grown);

            if (grown == NULL) {
                err = gr_fail(GRANARY_ENOMEM, "out of memory");
                break;
            }
            pids = grown;
            room = room * 2 + 64;
        }
        if (pid > 0 && *end == '\0') {
            pids[count++] = pid;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    if (err != GRANARY_OK) {
        free(pids);
        return err;
    }
    *ret_pids = pids;
    *ret_count = count;
    return GRANARY_OK;
}

granary_err
gr_executor_pages_read(const char *runtime, struct gr_executor_state **ret_states, size_t *ret_count)
{
    struct gr_executor_state *states;
    int64_t *pids = NULL;
    size_t pid_count = 0;
    size_t count = 0;
    granary_err err = list_pids(runtime, &pids, &pid_count);

    if (err != GRANARY_OK) {
        return err;
    }
    states = calloc(pid_count + 1, sizeof *states);
    for (size_t i = 0; i < pid_count && states != NULL; i++) {
        count += gr_executor_page_read(runtime, pids[i], &states[count]) == GRANARY_OK;
    }
    free(pids);
    if (states == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    qsort(states, count, sizeof *states, by_pid);
    *ret_states = states;
    *ret_count = count;
    return GRANARY_OK;
}

struct dead_page {
    int64_t pid;
    uint64_t start_time; /* 0: it was never complete */
};

static int
by_start(const void *left, const void *right)
{
    const struct dead_page *a = left;
    const struct dead_page *b = right;

    return (a->start_time > b->start_time) - (a->start_time < b->start_time);
}

/* Also of a page that its executor was killed in the middle of: it is no state, but when it started stands there. */
static bool
is_dead(const char *runtime, int64_t pid, struct dead_page *ret_dead)
{
    struct gr_executor_page page = {.start_time = 0};
    uint64_t runs = gr_process_start_time((pid_t)pid);
    char path[160];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s/%lld", runtime, GR_EXECUTOR_PAGES, (long long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || gr_pread_all(fd, &page, sizeof page, 0) != GRANARY_OK) {
        page.start_time = 0;
    }
    gr_fd_close(&fd);
    *ret_dead = (struct dead_page){pid, page.start_time};
    return runs == 0 || (page.start_time != 0 && page.start_time != runs);
}

void
gr_executor_pages_trim(const char *runtime, size_t keep)
{
    struct dead_page *dead = NULL;
    int64_t *pids = NULL;
    size_t pid_count = 0;
    size_t count = 0;
    char path[160];

    if (list_pids(runtime, &pids, &pid_count) == GRANARY_OK) {
        dead = calloc(pid_count + 1, sizeof *dead);
    }
    /* Without memory nothing goes: the next death tries again. */
    for (size_t i = 0; i < pid_count && dead != NULL; i++) {
        count += is_dead(runtime, pids[i], &dead[count]);
    }
    if (count > keep) {
        qsort(dead, count, sizeof *dead, by_start);
        for (size_t i = 0; i < count - keep; i++) {
            (void)snprintf(path, sizeof path, "%s/%s/%lld", runtime, GR_EXECUTOR_PAGES, (long long)dead[i].pid);
            (void)unlink(path);
        }
    }
    free(dead);
    free(pids);
}
