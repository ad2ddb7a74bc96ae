/* Waits come from lease pages; a sentence is made for each kind, with the names of objects where they have some. */
#include "cli/look/waits.h"
#include "cli/print/show.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/command/cli.h"

#define TOO_LONG_MS 10000

static bool
is_there(const struct look *look, const granary_wait_info *wait, granary_object_info *ret_info)
{
    return granary_inspect_object(look->inspector, wait->session, wait->id, ret_info) == GRANARY_OK;
}

/* " 'NAME'" of an object that has one. Returns text. */
static const char *
name_of(const struct look *look, const granary_wait_info *wait, char text[SHOW_TEXT])
{
    granary_hold *holds = NULL;
    size_t count = 0;

    text[0] = '\0';
    if (granary_inspect_holds(look->inspector, wait->session, &wait->id, &holds, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count && text[0] == '\0'; i++) {
            if (holds[i].kind == GRANARY_HOLD_NAME) {
                (void)snprintf(text, SHOW_TEXT, " '%s'", holds[i].text);
            }
        }
        free(holds);
    }
    return text;
}

static void
object_text(const struct look *look, const granary_wait_info *wait, char text[SHOW_TEXT])
{
    char id[GRANARY_ID_TEXT + 1];
    char name[SHOW_TEXT];
    granary_object_info info;
    bool there = is_there(look, wait, &info);

    granary_id_format(wait->id, id);
    (void)snprintf(text, SHOW_TEXT, "object %s%.200s, which %s", id, name_of(look, wait, name),
                   !there                                  ? "nobody has sealed yet"
                   : info.state == GRANARY_OBJECT_SPILLED  ? "is to come back from disk"
                   : info.state == GRANARY_OBJECT_DELETING ? "is being deleted"
                                                           : "is to be pinned, moved or looked at");
}

const char *
waits_sentence(const struct look *look, const granary_wait_info *wait, char text[SHOW_TEXT])
{
    char what[SHOW_TEXT];
    char size[32];
    char age[32];

    if (wait->kind == GRANARY_WAIT_OBJECT) {
        object_text(look, wait, what);
    } else if (wait->kind == GRANARY_WAIT_ROOM) {
        (void)snprintf(what, sizeof what, "%s, %s", granary_wait_name(wait->kind), cli_format_size(wait->bytes, size));
    } else {
        (void)snprintf(what, sizeof what, "%s", granary_wait_name(wait->kind));
    }
    (void)snprintf(text, SHOW_TEXT, "client %u (%.31s, pid %u) waits for %.600s, for %s", wait->client, wait->tag,
                   wait->pid, what, show_age(wait->since_ms, age));
    return text;
}

bool
waits_too_long(const struct look *look, const granary_wait_info *wait)
{
    granary_object_info info;
    bool others =
        wait->kind == GRANARY_WAIT_COUNTER || (wait->kind == GRANARY_WAIT_OBJECT && !is_there(look, wait, &info));

    return !others && gr_wall_ms() - wait->since_ms >= TOO_LONG_MS;
}
