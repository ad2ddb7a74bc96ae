/* Pages read, /proc/PID/statm, the ends of logs. */
#include "sched/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static void
page_path(const char *runtime, int64_t pid, char path[192])
{
    (void)snprintf(path, 192, "%s/" GR_EXECUTOR_PAGES "/%lld", runtime, (long long)pid);
}

bool
watch_read(const char *runtime, int64_t pid, uint64_t start_time, struct gr_executor_state *ret_state)
{
    return gr_executor_page_read(runtime, pid, ret_state) == GRANARY_OK && ret_state->start_time == start_time;
}

void
watch_cancel(const char *runtime, int64_t pid, uint64_t start_time, uint64_t subtask)
{
    struct gr_executor_state state;
    char path[192];
    int fd;

    if (!watch_read(runtime, pid, start_time, &state)) {
        return;
    }
    /* Written, not mapped: whatever the process does to its file, it costs us an error and no SIGBUS. */
    page_path(runtime, pid, path);
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        (void)gr_pwrite_all(fd, &subtask, sizeof subtask, offsetof(struct gr_executor_page, cancel));
    }
    gr_fd_close(&fd);
}

uint64_t
watch_private_bytes(int64_t pid)
{
    unsigned long long resident;
    unsigned long long shared;
    char path[64];
    char text[128];
    ssize_t size = -1;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%lld/statm", (long long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        size = read(fd, text, sizeof text - 1);
    }
    gr_fd_close(&fd);
    if (size <= 0) {
        return 0;
    }
    text[size] = '\0';
    if (sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || resident < shared) {
        return 0;
    }
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* FOLDER/FILE and nothing else, by no link: the name is what an executor's page says, the folder what it made there. */
static int
log_open(const char *logs, const char *name)
{
    const char *file = strchr(name, '/');
    size_t length = file == NULL ? 0 : (size_t)(file++ - name);
    char folder[64] = "";
    int fd, parent;

    if (length == 0 || length >= sizeof folder || strchr(file, '/') != NULL || strncmp(name, "../", 3) == 0) {
        return -1;
    }
    memcpy(folder, name, length);
    parent = open(logs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    fd = parent < 0 ? -1 : openat(parent, folder, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    gr_fd_close(&parent);
    parent = fd;
    fd = parent < 0 ? -1 : openat(parent, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    gr_fd_close(&parent);
    return fd;
}

size_t
watch_log_end(const char *logs, const char *name, char *text, size_t size)
{
    struct stat stat_;
    ssize_t length = 0;
    int fd = log_open(logs, name);

    if (fd >= 0 && fstat(fd, &stat_) == 0 && S_ISREG(stat_.st_mode)) {
        off_t from = stat_.st_size < (off_t)size ? 0 : stat_.st_size - (off_t)size + 1;

        length = pread(fd, text, size - 1, from);
        length = length < 0 ? 0 : length;
    }
    gr_fd_close(&fd);
    while (length > 0 && text[length - 1] == '\n') {
        length--;
    }
    for (ssize_t i = 0; i < length; i++) {
        text[i] = text[i] == '\n' ? '|' : text[i];
        text[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    }
    text[length] = '\0';
    return (size_t)length;
}

void
watch_forget(const char *runtime, int64_t pid)
{
    char path[192];

    page_path(runtime, pid, path);
    (void)unlink(path);
}
