/* A copy of the scheduler's page. It is read, not mapped: a file that somebody truncates is a short read and no SIGBUS. */
#include "base/process/sched_page.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/error.h"
#include "base/fd.h"

granary_err
gr_sched_page_read(const char *runtime, struct gr_sched_page *ret_page)
{
    struct gr_sched_page page;
    char path[160];
    granary_err err;
    int fd;

    (void)snprintf(path, sizeof path, "%s/" GR_SCHED_PAGE, runtime);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return gr_fail_errno("%s", path);
    }
    err = gr_pread_all(fd, &page, sizeof page, 0);
    gr_fd_close(&fd);
    if (err == GRANARY_OK && page.magic != GR_SCHED_PAGE_MAGIC) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: no scheduler's page", path);
    } else if (err == GRANARY_OK && page.version != GR_SCHED_PAGE_VERSION) {
        err = gr_fail(GRANARY_EVERSION, "%s: a page of version %u, this granary reads %u: restart the instance", path,
                      page.version, GR_SCHED_PAGE_VERSION);
    }
    if (err == GRANARY_OK) {
        *ret_page = page;
    }
    return err;
}
