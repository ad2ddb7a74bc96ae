/* granary_sql_graph(): parse, translate, and give the result the names that SQL says. */
#include "granary/sql.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sql/about.h"
#include "sql/execute/change.h"
#include "sql/parse/parse.h"
#include "sql/question.h"

/* *ret_again: a question was answered, and the statement is to be translated once more. */
static void
translate(struct sql_statement *q, granary_graph **ret_graph, bool *ret_again)
{
    struct sql_tree tree = {.select = NULL};
    struct sql_result result;

    q->region = gr_region_create();
    q->graph = granary_graph_create();
    if (q->region == NULL || q->graph == NULL) {
        (void)sql_fail(q, GRANARY_ENOMEM, -1, "out of memory");
    } else {
        tree = sql_parse(q);
        if (tree.change != NULL) {
            (void)sql_fail(q, GRANARY_EUNSUPPORTED, -1,
                           "the statement is no SELECT: granary_sql_execute() runs those that change tables");
        } else if (tree.select != NULL && sql_plan(q, tree.select, true, &result) && sql_add_target(q, &result, NULL)) {
            *ret_graph = q->graph;
            q->graph = NULL;
        } else if (q->err == GRANARY_OK) { /* where memory lacks, not everybody can say so */
            (void)sql_fail(q, GRANARY_ENOMEM, -1, "out of memory");
        }
    }
    if (sql_asks(q)) {
        q->err = sql_answer(q);
        *ret_again = q->err == GRANARY_OK;
        if (q->err != GRANARY_OK) {
            (void)granary_sql_error(q->client, q->err, q->text, q->length);
        }
    } else if (q->err != GRANARY_OK) {
        (void)gr_fail(q->err, "%s", q->message);
    }
    granary_graph_destroy(q->graph);
    if (q->region != NULL) {
        gr_region_destroy(q->region);
    }
}

/* asks: questions are answered; else what asks is refused. */
static granary_err
make_graph(granary_client *client, const char *sql, size_t length, bool asks, granary_graph **ret_graph)
{
    struct sql_asking asking = {.count = 0};
    struct sql_statement q = {.text = sql, .length = length};
    bool again = true;

    while (again) {
        const bool all_files = q.all_files || sql_lacks_files(&q);

        q = (struct sql_statement){
            .text = sql, .length = length, .client = client, .all_files = all_files, .asking = asks ? &asking : NULL};
        again = false;
        translate(&q, ret_graph, &again);
        again = again || sql_lacks_files(&q);
    }
    sql_asking_free(&asking);
    return q.err;
}

static granary_err
make_any_graph(granary_client *client, const char *sql, size_t length, bool asks, granary_graph **ret_graph)
{
    char *text = NULL;
    granary_err err;

    if (sql == NULL || ret_graph == NULL) {
        return gr_fail(GRANARY_EINVAL, "the statement is NULL");
    }
    err = sql_about(client, sql, length, &text);
    if (err == GRANARY_OK) {
        err = text == NULL ? make_graph(client, sql, length, asks, ret_graph)
                           : make_graph(client, text, strlen(text), asks, ret_graph);
    }
    free(text);
    return err;
}

granary_err
granary_sql_graph(granary_client *client, const char *sql, size_t length, granary_graph **ret_graph)
{
    return make_any_graph(client, sql, length, true, ret_graph);
}

granary_err
gr_sql_fixed_graph(granary_client *client, const char *sql, size_t length, granary_graph **ret_graph)
{
    return make_any_graph(client, sql, length, false, ret_graph);
}
