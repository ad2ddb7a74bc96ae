/* Columns of a CSV file whose dtypes the user gives: what is in them need not be found out. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "tile/file/csv.h"

#define HEADER_MAX ((int64_t)64 << 10) /* of a longer header nothing is known */
#define KNOWN_MAX  1024

static bool
is_given(const Granary__Attr *dtypes, const char *name, size_t size)
{
    for (size_t i = 0; i < dtypes->n_keys; i++) {
        if (strlen(dtypes->keys[i]) == size && memcmp(dtypes->keys[i], name, size) == 0) {
            return true;
        }
    }
    return false;
}

/* The names of a header without quotes. With quotes nothing is known, which is no error: it only takes longer. */
static void
find_in_header(struct csv *csv, const Granary__Attr *dtypes, const char *text, size_t size)
{
    const char *end = text + size;
    const char *field;
    int64_t position = 0;

    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
    }
    while (text < end && (*text == '\n' || *text == '\r')) {
        text++;
    }
    size = strcspn(text, "\r\n\"");
    if (text + size >= end || text[size] == '"') {
        return;
    }
    end = text + size;
    for (field = text; field <= end && csv->known_count < KNOWN_MAX; position++) {
        const char *stop = memchr(field, csv->delimiter[0], (size_t)(end - field));

        stop = stop == NULL ? end : stop;
        if (is_given(dtypes, field, (size_t)(stop - field))) {
            csv->known[csv->known_count++] = position;
        }
        field = stop + 1;
    }
}

static void
find_by_number(struct csv *csv, const Granary__Attr *dtypes)
{
    for (int64_t position = 0; position < KNOWN_MAX; position++) {
        char name[32];
        int length = snprintf(name, sizeof name, "c%lld", (long long)position);

        if (is_given(dtypes, name, (size_t)length)) {
            csv->known[csv->known_count++] = position;
        }
    }
}

granary_err
csv_find_known(const struct gr_file *file, int fd)
{
    struct csv *csv = file->own;
    const Granary__Attr *dtypes = gr_attr_find(file->node->attrs, file->node->n_attrs, "dtypes");
    size_t size = (size_t)(file->file_bytes < HEADER_MAX ? file->file_bytes : HEADER_MAX);
    char *text;
    granary_err err;

    if (dtypes == NULL || dtypes->n_keys == 0 || dtypes->n_keys > KNOWN_MAX) {
        return GRANARY_OK;
    }
    text = malloc(size + 1);
    csv->known = calloc(KNOWN_MAX, sizeof *csv->known);
    err = text == NULL || csv->known == NULL ? tile_no_memory() : gr_pread_all(fd, text, size, 0);
    if (err == GRANARY_OK) {
        text[size] = '\0';
        if (csv->header) {
            find_in_header(csv, dtypes, text, size);
        } else {
            find_by_number(csv, dtypes);
        }
    }
    free(text);
    return err;
}
