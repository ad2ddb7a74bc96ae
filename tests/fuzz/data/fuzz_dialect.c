/* Any bytes as a file in any dialect: the text is the same however much is asked for at a time, in which quotes end and no
 * character is broken; and whatever they are, they can be sniffed. The first two bytes: the dialect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "data/text/header.h"
#include "data/text/sniff.h"
#include "fuzz/fuzz.h"

static granary_err
read_all(const char *path, const struct gr_dialect *dialect, size_t about, struct gr_buf *out)
{
    struct gr_text *text;
    bool more = true;
    granary_err err = gr_text_open(path, dialect, &text);

    if (err != GRANARY_OK) {
        return err;
    }
    while (err == GRANARY_OK && more && out->size < 1 << 20) {
        err = gr_text_read(text, about, out, &more);
    }
    gr_text_close(text);
    return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const delimiters[] = {",", ";", "||", "\""};
    static const char *const quotes[] = {"\"", "'", "", ";"};
    static const char *const escapes[] = {"", "\\", "\"", "'"};
    static const char *const comments[] = {"", "#", "//", "a"};
    static const char *const encodings[] = {"",         "latin-1",  "windows-1252", "utf-16",
                                            "utf-16be", "utf-16le", "utf-8",        "x"};
    struct gr_dialect dialect;
    struct gr_sniffed sniffed;
    struct gr_buf whole = {0};
    struct gr_buf steps = {0};
    char path[64];
    granary_err err;
    bool json;
    int fd;

    if (size < 2) {
        return 0;
    }
    dialect = (struct gr_dialect){.delimiter = delimiters[bytes[0] & 3],
                                  .quote = quotes[bytes[0] >> 2 & 3],
                                  .escape = escapes[bytes[0] >> 4 & 3],
                                  .comment = comments[bytes[0] >> 6],
                                  .encoding = encodings[bytes[1] & 7],
                                  .skip = bytes[1] >> 3 & 3,
                                  .skip_spaces = (bytes[1] & 7) == 6,
                                  .comment_anywhere = (bytes[1] & 7) >= 5,
                                  .ragged = (enum gr_ragged)((bytes[1] >> 5) % 3),
                                  .null = ""};
    fd = memfd_create("text", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes + 2, size - 2) != (ssize_t)(size - 2)) {
        abort();
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    json = (bytes[1] & 0x80) != 0;
    err = read_all(path, json ? NULL : &dialect, 1 << 20, &whole);
    if (err != read_all(path, json ? NULL : &dialect, 1, &steps) || whole.size != steps.size ||
        (whole.size > 0 && memcmp(whole.bytes, steps.bytes, whole.size) != 0)) {
        abort();
    }
    if (err != GRANARY_OK && err != GRANARY_EINVAL && err != GRANARY_ENOMEM) {
        abort();
    }
    (void)gr_sniff_bytes((const char *)bytes + 2, size - 2, (bytes[0] & 1) != 0, GR_SNIFF_ANY, &sniffed);
    (void)gr_header_guess((const char *)bytes + 2, size - 2,
                          &(struct gr_header_style){.delimiter = ';', .decimal = ','}, NULL);
    dialect = (struct gr_dialect)GR_DIALECT_PLAIN;
    dialect.delimiter = sniffed.delimiter;
    dialect.quote = sniffed.quote;
    dialect.escape = sniffed.escape;
    dialect.comment = sniffed.comment;
    dialect.skip = sniffed.skip;
    if (gr_dialect_check(&dialect) != GRANARY_OK) {
        abort(); /* what is found can be used */
    }
    gr_buf_free(&whole);
    gr_buf_free(&steps);
    (void)close(fd);
    return 0;
}
