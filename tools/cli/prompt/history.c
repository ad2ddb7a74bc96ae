/* See history.h. The file is $XDG_STATE_HOME/granary/sql_history, for its user alone. A long one is cut when it is opened. */
#include "cli/prompt/history.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/command/cli.h"

#define FILE_MAX ((size_t)HISTORY_LINES * HISTORY_LINE * 2)

/* The directory, made if it is not there. */
static granary_err
make_directory(char path[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int size;

    if (state != NULL && state[0] == '/') {
        size = snprintf(path, PATH_MAX, "%s/granary", state);
    } else if (home != NULL && home[0] == '/') {
        size = snprintf(path, PATH_MAX, "%s/.local/state/granary", home);
    } else {
        return gr_fail(GRANARY_ENOENT, "neither $XDG_STATE_HOME nor $HOME names a directory");
    }
    if (size < 0 || size > PATH_MAX - 32) {
        return gr_fail(GRANARY_EINVAL, "the path of the state directory is too long");
    }
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    (void)mkdir(path, 0700);
    return GRANARY_OK;
}

/* Where the last lines begin. */
static size_t
last_lines(const char *text, size_t size)
{
    size_t lines = 0;
    size_t at = size;

    while (at > 0 && lines <= HISTORY_LINES) {
        at--;
        lines += text[at] == '\n';
    }
    return lines > HISTORY_LINES ? at + 1 : at;
}

/* Only the last lines stay; another prompt may add to the file meanwhile, so it is cut only when it is much too long. */
static void
cut(int fd, const char *text, size_t size)
{
    if (ftruncate(fd, 0) == 0) {
        (void)gr_write_all(fd, text, size);
    }
}

void
kept_begin(struct kept_lines *file, void (*add)(void *to, const char *line), void *to)
{
    char path[PATH_MAX];
    struct stat st;
    char *text = NULL;
    size_t size = 0;
    size_t from;
    granary_err err = make_directory(path);

    file->fd = -1;
    if (err == GRANARY_OK) {
        (void)strcat(path, "/sql_history");
        file->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
        if (file->fd < 0 || fstat(file->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
            err = gr_fail_errno("%s", path);
            gr_fd_close(&file->fd);
        } else {
            (void)fchmod(file->fd, 0600);
            err = gr_file_read(path, FILE_MAX, &text, &size);
        }
    }
    if (err != GRANARY_OK) {
        cli_note("the history is not kept: %s", granary_error_message());
        gr_fd_close(&file->fd);
        return;
    }
    from = last_lines(text, size);
    if (from > size / 2) {
        cut(file->fd, text + from, size - from);
    }
    for (char *line = text + from, *end;
         line < text + size && (end = memchr(line, '\n', (size_t)(text + size - line))) != NULL; line = end + 1) {
        *end = '\0';
        add(to, line);
    }
    free(text);
}

void
kept_add(struct kept_lines *file, const char *line, size_t size)
{
    char whole[HISTORY_LINE + 1];

    if (file->fd >= 0 && size > 0 && size <= HISTORY_LINE) {
        memcpy(whole, line, size);
        whole[size] = '\n';
        (void)gr_write_all(file->fd, whole, size + 1);
    }
}

void
kept_end(struct kept_lines *file)
{
    gr_fd_close(&file->fd);
}
