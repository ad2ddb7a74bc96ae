/* CREATE VIEW and TRUNCATE. */
#include <string.h>

#include "sql/parse/dialect/dialect.h"

/* Behind AS, which is in no bracket. */
static bool
find_query(struct parse *p, struct sql_change *change)
{
    char *text = sql_printf(p->q, "%.*s", (int)p->q->length, p->q->text);
    PgQuery__ScanResult *scan = text == NULL || !dialect_numbers(p->q, text) ? NULL : parse_scan(p->q, text);
    int depth = 0;

    for (size_t i = 0; scan != NULL && i < scan->n_tokens && change->query_position == 0; i++) {
        const PgQuery__ScanToken *token = scan->tokens[i];

        depth += token->token == PG_QUERY__TOKEN__ASCII_40;
        depth -= token->token == PG_QUERY__TOKEN__ASCII_41;
        if (depth == 0 && token->token == PG_QUERY__TOKEN__AS) {
            change->query_position = token->end;
        }
    }
    parse_scan_free(scan);
    return change->query_position > 0 ||
           sql_fail(p->q, GRANARY_EUNSUPPORTED, change->position, "the view's SELECT is not found behind AS");
}

bool
parse_view_statement(struct parse *p, const PgQuery__ViewStmt *from, struct sql_change *change)
{
    PgQuery__RangeVar *view = TAKE(p, from, view);
    const PgQuery__Node *query = TAKE(p, from, query);

    change->kind = SQL_CREATE_VIEW;
    if (strcmp(view->relpersistence, "t") == 0) {
        view->relpersistence[0] = 'p'; /* each view is of its session alone, and ends with it */
    }
    if (TAKE(p, from, with_check_option) != PG_QUERY__VIEW_CHECK_OPTION__NO_CHECK_OPTION) {
        return parse_unsupported(p, view->location, "CHECK OPTION of a view is");
    }
    if (query == NULL || query->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
        return parse_unsupported(p, view->location, "a view of anything but a SELECT is");
    }
    if (!parse_changed_table(p, view, TAKE(p, from, aliases), from->n_aliases, change)) {
        return false;
    }
    change->replaces = TAKE(p, from, replace) != 0;
    change->select = parse_select(p, query->select_stmt);
    return change->select != NULL && find_query(p, change);
}

/* It is DELETE of all rows. */
bool
parse_truncate(struct parse *p, const PgQuery__TruncateStmt *from, struct sql_change *change)
{
    const PgQuery__RangeVar *table = TAKE(p, from, relations)[0]->range_var;

    if (from->n_relations > 1) {
        return parse_unsupported(p, from->relations[1]->range_var->location, "TRUNCATE of several tables is");
    }
    (void)TAKE(p, from, behavior); /* nothing depends on a table */
    change->kind = SQL_DELETE;
    return parse_changed_table(p, table, NULL, 0, change);
}
