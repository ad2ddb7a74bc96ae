/* See view.h. */
#include "sql/from/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "client/resolve.h"
#include "granary/hold.h"
#include "sql/parse/parse.h"
#include "sql/select/split.h"

#define NAMES_AT_ONCE 64

/* ---- stored ---- */

/* Errors: ENOENT it is not there, or not any more · ETYPE it is no view · EUNSUPPORTED */
static granary_err
read_view(granary_client *client, granary_id id, char **ret_text)
{
    static const char version[] = SQL_VIEW_VERSION;
    const size_t head = sizeof version - 1;
    granary_view view;
    granary_err err = granary_object_get(client, id, 0, &view);

    if (err != GRANARY_OK) {
        return err == GRANARY_ETIMEDOUT ? GRANARY_ENOENT : err;
    }
    if (view.meta_size != strlen(SQL_VIEW_MARK) || memcmp(view.meta, SQL_VIEW_MARK, view.meta_size) != 0) {
        err = gr_fail(GRANARY_ETYPE, "the name is of an object that is no view");
    } else if (view.data_size < head || view.data_size > head + SQL_TEXT_MAX || memcmp(view.data, version, head) != 0) {
        err = gr_fail(GRANARY_EUNSUPPORTED,
                      "the view is of another version of granary: CREATE OR REPLACE VIEW makes it anew");
    } else {
        *ret_text = strndup((const char *)view.data + head, view.data_size - head);
        err = *ret_text == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    granary_object_release(client, &view);
    return err;
}

/* The view of a name. One that is replaced while it is looked at is looked for again. Errors: as read_view() */
static granary_err
read_named(granary_client *client, const char *name, granary_id *ret_id, char **ret_text)
{
    granary_id seen = {{0}};
    granary_err err = strlen(name) > GRANARY_TEXT_MAX || name[0] == '\0'
                          ? gr_fail(GRANARY_ENOENT, "there is no view '%.60s'", name)
                          : granary_name_get(client, name, ret_id);

    while (err == GRANARY_OK && !gr_id_equal(seen, *ret_id)) {
        seen = *ret_id;
        err = read_view(client, seen, ret_text);
        if (err != GRANARY_ENOENT) {
            return err;
        }
        err = granary_name_get(client, name, ret_id);
    }
    return err == GRANARY_OK ? gr_fail(GRANARY_ENOENT, "the object of view '%.60s' is not there", name) : err;
}

granary_err
sql_view_text(granary_client *client, const char *name, char **ret_text)
{
    granary_id id;
    granary_err err = read_named(client, name, &id, ret_text);

    return err == GRANARY_ETYPE ? GRANARY_ENOENT : err;
}

granary_err
sql_view_each(granary_client *client, struct gr_buf *out,
              void (*add)(const char *name, const char *kind, struct gr_buf *out))
{
    granary_name *names = calloc(NAMES_AT_ONCE, sizeof *names);
    char after[GRANARY_TEXT_MAX + 1] = "";
    size_t count = NAMES_AT_ONCE;
    granary_err err = names == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    while (err == GRANARY_OK && count == NAMES_AT_ONCE) {
        err = granary_name_list(client, after[0] == '\0' ? NULL : after, names, NAMES_AT_ONCE, &count);
        for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
            granary_object_info info;
            char *text = NULL;

            if (granary_object_info_get(client, names[i].id, &info) == GRANARY_OK &&
                info.meta_size == strlen(SQL_VIEW_MARK) && read_view(client, names[i].id, &text) == GRANARY_OK) {
                add(names[i].name, "view", out);
            }
            free(text);
            (void)snprintf(after, sizeof after, "%s", names[i].name);
        }
    }
    free(names);
    return err;
}

/* ---- in FROM ---- */

static bool
may_open(struct sql_statement *q, const struct sql_from *from)
{
    for (const struct sql_open_view *open = q->views; open != NULL; open = open->outer) {
        if (strcmp(open->name, from->name) == 0) {
            return sql_fail(q, GRANARY_EINVAL, from->position, "view '%s' is a part of itself", from->name);
        }
    }
    return q->views == NULL || q->views->depth < SQL_VIEWS_MAX ||
           sql_fail(q, GRANARY_EUNSUPPORTED, from->position, "more than %d views in views", SQL_VIEWS_MAX);
}

static bool
plan_view(struct sql_statement *q, struct sql_with *with)
{
    const struct sql_open_view open = {
        .name = with->name, .depth = q->views == NULL ? 1 : q->views->depth + 1, .outer = q->views};
    const struct sql_names *names = q->names;
    struct sql_result *result = SQL_NEW(q, struct sql_result);
    bool ok;

    q->views = &open;
    q->names = NULL; /* it sees nothing of the statement around it */
    ok = result != NULL && sql_plan(q, with->select, true, result);
    q->names = names;
    q->views = open.outer;
    with->result = ok ? result : NULL;
    return ok;
}

struct sql_with *
sql_open_view(struct sql_statement *q, const struct sql_from *from)
{
    struct sql_with *with = SQL_NEW(q, struct sql_with);
    char *text = NULL;
    granary_err err = with == NULL ? GRANARY_ENOMEM : sql_view_text(q->client, from->name, &text);
    bool ok = false;

    if (err == GRANARY_OK && may_open(q, from)) {
        with->name = from->name;
        with->position = from->position;
        with->select = sql_parse_inner(q, text, sql_printf(q, "view '%s'", from->name), from->position);
        ok = with->select != NULL && plan_view(q, with);
    } else if (err != GRANARY_OK && err != GRANARY_ENOENT) {
        (void)sql_fail(q, err, from->position, "view '%s': %s", from->name, granary_error_message());
    }
    free(text);
    return ok ? with : NULL;
}

/* ---- CREATE VIEW, DROP VIEW ---- */

/* The SELECT behind AS, as it was written; with names of columns, in a query of WITH that has these. */
static granary_err
write_text(const struct execution *e, struct gr_buf *out)
{
    const struct sql_statement *q = &e->q;
    const struct sql_change *change = e->change;
    size_t begin = sql_skip_blank(q->text, q->length, (size_t)change->query_position);
    size_t size = q->length - begin;

    (void)granary_sql_split(q->text + begin, q->length - begin, NULL, &size);
    gr_buf_addf(out, SQL_VIEW_VERSION);
    for (size_t i = 0; i < change->field_count; i++) {
        gr_buf_addf(out, i == 0 ? "WITH named (\"" : "\", \"");
        for (const char *c = change->fields[i].name; *c != '\0'; c++) {
            gr_buf_addf(out, *c == '"' ? "\"\"" : "%c", *c);
        }
    }
    gr_buf_addf(out, change->field_count > 0 ? "\") AS (" : "");
    gr_buf_add(out, q->text + begin, size);
    gr_buf_addf(out, change->field_count > 0 ? "\n) SELECT * FROM named" : "");
    return gr_buf_ok(out) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* It can be translated now, and has as many columns as there are names. */
static granary_err
check_view(struct execution *e)
{
    const struct sql_open_view open = {.name = e->change->tables[0]->name, .depth = 1};
    struct sql_result result;
    bool ok;

    e->q.views = &open;
    ok = sql_plan(&e->q, e->change->select, true, &result);
    e->q.views = NULL;
    if (ok && e->change->field_count > result.count) {
        ok = sql_fail(&e->q, GRANARY_EINVAL, e->change->tables[0]->position,
                      "the view has %zu columns, but %zu names are given", result.count, e->change->field_count);
    }
    return ok ? GRANARY_OK : e->q.err;
}

/* What a name is bound to. Errors: EEXIST something else than a view has it */
static granary_err
find_view(granary_client *client, const char *name, granary_id *ret_id)
{
    char *text = NULL;
    granary_err err = gr_check_no_graph(client, name);

    *ret_id = (granary_id){{0}};
    if (err != GRANARY_OK) {
        return gr_fail(GRANARY_EEXIST, "'%s' is a table", name);
    }
    err = read_named(client, name, ret_id, &text);
    free(text);
    if (err == GRANARY_ETYPE) {
        return gr_fail(GRANARY_EEXIST, "'%s' is a table or an object, and no view", name);
    }
    if (err == GRANARY_ENOENT) {
        *ret_id = (granary_id){{0}};
    }
    err = err == GRANARY_EUNSUPPORTED ? GRANARY_OK : err; /* of another version; it may be replaced */
    return err;
}

static granary_err
store_view(struct execution *e, const struct gr_buf *text, granary_id previous)
{
    const char *name = e->change->tables[0]->name;
    const granary_id id = granary_id_random();
    granary_err err =
        granary_object_put(e->q.client, id, text->bytes, text->size, SQL_VIEW_MARK, strlen(SQL_VIEW_MARK), 0);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_name_set(e->q.client, name, id, gr_id_is_zero(previous) ? GRANARY_NAME_NEW : GRANARY_NAME_ID,
                           previous, NULL);
    if (err == GRANARY_ESTATE) {
        err = gr_fail(err, "another process has changed the view: it is what that made of it");
    }
    if (err != GRANARY_OK) {
        (void)granary_object_delete(e->q.client, id, 0);
    } else if (!gr_id_is_zero(previous)) {
        (void)granary_object_delete(e->q.client, previous, 0);
    }
    return err;
}

granary_err
execute_create_view(struct execution *e)
{
    const char *name = e->change->tables[0]->name;
    struct gr_buf text = {0};
    granary_id previous;
    granary_err err = strchr(name, '/') != NULL || strlen(name) > GRANARY_TEXT_MAX || sql_find_with(&e->q, name) != NULL
                          ? gr_fail(GRANARY_EINVAL, "'%.60s' is no name for a view: letters, digits and _ are", name)
                          : find_view(e->q.client, name, &previous);

    if (err == GRANARY_OK && !e->change->replaces) {
        return e->change->lenient
                   ? err
                   : execution_tell(
                         e, gr_fail(GRANARY_EEXIST, "view '%s' is there: CREATE OR REPLACE VIEW makes it anew", name));
    }
    err = err == GRANARY_ENOENT ? GRANARY_OK : execution_tell(e, err);
    err = err == GRANARY_OK ? check_view(e) : err;
    if (err == GRANARY_OK) {
        err = write_text(e, &text);
        err = execution_tell(e, err == GRANARY_OK ? store_view(e, &text, previous) : err);
    }
    gr_buf_free(&text);
    return err;
}

static granary_err
drop_view(struct execution *e, const char *name)
{
    granary_id id;
    granary_err err = find_view(e->q.client, name, &id);

    if (err == GRANARY_ENOENT) {
        return e->change->lenient ? GRANARY_OK : gr_fail(err, "there is no view '%s'", name);
    }
    err = err == GRANARY_OK ? granary_name_set(e->q.client, name, (granary_id){{0}}, GRANARY_NAME_ID, id, NULL) : err;
    if (err == GRANARY_OK) {
        (void)granary_object_delete(e->q.client, id, 0);
    }
    return err;
}

granary_err
execute_drop_view(struct execution *e)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < e->change->table_count; i++) {
        err = drop_view(e, e->change->tables[i]->name);
        if (err != GRANARY_OK) {
            (void)sql_fail(&e->q, err, e->change->tables[i]->position, "%s", granary_error_message());
        }
    }
    return err;
}
