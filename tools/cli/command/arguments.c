/* Arguments in the forms that several commands take. */
#include "cli/command/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/size.h"

granary_err
arguments_id(const char *text, granary_id *ret_id)
{
    return granary_id_parse(text, strlen(text), ret_id);
}

granary_err
arguments_range(const char *text, uint64_t *from, uint64_t *to)
{
    const char *colon = strchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    granary_err err = GRANARY_OK;
    char first[32];

    if (colon == NULL || length >= sizeof first) {
        return gr_fail(GRANARY_EINVAL, "'%s' is no range: FROM:TO is expected", text);
    }
    memcpy(first, text, length);
    first[length] = '\0';
    if (length > 0) {
        err = gr_size_parse(first, from);
    }
    if (err == GRANARY_OK && colon[1] != '\0') {
        err = gr_size_parse(colon + 1, to);
    }
    if (err == GRANARY_OK && *from > *to) {
        err = gr_fail(GRANARY_EINVAL, "'%s' ends before it begins", text);
    }
    return err;
}

granary_err
arguments_names(char *text, const char ***ret_names, size_t *ret_count)
{
    const char **names = text == NULL ? NULL : calloc(strlen(text) + 3, sizeof *names);
    size_t count = 0;

    if (text != NULL && names == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", text);
    }
    for (char *name = text; name != NULL; count++) {
        names[count] = strsep(&name, ",");
    }
    *ret_names = names;
    *ret_count = count;
    return GRANARY_OK;
}
