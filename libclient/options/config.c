/* Lines of a configuration file: each is cut in place into a name and a value. */
#include "options/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

#define BYTES_MOST 1048576
#define SHOWN      48 /* of a line, in messages */

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *
skip_blanks(char *at)
{
    while (is_blank(*at)) {
        at++;
    }
    return at;
}

/* Blanks at the end go. */
static void
cut_end(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && is_blank(text[length - 1])) {
        text[--length] = '\0';
    }
}

/* NULL: the quote that begins it has no end, or something follows. */
static char *
cut_value(char *value)
{
    if (value[0] == '"') {
        char *end = strchr(value + 1, '"');
        char *behind = end == NULL ? NULL : skip_blanks(end + 1);

        if (end == NULL || (*behind != '\0' && *behind != '#')) {
            return NULL;
        }
        *end = '\0';
        return value + 1;
    }
    for (char *at = value; *at != '\0'; at++) {
        if (*at == '#' && (at == value || is_blank(at[-1]))) {
            *at = '\0';
            break;
        }
    }
    cut_end(value);
    return value;
}

static granary_err
take_line(char *line, unsigned number, gr_config_take take, void *context)
{
    char *name = skip_blanks(line);
    char *equals = strchr(name, '=');
    char *value;

    for (const char *at = name; *at != '\0'; at++) {
        if (((unsigned char)*at < ' ' && !is_blank(*at)) || *at == 0x7f) {
            return gr_fail(GRANARY_EINVAL, "a control character (%d): write plain text", (unsigned char)*at);
        }
    }
    if (name[0] == '\0' || name[0] == '#') {
        return GRANARY_OK;
    }
    if (equals == NULL || equals == name) {
        return gr_fail(GRANARY_EINVAL, "'%.*s': write NAME = VALUE, or a comment behind #", SHOWN, name);
    }
    *equals = '\0';
    cut_end(name);
    value = cut_value(skip_blanks(equals + 1));
    if (value == NULL) {
        return gr_fail(GRANARY_EINVAL, "%.*s: the value has one quote: put another one at its end", SHOWN, name);
    }
    if (value[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "%.*s: no value: give one, or put a # in front of the line", SHOWN, name);
    }
    return take(context, number, name, value);
}

granary_err
gr_config_parse(const char *path, char *text, size_t size, gr_config_take take, void *context)
{
    char *end = text + size;
    unsigned number = 1;

    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* some editors' mark of UTF-8 */
        text += 3;
    }
    for (; text < end; number++) {
        char *newline = memchr(text, '\n', (size_t)(end - text));
        char *next = newline == NULL ? end : newline + 1;
        char *stop = newline == NULL ? end : newline;
        granary_err err;

        *stop = '\0';
        err = strlen(text) == (size_t)(stop - text) ? take_line(text, number, take, context)
                                                    : gr_fail(GRANARY_EINVAL, "a byte of 0: this is no text");
        if (err != GRANARY_OK) {
            char message[1024];

            (void)snprintf(message, sizeof message, "%s", granary_error_message());
            return gr_fail(err, "%s:%u: %s", path, number, message);
        }
        text = next;
    }
    return GRANARY_OK;
}

granary_err
gr_config_read(const char *path, gr_config_take take, void *context, char **ret_text)
{
    struct stat st;
    char *text = NULL;
    granary_err err = GRANARY_OK;
    int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe that nobody writes is refused, not read */

    *ret_text = NULL;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err = gr_fail_errno("%s", path);
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > BYTES_MOST) {
        err = gr_fail(GRANARY_EINVAL, "%s: no configuration file: it is %s", path,
                      S_ISREG(st.st_mode) ? "larger than 1 MiB" : "no regular file");
        goto out;
    }
    err = gr_fd_check_own(fd, path);
    if (err != GRANARY_OK) {
        goto out;
    }
    text = malloc((size_t)st.st_size + 1);
    if (text == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
        goto out;
    }
    err = gr_pread_all(fd, text, (size_t)st.st_size, 0);
    if (err == GRANARY_OK) {
        text[st.st_size] = '\0';
        err = gr_config_parse(path, text, (size_t)st.st_size, take, context);
    }
    *ret_text = text;
out:
    gr_fd_close(&fd);
    return err;
}
