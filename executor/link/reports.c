/*
 * A queue in an array: reports leave in the order in which they came, when the scheduler has said that they are
 * kept.
 */
#include "executor/link/reports.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void
drop_first(struct reports *reports)
{
    struct report *report = &reports->items[reports->first++];

    granary__done__free_unpacked(report->done, NULL);
    free(report->session);
    if (--reports->count == 0) {
        reports->first = 0;
    }
}

void
reports_fini(struct reports *reports)
{
    while (reports->count > 0) {
        drop_first(reports);
    }
    free(reports->items);
    free(reports->scratch);
    *reports = (struct reports){0};
}

granary_err
reports_add(struct reports *reports, Granary__Done *done, const char *session)
{
    char *name = strdup(session);

    if (name == NULL) {
        granary__done__free_unpacked(done, NULL);
        return gr_fail(GRANARY_ENOMEM, "no memory for a report");
    }
    if (reports->first + reports->count == reports->room) {
        if (reports->first > reports->room / 2) {
            memmove(reports->items, reports->items + reports->first, reports->count * sizeof *reports->items);
            reports->first = 0;
        } else {
            size_t room = reports->room * 2 + 64;
            struct report *items = reallocarray(reports->items, room, sizeof *items);

            if (items == NULL) {
                granary__done__free_unpacked(done, NULL);
                free(name);
                return gr_fail(GRANARY_ENOMEM, "no memory for %zu reports", room);
            }
            reports->items = items;
            reports->room = room;
        }
    }
    reports->items[reports->first + reports->count++] = (struct report){.done = done, .session = name};
    reports->unsent++;
    return GRANARY_OK;
}

/* It is told from now on; nobody needs it twice. */
static void
tell_session(struct report *report)
{
    if (report->session != NULL) {
        report->done->session = report->session;
        report->session = NULL;
    }
}

void
reports_tell_session(struct reports *reports)
{
    tell_session(&reports->items[reports->first + reports->count - 1]);
}

granary_err
reports_fill(struct reports *reports, bool all, Granary__FromExecutor *message)
{
    size_t count = all ? reports->count : reports->unsent;
    struct report *items = reports->items + reports->first + (reports->count - count);

    if (count > reports->scratch_room) {
        Granary__Done **scratch = reallocarray(reports->scratch, count * 2, sizeof(Granary__Done *));

        if (scratch == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for a message of %zu reports", count);
        }
        reports->scratch = scratch;
        reports->scratch_room = count * 2;
    }
    if (count == 0) {
        return GRANARY_OK;
    }
    message->sequence = ++reports->sequence;
    for (size_t i = 0; i < count; i++) {
        if (all) {
            tell_session(&items[i]);
        }
        reports->scratch[i] = items[i].done;
        items[i].sequence = message->sequence;
    }
    message->done = reports->scratch;
    message->n_done = count;
    reports->unsent = 0;
    return GRANARY_OK;
}

void
reports_acknowledged(struct reports *reports, uint64_t sequence)
{
    while (reports->count > 0 && reports->items[reports->first].sequence != 0 &&
           reports->items[reports->first].sequence <= sequence) {
        drop_first(reports);
    }
}
