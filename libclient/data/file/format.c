/* The table of formats, and what is found in it: a dozen entries, so each look goes through all of them. */
#include "data/file/format.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/paths/regular.h"
#include "data/text/packing.h"

const struct gr_format *const gr_formats[] = {
#define FORMAT(name) &gr_format_##name,
#include "contract/formats.def"
    NULL};

/* The first `length` bytes of the path. */
static bool
path_ends_with(const char *path, size_t length, const char *ending)
{
    size_t size = strlen(ending);

    return length > size && strncasecmp(path + length - size, ending, size) == 0;
}

const struct gr_format *
gr_format_of_path(const char *path, const struct gr_format_ending **ret_ending)
{
    size_t length = strlen(path);
    size_t stem;

    (void)gr_packing_of_path(path, &stem);
    for (const struct gr_format *const *format = gr_formats; *format != NULL; format++) {
        for (int i = 0; i < GR_FORMAT_ENDINGS && (*format)->endings[i].text != NULL; i++) {
            if (path_ends_with(path, (*format)->is_text ? stem : length, (*format)->endings[i].text)) {
                if (ret_ending != NULL) {
                    *ret_ending = &(*format)->endings[i];
                }
                return *format;
            }
        }
    }
    return NULL;
}

void
gr_format_list(bool (*passes)(const struct gr_format *format), bool vague, struct gr_buf *out)
{
    const char *last = NULL; /* written with the next one: "or" stands before the very last */
    const char *comma = "";

    for (const struct gr_format *const *format = gr_formats; *format != NULL; format++) {
        for (int i = 0; passes(*format) && i < GR_FORMAT_ENDINGS && (*format)->endings[i].text != NULL; i++) {
            if ((*format)->endings[i].is_vague && !vague) {
                continue;
            }
            if (last != NULL) {
                gr_buf_addf(out, "%s%s", comma, last);
                comma = ", ";
            }
            last = (*format)->endings[i].text;
        }
    }
    gr_buf_addf(out, "%s%s", comma[0] == '\0' ? "" : " or ", last == NULL ? "" : last);
}

granary_err
gr_format_begin(const char *path, size_t most, char **ret_bytes, size_t *ret_size, uint64_t *ret_file_size)
{
    struct stat info;
    char *bytes = NULL;
    size_t size = 0;
    int fd;
    granary_err err = gr_regular_open(path, &fd, &info);

    if (err == GRANARY_OK) {
        size = (uint64_t)info.st_size < most ? (size_t)info.st_size : most;
        bytes = malloc(size + 1);
        err = bytes == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : gr_pread_all(fd, bytes, size, 0);
        err = err == GRANARY_OK || bytes == NULL ? err : gr_fail_in(err, "%s", path);
    }
    gr_fd_close(&fd);
    if (err != GRANARY_OK) {
        free(bytes);
        return err;
    }
    *ret_bytes = bytes;
    *ret_size = size;
    *ret_file_size = (uint64_t)info.st_size;
    return GRANARY_OK;
}
