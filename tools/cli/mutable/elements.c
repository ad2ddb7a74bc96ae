/* Parts with commas between: a slice, a position, "...", positions in brackets, or the name of a file with a mask. */
#include "cli/mutable/elements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/objects/slice.h"
#include "data/tensor.h"

#define NPY_MAX ((size_t)1 << 40)

granary_err
elements_npy(const char *path, char **ret_bytes, granary_tensor *ret_tensor)
{
    size_t size;
    granary_err err = gr_file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, NPY_MAX, ret_bytes, &size);

    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_npy_read(*ret_bytes, size, ret_tensor);
    return err == GRANARY_OK ? err : gr_fail_in(err, "%s: NumPy's save() makes NPY files", path);
}

/* "[0,2,5]"; *text moves behind it. */
static granary_err
parse_list(const char **text, granary_index *index, void **ret_owned)
{
    const char *at = *text + 1;
    int64_t *list = calloc(strlen(at) + 1, sizeof *list);
    granary_err err = list == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    *ret_owned = list;
    *index = (granary_index){.kind = GRANARY_INDEX_LIST, .list = list};
    while (err == GRANARY_OK && *at != ']') {
        int64_t position;

        err = slice_number(&at, &position);
        if (err == GRANARY_OK && (position == GRANARY_OMITTED || (*at != ',' && *at != ']'))) {
            err = gr_fail(GRANARY_EINVAL, "'%s' is no list of positions, as in [0,2,5]", *text);
        }
        if (err == GRANARY_OK) {
            list[index->count++] = position;
            at += *at == ',';
        }
    }
    *text = at + (err == GRANARY_OK);
    return err;
}

static granary_err
parse_mask(const char *path, granary_index *index, void **ret_owned)
{
    granary_tensor mask;
    char *bytes = NULL;
    granary_err err = elements_npy(path, &bytes, &mask);

    *ret_owned = bytes;
    if (err == GRANARY_OK && mask.dtype != GRANARY_BOOL) {
        err = gr_fail(GRANARY_ETYPE, "%s: is of %s: a mask is of bool", path, granary_dtype_name(mask.dtype));
    }
    if (err == GRANARY_OK) {
        *index = (granary_index){.kind = GRANARY_INDEX_MASK,
                                 .mask = mask.values,
                                 .count = (size_t)gr_tensor_elements(&mask),
                                 .mask_dims = mask.dims};
    }
    return err;
}

/* One part, up to a comma or the end, to which *text moves. */
static granary_err
parse_part(const char **text, granary_index *index, void **ret_owned)
{
    const size_t length = strcspn(*text, ",");
    char path[4096];
    granary_err err;

    if (**text == '[') {
        err = parse_list(text, index, ret_owned);
    } else if (length == 3 && strncmp(*text, "...", 3) == 0) {
        *index = (granary_index){.kind = GRANARY_INDEX_ELLIPSIS};
        *text += length;
        err = GRANARY_OK;
    } else if (length > 4 && length < sizeof path && strncmp(*text + length - 4, ".npy", 4) == 0) {
        (void)snprintf(path, sizeof path, "%.*s", (int)length, *text);
        *text += length;
        err = parse_mask(path, index, ret_owned);
    } else {
        *index = (granary_index){.kind = GRANARY_INDEX_SLICE};
        err = slice_parse(text, false, &index->slice);
    }
    return err == GRANARY_OK && **text != '\0' && **text != ','
               ? gr_fail(GRANARY_EINVAL, "'%s': a comma is expected between the parts of an index", *text)
               : err;
}

granary_err
elements_parse(const char *text, struct elements *ret_index)
{
    granary_err err = GRANARY_OK;

    *ret_index = (struct elements){.count = 0};
    while (err == GRANARY_OK && *text != '\0') {
        if (ret_index->count == ELEMENTS_MAX) {
            return gr_fail(GRANARY_EINVAL, "an index has at most %d parts", ELEMENTS_MAX);
        }
        err = parse_part(&text, &ret_index->indexes[ret_index->count], &ret_index->owned[ret_index->count]);
        ret_index->count++;
        text += err == GRANARY_OK && *text == ',';
    }
    return err;
}

void
elements_free(struct elements *index)
{
    for (size_t i = 0; i < index->count; i++) {
        free(index->owned[i]);
    }
}
