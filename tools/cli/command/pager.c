/* See pager.h. The pager reads a pipe; when it ends early, as people end pagers, nothing has failed. */
#include "cli/command/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command/cli.h"
#include "data/print/print.h"

/* Quit where it fits after all, colours, no wrapping, and what was shown stays. */
#define PAGER "less -SRFX"

/* Whether a text has more lines, or longer ones, than that. Escapes count as what they show. */
static bool
is_larger(const char *bytes, size_t size, bool fits_width, const struct winsize *terminal)
{
    size_t lines = 0;
    size_t width = 0;

    for (size_t i = 0; i < size; i++) {
        lines += bytes[i] == '\n';
        width = bytes[i] == '\n' ? 0 : width + (((unsigned char)bytes[i] & 0xc0) != 0x80);
        if ((!fits_width && width > terminal->ws_col) || lines + 1 > terminal->ws_row) {
            return true;
        }
    }
    return false;
}

static bool
wants_pager(const char *bytes, size_t size, bool fits_width)
{
    struct winsize terminal = {.ws_row = 0};

    return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_row > 0 &&
           terminal.ws_col > 0 && is_larger(bytes, size, fits_width, &terminal);
}

/* Whether it took the text; what it did with that is its matter. */
static bool
page(const char *bytes, size_t size)
{
    const char *command = getenv("PAGER");
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction interrupt, pipe;
    FILE *pager;
    int status = -1;

    (void)setenv("LESSCHARSET", "utf-8", 0); /* whatever the locale is */
    (void)sigaction(SIGPIPE, &ignore, &pipe);
    (void)sigaction(SIGINT, &ignore, &interrupt);
    pager = popen(command != NULL && command[0] != '\0' ? command : PAGER, "w");
    if (pager != NULL) {
        (void)fwrite(bytes, 1, size, pager);
        status = pclose(pager);
    }
    (void)sigaction(SIGINT, &interrupt, NULL);
    (void)sigaction(SIGPIPE, &pipe, NULL);
    return status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) >= 126); /* no such command */
}

int
pager_write(const char *bytes, size_t size, bool fits_width)
{
    (void)fflush(stdout);
    return wants_pager(bytes, size, fits_width) && page(bytes, size) ? 0 : cli_write_file("-", bytes, size);
}
