/* What CRASH_POINT() is in programs built for it; see base/crash.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crash.h"

/* The point's name is added to the file that $GRANARY_CRASH_NOTE names. */
static void
note(const char *name)
{
    const char *path = getenv("GRANARY_CRASH_NOTE");
    int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd >= 0) {
        (void)!write(fd, name, strlen(name));
        (void)!write(fd, "\n", 1);
        (void)close(fd);
    }
}

void
gr_crash_point(const char *name)
{
    static atomic_long hits;
    static atomic_long at = -1;
    long here;

    if (atomic_load(&at) < 0) {
        const char *text = getenv("GRANARY_CRASH_AT");

        atomic_store(&at, text == NULL ? 0 : strtol(text, NULL, 10));
    }
    here = atomic_fetch_add(&hits, 1) + 1;
    if (here == atomic_load(&at)) {
        note(name);
        (void)kill(getpid(), SIGKILL);
        for (;;) {
            (void)pause();
        }
    }
}
