/* See stored.h. */
#include "sql/execute/stored.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "granary/info.h"
#include "sql/ast.h"

enum { NAMES_MAX = 64 }; /* asked for at once; a statement that names more asks for the rest one by one */

static granary_err
take_stored(struct sql_statement *q, const granary_table *table, size_t row)
{
    struct sql_stored *stored = SQL_NEW(q, struct sql_stored);
    const char *name = granary_table_text(table, row, "key");
    const char *slash = strchr(name, '/');
    const char *first = granary_table_text(table, row, "first");

    if (stored == NULL || slash == NULL) {
        return q->err;
    }
    stored->key = sql_printf(q, "%.*s", (int)(slash - name), name);
    stored->target = sql_printf(q, "%s", slash + 1);
    stored->state = sql_printf(q, "%s", granary_table_text(table, row, "state"));
    stored->is_frame = strcmp(granary_table_text(table, row, "kind"), "frame") == 0;
    stored->rows = strtod(granary_table_text(table, row, "shape"), NULL);
    if (first[0] != '\0') {
        (void)granary_id_parse(first, strlen(first), &stored->first);
    }
    if (q->err == GRANARY_OK) {
        stored->next = q->stored;
        q->stored = stored;
    }
    return q->err;
}

/* What is not there is passed over, unless it is the only one. */
static granary_err
ask(struct sql_statement *q, const char *const *keys, size_t count, bool ignore_missing)
{
    static const char *const fields[] = {"key", "kind", "shape", "first", "state"};
    const granary_query query = {.subject = "tileables",
                                 .keys = keys,
                                 .key_count = count,
                                 .fields = fields,
                                 .field_count = sizeof fields / sizeof fields[0],
                                 .ignore_missing = ignore_missing};
    granary_table *table = NULL;
    granary_err err = granary_info(q->client, &query, &table);

    for (size_t i = 0; err == GRANARY_OK && i < granary_table_rows(table); i++) {
        err = take_stored(q, table, i);
    }
    granary_table_free(table);
    return err;
}

static const char *
key_of(struct sql_statement *q, const char *name)
{
    return sql_printf(q, "%.*s", (int)strcspn(name, "/"), name);
}

static bool
is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* All that the statement names; files, tables that change and queries of WITH are among them, and not there. */
static granary_err
ask_all(struct sql_statement *q)
{
    const char *keys[NAMES_MAX];
    size_t count = 0;

    for (const struct sql_from *from = q->named; from != NULL && count < NAMES_MAX; from = from->before) {
        const char *key = key_of(q, from->name);

        if (key != NULL && key[0] != '\0' && strlen(key) < GRANARY_KEY_MAX && !is_among(keys, count, key)) {
            keys[count++] = key;
        }
    }
    q->asked = true;
    return q->err != GRANARY_OK || count == 0 ? q->err : ask(q, keys, count, true);
}

/* The graph's frames, of the target that was named if one was. Returns how many there are. */
static size_t
look(const struct sql_statement *q, const char *key, const char *target, bool *ret_known,
     const struct sql_stored **ret_stored)
{
    size_t found = 0;

    *ret_known = false;
    for (const struct sql_stored *stored = q->stored; stored != NULL; stored = stored->next) {
        if (strcmp(stored->key, key) != 0) {
            continue;
        }
        if (!*ret_known || (stored->is_frame && (target == NULL || strcmp(stored->target, target) == 0))) {
            *ret_stored = stored;
        }
        found += stored->is_frame && (target == NULL || strcmp(stored->target, target) == 0);
        *ret_known = true;
    }
    return found;
}

static granary_err
judge(size_t found, const char *key, const char *target, const struct sql_stored *stored)
{
    if (stored != NULL && strcmp(stored->state, "running") == 0) {
        return gr_fail(GRANARY_ESTATE, "it is still being loaded: `granary await %s` waits for it", key);
    }
    if (stored != NULL && strcmp(stored->state, "succeeded") != 0) {
        return gr_fail(GRANARY_ESTATE, "the graph of that name did not succeed (it is '%s'), so it has no rows",
                       stored->state);
    }
    if (found == 0) {
        return target == NULL
                   ? gr_fail(GRANARY_ETYPE, "it has no frame among its results: the operator from_tensor "
                                            "makes one of a tensor")
                   : gr_fail(GRANARY_ENOENT, "graph '%s' has no frame called %s among its results", key, target);
    }
    return found == 1 ? GRANARY_OK
                      : gr_fail(GRANARY_EINVAL, "graph '%s' has %zu frames among its results: write \"%s/NAME\"", key,
                                found, key);
}

granary_err
sql_find_stored(struct sql_statement *q, const char *name, const struct sql_stored **ret_stored)
{
    const char *key = key_of(q, name);
    const char *slash = strchr(name, '/');
    const char *target = slash == NULL ? NULL : slash + 1;
    const struct sql_stored *stored = NULL;
    granary_err err = q->err != GRANARY_OK || q->asked ? q->err : ask_all(q);
    bool known;
    size_t found;

    if (err != GRANARY_OK) {
        return err;
    }
    found = look(q, key, target, &known, &stored);
    if (!known) { /* one too many, or nobody named it in FROM */
        err = ask(q, &key, 1, false);
        found = look(q, key, target, &known, &stored);
    }
    if (err == GRANARY_OK) {
        err = judge(found, key, target, stored);
    }
    if (err == GRANARY_OK) {
        *ret_stored = stored;
    }
    return err;
}
