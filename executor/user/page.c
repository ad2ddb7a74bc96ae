/*
 * The executor's page: a file in the runtime directory, mapped, so that it outlives the process. Where there can be no
 * file the page is private memory. An odd turn tells readers that fields are being written.
 */
#include "executor/user/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/barrier.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"

_Static_assert(sizeof(struct gr_executor_page) <= GR_EXECUTOR_PAGE_SIZE, "it is one page");

/* Left by a process that had our pid and was killed; else it is another worker's of this process. */
static bool
is_left(const char *path)
{
    struct gr_executor_page old;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool left = fd < 0 || gr_pread_all(fd, &old, sizeof old, 0) != GRANARY_OK ||
                old.start_time != gr_process_start_time(getpid());

    gr_fd_close(&fd);
    return left;
}

/* Errors: errno's, and gr_mkdir_private()'s. */
static granary_err
page_open_file(struct page *page, const struct gr_instance *instance, int *ret_fd)
{
    granary_err err;
    char folder[sizeof instance->runtime + sizeof GR_EXECUTOR_PAGES + 1];

    (void)snprintf(folder, sizeof folder, "%s/" GR_EXECUTOR_PAGES, instance->runtime);
    (void)snprintf(page->path, sizeof page->path, "%s/%d", folder, (int)getpid());
    err = gr_mkdir_private(folder);
    if (err != GRANARY_OK) {
        return err;
    }
    if (is_left(page->path)) {
        (void)unlink(page->path);
    }
    *ret_fd = open(page->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*ret_fd < 0) {
        return gr_fail_errno("%s", page->path);
    }
    /* Allocated now: a page missing later would be a SIGBUS. */
    if (gr_fd_allocate(*ret_fd, 0, GR_EXECUTOR_PAGE_SIZE) < 0) {
        err = gr_fail_errno("%s: %d bytes", page->path, GR_EXECUTOR_PAGE_SIZE);
        (void)unlink(page->path);
        gr_fd_close(ret_fd);
    }
    return err;
}

granary_err
page_create(struct page *page, const struct gr_instance *instance, int node, int slot)
{
    struct gr_executor_page *shared;
    int fd = -1;

    if (page_open_file(page, instance, &fd) != GRANARY_OK) {
        page->path[0] = '\0';
    }
    shared = mmap(NULL, GR_EXECUTOR_PAGE_SIZE, PROT_READ | PROT_WRITE,
                  fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    gr_fd_close(&fd);
    if (shared == MAP_FAILED) {
        page->shared = NULL;
        return gr_fail_errno("the executor's page");
    }
    shared->version = GR_EXECUTOR_PAGE_VERSION;
    shared->pid = getpid();
    shared->start_time = gr_process_start_time(getpid());
    shared->node = node;
    shared->slot = slot;
    barrier_release();
    shared->magic = GR_EXECUTOR_PAGE_MAGIC;
    page->shared = shared;
    return GRANARY_OK;
}

void
page_destroy(struct page *page)
{
    if (page->path[0] != '\0') {
        (void)unlink(page->path);
        page->path[0] = '\0';
    }
    if (page->shared != NULL) {
        (void)munmap(page->shared, GR_EXECUTOR_PAGE_SIZE);
        page->shared = NULL;
    }
}

void
page_confined(struct page *page, enum gr_confinement confined)
{
    atomic_store_explicit(&page->shared->confined, confined, memory_order_relaxed);
}

/* Odd while fields change; only this thread changes it. Stores behind the first must not be seen before it. */
static void
page_turn(struct gr_executor_page *page)
{
    uint32_t now = atomic_load_explicit(&page->turn, memory_order_relaxed);

    if (now % 2 == 0) {
        atomic_store_explicit(&page->turn, now + 1, memory_order_relaxed);
        barrier_release();
    } else {
        atomic_store_explicit(&page->turn, now + 1, memory_order_release);
    }
}

void
page_begin(struct page *page, uint64_t subtask, uint32_t attempt, int64_t now_ns)
{
    struct gr_executor_page *shared = page->shared;

    page_turn(shared);
    atomic_store_explicit(&shared->phase, GR_PHASE_LEASE, memory_order_relaxed);
    atomic_store_explicit(&shared->subtask, subtask, memory_order_relaxed);
    atomic_store_explicit(&shared->attempt, attempt, memory_order_relaxed);
    atomic_store_explicit(&shared->since_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&shared->progress, 0, memory_order_relaxed);
    page_turn(shared);
}

void
page_end(struct page *page)
{
    struct gr_executor_page *shared = page->shared;
    uint64_t done = atomic_load_explicit(&shared->done, memory_order_relaxed);

    page_turn(shared);
    atomic_store_explicit(&shared->phase, GR_PHASE_IDLE, memory_order_relaxed);
    atomic_store_explicit(&shared->subtask, 0, memory_order_relaxed);
    atomic_store_explicit(&shared->done, done + 1, memory_order_relaxed);
    page_turn(shared);
}

void
page_phase(struct page *page, enum gr_executor_phase phase)
{
    atomic_store_explicit(&page->shared->phase, phase, memory_order_relaxed);
}

void
page_log(struct page *page, const char *name)
{
    page_turn(page->shared);
    (void)strncpy(page->shared->log, name, sizeof page->shared->log - 1);
    page_turn(page->shared);
}

void
page_program(struct page *page, int64_t pid)
{
    atomic_store(&page->shared->program, pid > 1 ? pid : 0);
}

void
page_waits(struct page *page, const granary_id *id)
{
    uint64_t words[2] = {0, 0};

    if (id != NULL) {
        gr_id_words(*id, words);
    }
    if (id != NULL && page->shared->waits_for[0] == words[0] && page->shared->waits_for[1] == words[1]) {
        return; /* still: since when stays */
    }
    page_turn(page->shared);
    atomic_store_explicit(&page->shared->waits_for[0], words[0], memory_order_relaxed);
    atomic_store_explicit(&page->shared->waits_for[1], words[1], memory_order_relaxed);
    atomic_store_explicit(&page->shared->waits_since_ns, id == NULL ? 0 : gr_now_ns(), memory_order_relaxed);
    page_turn(page->shared);
}

void
page_progress(struct page *page, uint64_t part)
{
    atomic_store_explicit(&page->shared->progress, part, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&page->shared->beats, 1, memory_order_relaxed);
}
