/* Any bytes as a packed file: unpacked or refused, and the same text however many bytes are asked for at a time. The first
 * byte: how many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "data/text/unpack.h"
#include "fuzz/fuzz.h"

enum { TEXT_MAX = 1 << 20 };

/* The text, or its first bytes. Returns whether it was refused. */
static bool
unpack_some(const char *path, size_t step, struct gr_buf *out)
{
    struct gr_unpack *unpack;
    granary_err err = gr_unpack_open(path, &unpack);
    size_t got = step;

    if (err != GRANARY_OK) {
        abort(); /* it is a regular file */
    }
    while (err == GRANARY_OK && got == step && out->size < TEXT_MAX) {
        char *to = gr_buf_grow(out, step);

        if (to == NULL) {
            abort();
        }
        err = gr_unpack_read(unpack, to, step, &got);
        if (got > step) {
            abort();
        }
        out->size -= step - got;
    }
    gr_unpack_close(unpack);
    if (err != GRANARY_OK && err != GRANARY_EINVAL && err != GRANARY_ENOMEM) {
        abort();
    }
    return err != GRANARY_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_buf whole = {0};
    struct gr_buf steps = {0};
    char path[64];
    size_t least;
    int fd;

    if (size < 1) {
        return 0;
    }
    fd = memfd_create("packed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes + 1, size - 1) != (ssize_t)(size - 1)) {
        abort();
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (unpack_some(path, TEXT_MAX, &whole) != unpack_some(path, 1 + (size_t)bytes[0] * 17, &steps) &&
        whole.size < TEXT_MAX) {
        abort();
    }
    least = whole.size < steps.size ? whole.size : steps.size;
    if (least > 0 && memcmp(whole.bytes, steps.bytes, least) != 0) {
        abort();
    }
    gr_buf_free(&whole);
    gr_buf_free(&steps);
    (void)close(fd);
    return 0;
}
