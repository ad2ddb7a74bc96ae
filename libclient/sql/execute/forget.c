/*
 * What a statement has left is taken back. A request of the dead client may still be on its way to the scheduler, which
 * takes requests of its clients in turn: who has had one answer comes behind all that were sent before. So graphs are
 * looked for twice.
 */
#include "sql/execute/forget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "granary/hold.h"
#include "granary/mutable.h"

/* User code is asked to end, and killed so much later. */
#define STOP_GRACE_MS 1000

granary_err
sql_forget_graph(granary_client *client, const char *key)
{
    granary_err err = granary_graph_cancel(client, key, STOP_GRACE_MS, NULL);

    err = err == GRANARY_OK ? granary_graph_delete(client, key) : err;
    return err == GRANARY_ENOENT ? GRANARY_OK : err;
}

/* Whether an object has another name, too. */
static granary_err
look_for_names(granary_client *client, granary_id id, const char *but, bool *ret_named)
{
    granary_hold *holds = NULL;
    size_t count = 0;
    granary_err err = granary_holds(client, &id, &holds, &count);

    *ret_named = false;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        *ret_named = *ret_named || (holds[i].kind == GRANARY_HOLD_NAME && strcmp(holds[i].text, but) != 0);
    }
    free(holds);
    return err;
}

granary_err
sql_forget_name(granary_client *client, const char *name)
{
    granary_id id;
    bool named = false;
    granary_err err;

    err = granary_name_get(client, name, &id);
    err = err == GRANARY_OK ? look_for_names(client, id, name, &named) : err;
    if (err == GRANARY_OK) {
        err = named ? granary_name_set(client, name, (granary_id){{0}}, GRANARY_NAME_ANY, id, NULL)
                    : granary_mutable_delete(client, name);
    }
    return err == GRANARY_ENOENT ? GRANARY_OK : err;
}

granary_err
sql_forget_table(granary_client *client, const char *label)
{
    char name[SQL_LABEL_MAX];
    granary_err err, old_err;

    (void)snprintf(name, sizeof name, SQL_LABEL_NEW, label);
    err = sql_forget_name(client, name);
    (void)snprintf(name, sizeof name, SQL_LABEL_OLD, label);
    old_err = sql_forget_name(client, name);
    return err == GRANARY_OK ? old_err : err;
}

granary_err
gr_sql_forget(granary_client *client, const char *label)
{
    char fill[SQL_LABEL_MAX];
    granary_err err = GRANARY_OK;
    granary_err table_err;

    (void)snprintf(fill, sizeof fill, SQL_LABEL_FILL, label);
    for (int i = 0; err == GRANARY_OK && i < SQL_FORGET_PASSES; i++) {
        err = sql_forget_graph(client, label);
        err = err == GRANARY_OK ? sql_forget_graph(client, fill) : err;
    }
    table_err = sql_forget_table(client, label);
    return err == GRANARY_OK ? table_err : err;
}
