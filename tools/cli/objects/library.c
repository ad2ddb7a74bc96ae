/* granary export LIBRARY.so, granary unexport: functions for graphs. */
#include "cli/objects/library.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/command/command.h"
#include "granary/call.h"

bool
library_is_file(const char *text)
{
    size_t length = strlen(text);
    char magic[SELFMAG] = "";
    bool is_elf;
    int fd;

    if (length > 3 && strcmp(text + length - 3, ".so") == 0) {
        return true; /* there or not */
    }
    fd = open(text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    is_elf = fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic && memcmp(magic, ELFMAG, SELFMAG) == 0;
    gr_fd_close(&fd);
    return is_elf;
}

int
library_export(struct cli *cli, const char *path, const char *name)
{
    char version[33];
    granary_err err = granary_export(cli->client, path, name, version);

    if (err != GRANARY_OK) {
        return cli_fail(err, "export %s", path);
    }
    cli_print_value(cli, "version", version);
    return 0;
}

static int
run_unexport(struct cli *cli)
{
    char *version = strchr(cli->arguments[0], '@');

    if (version != NULL) {
        *version++ = '\0';
    }
    return granary_unexport(cli->client, cli->arguments[0], version);
}

const struct command command_unexport = {.access = &access_session, .run = run_unexport};
