/* Columns of a CSV file whose dtypes the user gives: what is in them need not be found out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/file/format.h"
#include "tile/file/csv.h"

#define KNOWN_MAX 1024

/* A header being told. */
struct header {
    struct gr_sketch sketch;
    const Granary__Attr *dtypes;
    struct csv *csv;
    int64_t position;
};

static granary_err
note_column(struct gr_sketch *sketch, const char *name)
{
    struct header *header = (struct header *)sketch;
    bool is_given = false;

    for (size_t i = 0; i < header->dtypes->n_keys && !is_given; i++) {
        is_given = strcmp(header->dtypes->keys[i], name) == 0;
    }
    if (is_given && header->csv->known_count < KNOWN_MAX) {
        header->csv->known[header->csv->known_count++] = header->position;
    }
    header->position++;
    return GRANARY_OK;
}

granary_err
csv_find_known(const struct gr_file *file)
{
    struct csv *csv = file->own;
    struct header header = {.sketch = {.column = note_column, .header = GR_HEADER_YES},
                            .dtypes = GR_NODE_PARAMS(read_csv, file->node)->dtypes,
                            .csv = csv};

    if (header.dtypes == NULL || header.dtypes->n_keys == 0 || header.dtypes->n_keys > KNOWN_MAX) {
        return GRANARY_OK;
    }
    csv->known = calloc(KNOWN_MAX, sizeof *csv->known);
    if (csv->known == NULL) {
        return tile_no_memory();
    }
    if (csv->header && gr_format_csv.sketch(file->path, csv->delimiter, &header.sketch) != GRANARY_OK) {
        csv->known_count = 0; /* what is wrong is said when all of it is looked at */
    }
    while (!csv->header && header.position < KNOWN_MAX) {
        char name[32];

        (void)snprintf(name, sizeof name, "c%lld", (long long)header.position);
        (void)note_column(&header.sketch, name);
    }
    return GRANARY_OK;
}
