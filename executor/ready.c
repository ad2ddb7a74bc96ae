#include "executor/ready.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"

/* The parent may be gone: then nobody minds (SIGPIPE is ignored). */
static void
say(int *fd, const char *line)
{
    if (*fd >= 0) {
        (void)gr_write_all(*fd, line, strlen(line));
        gr_fd_close(fd);
    }
}

void
ready_say(int *fd)
{
    say(fd, "READY\n");
}

void
ready_say_error(int *fd, granary_err err)
{
    const char *message = granary_error_message();
    char line[1200];

    (void)snprintf(line, sizeof line - 1, "ERROR %d %s", granary_error_exit_status(err),
                   message[0] == '\0' ? granary_error_text(err) : message);
    for (char *c = line; *c != '\0'; c++) {
        if (*c == '\n') {
            *c = ' ';
        }
    }
    strcat(line, "\n");
    say(fd, line);
}
