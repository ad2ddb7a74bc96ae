/* The file is made under another name and renamed: who reads finds a whole page, of one scheduler. */
#include "sched/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"

#define NEW ".new"

static granary_err
open_file(const char *path, int *ret_fd)
{
    granary_err err = GRANARY_OK;

    (void)unlink(path);
    *ret_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Allocated now: what is missing later would be a SIGBUS. */
    if (*ret_fd < 0 || gr_fd_allocate(*ret_fd, 0, sizeof(struct gr_sched_page)) < 0) {
        err = gr_fail_errno("%s", path);
        gr_fd_close(ret_fd);
        (void)unlink(path);
    }
    return err;
}

struct gr_sched_page *
sched_page_create(const struct gr_instance *instance)
{
    struct gr_sched_page *page;
    char path[160];
    char made[sizeof path + sizeof NEW];
    int fd = -1;

    (void)snprintf(path, sizeof path, "%s/" GR_SCHED_PAGE, instance->runtime);
    (void)snprintf(made, sizeof made, "%s" NEW, path);
    if (open_file(made, &fd) != GRANARY_OK) {
        gr_log_warn("PAGE", "`granary metrics` tells nothing of this scheduler: %s", granary_error_message());
    }
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    if (page == MAP_FAILED) {
        page = NULL;
    } else {
        page->version = GR_SCHED_PAGE_VERSION;
        page->pid = getpid();
        page->start_time = gr_process_start_time(getpid());
        page->magic = GR_SCHED_PAGE_MAGIC;
    }
    if (fd >= 0 && (page == NULL || rename(made, path) < 0)) {
        gr_log_warn("PAGE", "`granary metrics` tells nothing of this scheduler: %s: cannot be put there", path);
        (void)unlink(made);
    }
    gr_fd_close(&fd);
    return page;
}

void
sched_page_destroy(struct gr_sched_page *page)
{
    if (page != NULL) {
        (void)munmap(page, sizeof *page);
    }
}
