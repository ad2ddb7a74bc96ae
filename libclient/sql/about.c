/*
 * See about.h. DESCRIBE and SHOW TABLES become VALUES. SUMMARIZE computes all aggregates of all columns at once, as one row of
 * a query of WITH, and then takes that apart: lists of them become a row for each column.
 */
#include "sql/about.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "data/frame.h"
#include "granary/info.h"
#include "granary/mutable.h"
#include "graph/dtype_class.h"
#include "sql/from/view.h"
#include "sql/select/first.h"
#include "sql/select/split.h"

/* A column more is some 600 bytes of text. */
#define SUMMARIZED_MAX 1000
/* For a chunk that is there, but perhaps on disk. */
#define GET_TIMEOUT_MS 60000

/* The statement without a semicolon at its end, from a place on. */
struct part {
    const char *text;
    size_t size;
};

static struct part
rest_of(const char *sql, size_t length, size_t from)
{
    size_t begin = 0;
    size_t size = length - from;

    if (granary_sql_split(sql + from, length - from, &begin, &size) == 0) {
        return (struct part){sql + from, 0};
    }
    return (struct part){sql + from + begin, size};
}

static bool
is_query(const struct part *part)
{
    static const char *const words[] = {"select", "with",  "values",      "from",    "table",
                                        "(",      "pivot", "pivot_wider", "unpivot", "pivot_longer"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t at = 0;

        if (sql_take_word(part->text, part->size, &at, words[i])) {
            return true;
        }
    }
    return false;
}

/* `... FROM` has this behind it. A comment may end the text. */
static void
add_source(const struct part *part, struct gr_buf *out)
{
    gr_buf_addf(out, is_query(part) ? "(%.*s\n) AS \"granary source\"" : "%.*s\n", (int)part->size, part->text);
}

/* ---- the columns ---- */

/* Run it, and open the first chunk of its rows. */
static granary_err
run_for_columns(granary_client *client, const struct gr_buf *text, granary_frame **ret_frame)
{
    granary_graph *graph = NULL;
    granary_result result = {0};
    char key[GRANARY_KEY_MAX];
    bool ran = false;
    granary_err err = gr_buf_ok(text) ? granary_sql_graph(client, text->bytes, text->size, &graph)
                                      : gr_fail(GRANARY_ENOMEM, "out of memory");

    if (err == GRANARY_OK) {
        err = granary_graph_run(client, graph, NULL, GRANARY_FOREVER, key, NULL);
        ran = err == GRANARY_OK;
        err = ran ? err : granary_sql_error(client, err, text->bytes, text->size);
    }
    err = err == GRANARY_OK ? granary_graph_result(client, key, GRANARY_SQL_TARGET, &result) : err;
    if (err == GRANARY_OK) {
        granary_view view;

        err = granary_object_get(client, result.chunks[0], GET_TIMEOUT_MS, &view);
        if (err == GRANARY_OK) {
            granary_frame *frame = NULL;

            err = granary_frame_open(&view, &frame);
            err = err == GRANARY_OK ? gr_frame_slice(frame, 0, 0, ret_frame) : err;
            granary_frame_close(frame);
            granary_object_release(client, &view);
        }
    }
    granary_result_free(&result);
    if (ran) {
        (void)granary_graph_delete(client, key);
    }
    granary_graph_destroy(graph);
    return err;
}

/* Of a table, or of a query, which is translated by itself before: its faults are told at their places. */
static granary_err
find_columns(granary_client *client, const char *sql, size_t length, const struct sql_first_look *look,
             granary_frame **ret_frame)
{
    const struct part part = rest_of(sql, length, look->rest);
    struct gr_buf text = {0};
    granary_graph *graph = NULL;
    char *query = NULL;
    granary_err err = GRANARY_OK;

    if (part.size == 0) {
        return gr_fail(GRANARY_EINVAL, "of what? Write DESCRIBE t, or DESCRIBE SELECT ...");
    }
    if (client == NULL) {
        return gr_fail(GRANARY_EINVAL, "types of columns are known to an instance: there is none");
    }
    if (is_query(&part)) {
        query = sql_without_words(sql, length, look);
        err = query == NULL ? GRANARY_ENOMEM : granary_sql_graph(client, query, length, &graph);
    }
    if (err == GRANARY_OK) {
        gr_buf_addf(&text, "SELECT * FROM ");
        add_source(&part, &text);
        gr_buf_addf(&text, "LIMIT 0");
        err = run_for_columns(client, &text, ret_frame);
    }
    granary_graph_destroy(graph);
    gr_buf_free(&text);
    free(query);
    return err;
}

static void
add_described(const granary_frame *frame, struct gr_buf *out)
{
    gr_buf_addf(out, "SELECT * FROM (VALUES ");
    for (size_t i = 0; i < granary_frame_columns(frame); i++) {
        const granary_column *column = granary_frame_column(frame, i);

        gr_buf_addf(out, i > 0 ? ", (" : "(");
        sql_add_quoted(column->name, strlen(column->name), '\'', out);
        gr_buf_addf(out, ", '%s')", granary_dtype_name(column->dtype));
    }
    gr_buf_addf(out, ") AS described (column_name, column_type)");
}

/* ---- SUMMARIZE ---- */

/* Whether values have a least one. */
static bool
is_ordered(granary_dtype dtype)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_NULLTYPE:
    case GRANARY_BOOL:
    case GRANARY_BINARY:
    case GRANARY_LIST:
        return false;
    default:
        return true;
    }
}

/* Whether different values can be counted. */
static bool
is_counted(granary_dtype dtype)
{
    return gr_dtype_kind(dtype) != GRANARY_LIST && dtype != GRANARY_NULLTYPE;
}

/* The aggregates of the i-th column: least, most, unique, average, deviation, quantiles, count. */
static void
add_aggregates(const granary_column *column, size_t i, struct gr_buf *out)
{
    struct gr_buf name = {0};

    sql_add_quoted(column->name, strlen(column->name), '"', &name);
    if (gr_buf_ok(&name)) {
        gr_buf_addf(out, ", count(%s) AS c%zu", name.bytes, i);
        if (is_counted(column->dtype)) {
            gr_buf_addf(out, ", count(DISTINCT %s) AS u%zu", name.bytes, i);
        }
        if (is_ordered(column->dtype)) {
            gr_buf_addf(out, ", min(%s) AS m%zu, max(%s) AS x%zu", name.bytes, i, name.bytes, i);
        }
        if (gr_dtype_is_number(column->dtype)) {
            gr_buf_addf(out, ", avg(CAST(%s AS double)) AS a%zu, stddev(CAST(%s AS double)) AS s%zu", name.bytes, i,
                        name.bytes, i);
            for (int part = 1; part <= 3; part++) {
                gr_buf_addf(out, ", quantile_cont(CAST(%s AS double), 0.%d) AS q%d_%zu", name.bytes, 25 * part, part,
                            i);
            }
        }
    }
    out->failed = out->failed || name.failed;
    gr_buf_free(&name);
}

/* What is summed up of a column: what it is called, the type where a column has none, and which columns have one. */
static const struct listed {
    const char *name;
    const char *column; /* of the row of aggregates, followed by its number */
    const char *type;
    bool (*has)(granary_dtype dtype);
    bool as_text;
} listed[] = {
    {"min", "m", "varchar", is_ordered, true},
    {"max", "x", "varchar", is_ordered, true},
    {"approx_unique", "u", "bigint", is_counted, false},
    {"avg", "a", "double", gr_dtype_is_number, false},
    {"std", "s", "double", gr_dtype_is_number, false},
    {"q25", "q1_", "double", gr_dtype_is_number, false},
    {"q50", "q2_", "double", gr_dtype_is_number, false},
    {"q75", "q3_", "double", gr_dtype_is_number, false},
    {"counted", "c", NULL, NULL, false},
};

/* A list with an item for each column. */
static void
add_list(const granary_frame *frame, const struct listed *what, struct gr_buf *out)
{
    for (size_t i = 0; i < granary_frame_columns(frame); i++) {
        gr_buf_addf(out, i > 0 ? ", " : ", unnest(ARRAY[");
        if (what->has != NULL && !what->has(granary_frame_column(frame, i)->dtype)) {
            gr_buf_addf(out, "CAST(NULL AS %s)", what->type);
        } else {
            gr_buf_addf(out, what->as_text ? "CAST(%s%zu AS varchar)" : "%s%zu", what->column, i);
        }
    }
    gr_buf_addf(out, "]) AS %s", what->name);
}

/* The row of aggregates, taken apart: lists side by side, of which each item gets a row. */
static void
add_rows(const granary_frame *frame, struct gr_buf *out)
{
    const size_t count = granary_frame_columns(frame);

    gr_buf_addf(out,
                " SELECT column_name, column_type, min, max, approx_unique, avg, std, q25, q50, q75, rows AS count, "
                "CASE WHEN rows > 0 THEN round(100.0 * (rows - counted) / rows, 2) END AS null_percentage FROM "
                "(SELECT rows");
    for (size_t i = 0; i < count; i++) {
        gr_buf_addf(out, i > 0 ? ", " : ", unnest(ARRAY[");
        sql_add_quoted(granary_frame_column(frame, i)->name, strlen(granary_frame_column(frame, i)->name), '\'', out);
    }
    for (size_t i = 0; i < count; i++) {
        gr_buf_addf(out, "%s'%s'", i > 0 ? ", " : "]) AS column_name, unnest(ARRAY[",
                    granary_dtype_name(granary_frame_column(frame, i)->dtype));
    }
    gr_buf_addf(out, "]) AS column_type");
    for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
        add_list(frame, &listed[i], out);
    }
    gr_buf_addf(out, " FROM \"granary summary\") AS \"granary parts\"");
}

static granary_err
add_summary(const struct part *part, const granary_frame *frame, struct gr_buf *out)
{
    const size_t count = granary_frame_columns(frame);

    if (count > SUMMARIZED_MAX) {
        return gr_fail(
            GRANARY_EUNSUPPORTED,
            "SUMMARIZE takes %d columns at most, and these are %zu: name some of them: SUMMARIZE SELECT a, b FROM t",
            SUMMARIZED_MAX, count);
    }
    gr_buf_addf(out, "WITH \"granary summary\" AS (SELECT count(*) AS rows");
    for (size_t i = 0; i < count; i++) {
        add_aggregates(granary_frame_column(frame, i), i, out);
    }
    gr_buf_addf(out, " FROM ");
    add_source(part, out);
    gr_buf_addf(out, ")");
    add_rows(frame, out);
    return GRANARY_OK;
}

granary_err
sql_about_columns(const granary_frame *frame, const char *source, struct gr_buf *out)
{
    granary_err err = GRANARY_OK;

    if (source == NULL) {
        add_described(frame, out);
    } else {
        err = add_summary(&(struct part){source, strlen(source)}, frame, out);
    }
    return err == GRANARY_OK && out->failed ? gr_fail(GRANARY_ENOMEM, "out of memory") : err;
}

/* ---- SHOW TABLES ---- */

static void
add_table(const char *name, const char *kind, struct gr_buf *out)
{
    gr_buf_addf(out, "%s %s", kind, name);
    gr_buf_add(out, "", 1);
}

static granary_err
add_mutable(granary_client *client, struct gr_buf *out)
{
    granary_mutable_info *infos = NULL;
    size_t count = 0;
    granary_err err = granary_mutable_list(client, &infos, &count);

    for (size_t i = 0; i < count; i++) {
        if (infos[i].kind == GRANARY_MUTABLE_FRAME || infos[i].kind == GRANARY_SEALED_FRAME) {
            add_table(infos[i].name, infos[i].kind == GRANARY_MUTABLE_FRAME ? "table" : "sealed", out);
        }
    }
    free(infos);
    return err;
}

/* Results of graphs. A scheduler that is not there has none. A graph with one frame is named by its key alone. */
static granary_err
add_kept(granary_client *client, struct gr_buf *out)
{
    static const char *const fields[] = {"key", "kind", "state"};
    const granary_query query = {
        .subject = "tileables", .fields = fields, .field_count = sizeof fields / sizeof fields[0]};
    granary_table *table = NULL;
    granary_err err = granary_info(client, &query, &table);

    for (size_t i = 0; err == GRANARY_OK && i < granary_table_rows(table); i++) {
        const char *name = granary_table_text(table, i, "key");
        const size_t key = strcspn(name, "/");
        size_t frames = 0;

        for (size_t k = 0; k < granary_table_rows(table); k++) {
            const char *other = granary_table_text(table, k, "key");

            frames += strncmp(other, name, key) == 0 && other[key] == '/' &&
                      strcmp(granary_table_text(table, k, "kind"), "frame") == 0;
        }
        if (strcmp(granary_table_text(table, i, "kind"), "frame") == 0 &&
            strcmp(granary_table_text(table, i, "state"), "succeeded") == 0) {
            gr_buf_addf(out, "kept %.*s", (int)(frames == 1 ? key : strlen(name)), name);
            gr_buf_add(out, "", 1);
        }
    }
    granary_table_free(table);
    return err == GRANARY_EUNREACHABLE ? GRANARY_OK : err;
}

granary_err
gr_sql_tables(granary_client *client, struct gr_buf *out)
{
    granary_err err = client == NULL ? gr_fail(GRANARY_EINVAL, "tables are of an instance: there is none") : GRANARY_OK;

    err = err == GRANARY_OK ? add_mutable(client, out) : err;
    err = err == GRANARY_OK ? add_kept(client, out) : err;
    return err == GRANARY_OK ? sql_view_each(client, out, add_table) : err;
}

granary_err
gr_sql_columns(granary_client *client, const char *name, granary_frame **ret_frame)
{
    struct gr_buf text = {0};
    granary_err err;

    gr_buf_addf(&text, "SELECT * FROM ");
    sql_add_quoted(name, strlen(name), '"', &text);
    gr_buf_addf(&text, " LIMIT 0");
    err = run_for_columns(client, &text, ret_frame);
    gr_buf_free(&text);
    return err;
}

static granary_err
add_tables(granary_client *client, struct gr_buf *out)
{
    struct gr_buf names = {0};
    granary_err err = gr_sql_tables(client, &names);

    gr_buf_addf(out, "SELECT * FROM (VALUES ");
    for (size_t at = 0; err == GRANARY_OK && gr_buf_ok(&names) && at < names.size; at += strlen(names.bytes + at) + 1) {
        const char *kind = names.bytes + at;
        const size_t size = strcspn(kind, " ");

        gr_buf_addf(out, at == 0 ? "(" : ", (");
        sql_add_quoted(kind + size + 1, strlen(kind + size + 1), '\'', out);
        gr_buf_addf(out, ", '%.*s')", (int)size, kind);
    }
    gr_buf_addf(out, names.size == 0 ? "('', '')) AS shown (name, kind) WHERE name <> ''"
                                     : ") AS shown (name, kind) ORDER BY name");
    out->failed = out->failed || names.failed;
    gr_buf_free(&names);
    return err;
}

bool
sql_is_about(const char *sql, size_t length)
{
    const enum sql_first kind = sql_first_look(sql, length).kind;

    return kind == SQL_FIRST_DESCRIBE || kind == SQL_FIRST_SUMMARIZE || kind == SQL_FIRST_TABLES;
}

granary_err
sql_about(granary_client *client, const char *sql, size_t length, char **ret_text)
{
    const struct sql_first_look look = sql_first_look(sql, length);
    struct gr_buf out = {0};
    granary_frame *frame = NULL;
    granary_err err = GRANARY_OK;

    *ret_text = NULL;
    if (look.kind == SQL_FIRST_TABLES) {
        err = add_tables(client, &out);
    } else if (look.kind == SQL_FIRST_DESCRIBE || look.kind == SQL_FIRST_SUMMARIZE) {
        const struct part part = rest_of(sql, length, look.rest);

        err = find_columns(client, sql, length, &look, &frame);
        if (err == GRANARY_OK && look.kind == SQL_FIRST_DESCRIBE) {
            add_described(frame, &out);
        } else if (err == GRANARY_OK) {
            err = add_summary(&part, frame, &out);
        }
    } else {
        return GRANARY_OK;
    }
    if (err == GRANARY_OK && (*ret_text = gr_buf_take(&out)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    gr_buf_free(&out);
    gr_frame_destroy(frame);
    return err;
}
