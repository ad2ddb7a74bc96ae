/* A number behind a name that is taken: the first that nobody has. */
#include "data/file/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"

/* A zero byte is no part of a name. Returns the bytes left. */
static size_t
without_zeros(const char *text, size_t size, char *to)
{
    size_t left = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\0') {
            to[left++] = text[i];
        }
    }
    return left;
}

static granary_err
find_free(const struct gr_texts *taken, size_t position, const char *text, size_t size, char **ret_name)
{
    char *name = NULL;

    if (size > 0 ? (name = strndup(text, size)) == NULL : asprintf(&name, "c%zu", position) < 0) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a column's name");
    }
    for (unsigned i = 1; gr_texts_find(taken, name, strlen(name)) != GR_TEXTS_NONE; i++) {
        free(name);
        name = NULL;
        if (size > 0 ? asprintf(&name, "%.*s_%u", (int)size, text, i) < 0
                     : asprintf(&name, "c%zu_%u", position, i) < 0) {
            return gr_fail(GRANARY_ENOMEM, "no memory for a column's name");
        }
    }
    *ret_name = name;
    return GRANARY_OK;
}

granary_err
gr_column_name(struct gr_texts *taken, size_t position, const char *text, size_t size, char **ret_name)
{
    char *name = NULL;
    char *clean = malloc(size + 1);
    const char *from;
    uint32_t number;
    granary_err err;

    if (clean == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a column's name");
    }
    size = without_zeros(text, size, clean);
    from = gr_trim_spaces(clean, &size); /* they are no part of it, either */
    err = find_free(taken, position, from, size, &name);
    free(clean);
    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_texts_add(taken, name, strlen(name), &number);
    if (err != GRANARY_OK) {
        free(name);
        return err;
    }
    *ret_name = name;
    return GRANARY_OK;
}
