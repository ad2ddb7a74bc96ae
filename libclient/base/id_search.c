/* The search for an id by its beginning: it keeps the first match and sees whether a second one differs. */
#include "base/id_search.h"

#include <string.h>

#include "base/error.h"
#include "base/id.h"

granary_err
gr_id_search_begin(const char *prefix, struct gr_id_search *ret_search)
{
    size_t length = strlen(prefix);

    if (length > GRANARY_ID_TEXT || strspn(prefix, "0123456789abcdefABCDEF") != length) {
        return gr_fail(GRANARY_EINVAL,
                       "object id '%.40s': at most %d hex digits are expected: `granary ls` lists ids, and "
                       "name:NAME names an object that has a name",
                       prefix, GRANARY_ID_TEXT);
    }
    *ret_search = (struct gr_id_search){.length = length};
    for (size_t i = 0; i < length; i++) {
        ret_search->prefix[i] = (char)(prefix[i] >= 'A' && prefix[i] <= 'F' ? prefix[i] - 'A' + 'a' : prefix[i]);
    }
    return GRANARY_OK;
}

void
gr_id_search_look(struct gr_id_search *search, granary_id id)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    if (memcmp(text, search->prefix, search->length) == 0 && (search->found == 0 || !gr_id_equal(search->id, id))) {
        search->id = id;
        search->found++;
    }
}

granary_err
gr_id_search_end(const struct gr_id_search *search, granary_id *ret_id)
{
    if (search->found == 0) {
        return gr_fail(GRANARY_ENOENT, "object %s: no object's id starts so", search->prefix);
    }
    if (search->found > 1) {
        return gr_fail(GRANARY_EINVAL, "object %s: %zu objects' ids start so: give more digits", search->prefix,
                       search->found);
    }
    *ret_id = search->id;
    return GRANARY_OK;
}
