/* Holds that are names are kept in the order of ids, and found by bisection. */
#include "cli/look/named.h"
#include "cli/print/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"

static int
by_id(const void *left, const void *right)
{
    const granary_hold *a = left;
    const granary_hold *b = right;
    int order = memcmp(&a->id, &b->id, sizeof a->id);

    return order != 0 ? order : strcmp(a->text, b->text);
}

granary_err
named_read(const struct look *look, struct named *ret_named)
{
    struct named named = {.holds = NULL};
    size_t count = 0;
    granary_err err = look->client != NULL
                          ? granary_holds(look->client, NULL, &named.holds, &count)
                          : granary_inspect_holds(look->inspector, look->session, NULL, &named.holds, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        if (named.holds[i].kind == GRANARY_HOLD_NAME) {
            named.holds[named.count++] = named.holds[i];
        }
    }
    if (named.count > 0) {
        qsort(named.holds, named.count, sizeof *named.holds, by_id);
    }
    *ret_named = named;
    return GRANARY_OK;
}

void
named_fini(struct named *named)
{
    free(named->holds);
    *named = (struct named){.holds = NULL};
}

/* The first of the object's names; the end when it has none. */
static size_t
first_of(const struct named *named, granary_id id)
{
    size_t low = 0;
    size_t high = named->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (memcmp(&named->holds[middle].id, &id, sizeof id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const char *
named_text(const struct named *named, granary_id id, char buffer[SHOW_TEXT])
{
    char all[SHOW_TEXT] = "";
    size_t used = 0;

    for (size_t i = first_of(named, id); i < named->count && gr_id_equal(named->holds[i].id, id); i++) {
        int added = snprintf(all + used, sizeof all - used, "%s%s", used > 0 ? ", " : "", named->holds[i].text);

        used += added > 0 && used + (size_t)added < sizeof all ? (size_t)added : 0;
    }
    return show_text(all, buffer);
}

void
named_json(const struct named *named, granary_id id, struct json *json)
{
    json_open(json, "names", '[');
    for (size_t i = first_of(named, id); i < named->count && gr_id_equal(named->holds[i].id, id); i++) {
        json_text(json, NULL, named->holds[i].text);
    }
    json_close(json);
}
