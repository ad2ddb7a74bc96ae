/* granary export LIBRARY.so, granary unexport: functions for graphs. */
#include "cli/objects/library.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/command/arguments.h"
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
    int status = 0;
    granary_client *client = cli_connect(cli, &status);
    granary_err err = client == NULL ? GRANARY_OK : granary_export(client, path, name, version);

    if (err != GRANARY_OK) {
        status = cli_fail(err, "export %s", path);
    } else if (client != NULL) {
        cli_print_value(cli, "version", version);
    }
    granary_disconnect(client);
    return status;
}

int
command_unexport(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .usage = "NAME[@VERSION]",
        .doc = "Forget an exported library: all its versions, or one. Graphs that use it keep it until they end.",
        .least = 1,
        .most = 1};
    int first = arguments_read(&arguments, NULL, cli, argc, argv);
    char *version = strchr(argv[first], '@');
    granary_client *client;
    granary_err err;
    int status = 0;

    if (version != NULL) {
        *version++ = '\0';
    }
    client = cli_connect_existing(cli, &status);
    if (client == NULL) {
        return status;
    }
    err = granary_unexport(client, argv[first], version);
    status = err == GRANARY_OK ? 0 : cli_fail(err, "unexport");
    granary_disconnect(client);
    return status;
}
