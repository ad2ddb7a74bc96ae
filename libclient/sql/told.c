/*
 * Errors of a graph in the words of the statement it was made of. They name nodes ("filter 7 at LINE:COLUMN"), columns
 * that SQL has no name for ("value#4") and expressions as graphs have them, which rules may have moved elsewhere. What
 * those are is found by translating the statement again.
 */
#include "sql/told.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "granary/mutable.h"
#include "granary/sql.h"
#include "sql/about.h"
#include "sql/execute/change.h"
#include "sql/parse/parse.h"
#include "sql/question.h"

struct span {
    size_t from;
    size_t to;
    int position;
};

void
sql_tell(struct sql_statement *q, const char *inner, const char *outer, int position)
{
    if (q->telling != NULL && inner != NULL) {
        gr_buf_add(&q->telling->told, &(struct sql_told){inner, outer, position}, sizeof(struct sql_told));
    }
}

void
sql_tell_value(struct sql_statement *q, int position, size_t row, const char *column)
{
    const char *name = q->telling == NULL ? NULL : sql_printf(q, "%s", column);

    if (name != NULL) {
        gr_buf_add(&q->telling->values, &(struct sql_told_value){position, row, name}, sizeof(struct sql_told_value));
    }
}

void
sql_tell_span(struct sql_statement *q, size_t from, size_t to, int position)
{
    if (q->telling != NULL) {
        gr_buf_add(&q->telling->spans, &(struct span){from, to, position}, sizeof(struct span));
    }
}

/* The byte at which character n, from 1, of a text begins. */
static size_t
byte_of(const char *text, int n)
{
    size_t at = 0;

    while (text[at] != '\0' && n > 1) {
        at++;
        n -= (text[at] & 0xc0) != 0x80;
    }
    return at;
}

static void
tell_parts(struct sql_statement *q, const char *text, const struct gr_expr *expr)
{
    const struct span *spans = (const void *)q->telling->spans.bytes;
    size_t count = q->telling->spans.size / sizeof *spans;
    size_t at = byte_of(text, expr->position);
    size_t i = 0;

    for (size_t k = 0; k < expr->operand_count; k++) {
        tell_parts(q, text, expr->operands[k]);
    }
    while (i < count && (at < spans[i].from || at >= spans[i].to)) {
        i++;
    }
    if (expr->kind == GR_EXPR_CALL && i < count) {
        char *printed = gr_expr_text(expr);

        sql_tell(q, printed == NULL ? NULL : sql_printf(q, "%s", printed), NULL, spans[i].position);
        free(printed);
    }
}

void
sql_tell_expr(struct sql_statement *q, const char *text, const struct gr_expr *expr)
{
    if (q->telling != NULL) {
        if (expr != NULL && gr_buf_ok(&q->telling->spans)) {
            tell_parts(q, text, expr);
        }
        q->telling->spans.size = 0;
    }
}

/* ---- the message ---- */

struct wording {
    struct sql_statement q;
    struct sql_telling telling;
    struct sql_asking asking;
    const char *rest; /* of the message, what is not said yet */
    int position;
    bool is_found;       /* position is that of the expression that failed */
    const char *written; /* the function that failed, in SQL */
    struct gr_buf out;
};

/* What makes a column or an expression (placed: and where), or else what SQL calls a column, the last time. */
static const struct sql_told *
find(const struct wording *w, const char *text, size_t size, bool placed)
{
    const struct sql_told *told = (const void *)w->telling.told.bytes;
    const struct sql_told *found = NULL;

    for (size_t i = 0; i < w->telling.told.size / sizeof *told && (!placed || found == NULL); i++) {
        if (strncmp(told[i].inner, text, size) == 0 && told[i].inner[size] == '\0' &&
            (placed ? told[i].position >= 0 : told[i].position < 0)) {
            found = &told[i];
        }
    }
    return found;
}

/* The bytes of a name without the number that makes it another one: "value" of "value#4". */
static size_t
plain_size(const char *name, size_t size)
{
    size_t digits = size;

    while (digits > 0 && isdigit((unsigned char)name[digits - 1])) {
        digits--;
    }
    return digits < size && digits > 1 && name[digits - 1] == '#' ? digits - 1 : size;
}

/* Where "LINE:COLUMN" of a node's name is in the statement; -1: its name has none. */
static int
position_of(const struct sql_statement *q, const char *name, size_t size)
{
    const char *at = NULL;
    int line, column;
    size_t i = 0;

    for (size_t k = 0; k + 4 < size; k++) {
        at = strncmp(name + k, " at ", 4) == 0 ? name + k : at;
    }
    if (at == NULL || sscanf(at, " at %d:%d", &line, &column) != 2) {
        return -1;
    }
    for (; line > 1 && i < q->length; i++) {
        line -= q->text[i] == '\n';
    }
    for (; column > 1 && i < q->length; column--) {
        do {
            i++;
        } while (i < q->length && (q->text[i] & 0xc0) == 0x80);
    }
    return sql_parsed_position(q, (int)i);
}

static void
tell_change(struct sql_statement *q, const struct sql_change *change)
{
    granary_mutable *table = NULL;

    if (q->client == NULL) {
        return;
    }
    if (change->kind == SQL_CREATE_AS) {
        (void)sql_change_plan(q, change, NULL);
    } else if (change->kind >= SQL_INSERT && change->kind <= SQL_UPDATE &&
               granary_table_open(q->client, change->tables[0]->name, &table) == GRANARY_OK &&
               granary_mutable_schema(table) != NULL) {
        (void)sql_change_plan(q, change, granary_mutable_schema(table));
    }
    granary_mutable_close(table);
}

/* Returns whether files that were not opened have the column that it fails for. *ret_again: a question was answered. */
static bool
translate(struct wording *w, bool all_files, bool *ret_again)
{
    struct sql_statement q = w->q;
    struct sql_tree tree = {.select = NULL};
    struct sql_result result;

    q.all_files = all_files;
    q.graph = granary_graph_create();
    if (q.graph != NULL) {
        tree = sql_parse(&q);
    }
    w->q.moved = q.moved; /* for its places */
    w->q.moved_count = q.moved_count;
    if (tree.select != NULL) {
        (void)sql_plan(&q, tree.select, true, &result);
    } else if (tree.change != NULL) {
        tell_change(&q, tree.change);
    }
    if (sql_asks(&q)) {
        *ret_again = sql_answer(&q) == GRANARY_OK;
    }
    granary_graph_destroy(q.graph);
    return sql_lacks_files(&q);
}

/* What is told of a statement: by translating it, whatever comes of that. */
static void
tell_statement(struct wording *w)
{
    bool all_files = false;
    bool again = true;

    while (again) {
        bool lacks;

        again = false;
        lacks = translate(w, all_files, &again);
        again = again || (lacks && !all_files);
        all_files = all_files || lacks;
    }
}

/* Where an operator ("groupby_map": groupby) comes from, of a node that has taken over another one's work. */
static int
position_of_op(const struct wording *w, const char *op)
{
    const struct sql_told *told = find(w, op, strcspn(op, "_)"), true);

    return told == NULL ? -1 : told->position;
}

/* "node 'NAME' (OP): ". false: the message is not of a node */
static bool
skip_node(struct wording *w)
{
    static const char word[] = "node '";
    const char *name = strstr(w->rest, word);
    const char *end = name == NULL ? NULL : strchr(name += strlen(word), '\'');
    const char *colon = end == NULL ? NULL : strstr(end, ": ");

    if (colon == NULL || (end[1] != ':' && strncmp(end, "' (", 3) != 0)) {
        return false;
    }
    tell_statement(w);
    w->position = position_of(&w->q, name, (size_t)(end - name));
    if (w->position < 0 && end[1] == ' ') {
        w->position = position_of_op(w, end + 3);
    }
    w->rest = colon + 2;
    return true;
}

/* "column 'value#4': ": what makes it is shown by its place; a column that SQL knows is named. */
static bool
skip_column(struct wording *w, const char *word)
{
    const char *name = w->rest + strlen(word);
    const char *end = strncmp(w->rest, word, strlen(word)) != 0 ? NULL : strstr(name, "': ");
    size_t size = end == NULL ? 0 : (size_t)(end - name);
    const struct sql_told *known = end == NULL ? NULL : find(w, name, size, false);
    const struct sql_told *made = end == NULL || w->written != NULL ? NULL : find(w, name, size, true);

    if (end == NULL) {
        return false;
    }
    if (known != NULL) {
        gr_buf_addf(&w->out, "column '%s': ", known->outer);
    } else if (made != NULL) {
        w->position = made->position;
        w->written = made->outer;
    }
    w->rest = end + 3;
    return true;
}

static const struct gr_expr *
part_at(const struct gr_expr *expr, int position)
{
    const struct gr_expr *part = expr->kind == GR_EXPR_CALL && expr->position == position ? expr : NULL;

    for (size_t i = 0; i < expr->operand_count && part == NULL; i++) {
        part = part_at(expr->operands[i], position);
    }
    return part;
}

/* Whether an expression of constants becomes that one when it is checked, which folds them. */
static bool
folds_to(const char *text, const char *folded)
{
    const struct gr_schema schema = {0};
    struct gr_expr *expr = NULL;
    char *printed = NULL;
    bool folds;

    if (gr_expr_parse(text, &expr) == GRANARY_OK) {
        (void)gr_expr_check(expr, &schema); /* it fails at what the message is of, with the operands folded */
        printed = gr_expr_text(expr);
    }
    folds = printed != NULL && strcmp(printed, folded) == 0;
    free(printed);
    gr_expr_destroy(expr);
    return folds;
}

/* What was written in the place of a cast of constants that are folded. */
static const struct sql_told *
find_folded(const struct wording *w, const char *folded)
{
    static const char cast[] = "cast(";
    const struct sql_told *told = (const void *)w->telling.told.bytes;

    if (strncmp(folded, cast, strlen(cast)) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < w->telling.told.size / sizeof *told; i++) {
        if (told[i].position >= 0 && strncmp(told[i].inner, cast, strlen(cast)) == 0 &&
            folds_to(told[i].inner, folded)) {
            return &told[i];
        }
    }
    return NULL;
}

/* Where the part of an expression stands in the statement; -1: nowhere. position 0: all of it */
static int
find_part(const struct wording *w, const char *text, int position)
{
    struct gr_expr *expr = NULL;
    const struct gr_expr *part = gr_expr_parse(text, &expr) != GRANARY_OK ? NULL
                                 : position == 0                          ? expr
                                                                          : part_at(expr, position);
    char *printed = part == NULL ? NULL : gr_expr_text(part);
    const struct sql_told *told = printed == NULL ? NULL : find(w, printed, strlen(printed), true);

    told = told == NULL && printed != NULL ? find_folded(w, printed) : told;
    free(printed);
    gr_expr_destroy(expr);
    return told == NULL ? -1 : told->position;
}

/* "expression `...`, position 12: " or "expression `...`: ": it is left out where its place is known. */
static bool
skip_expression(struct wording *w)
{
    static const char word[] = "expression `";
    static const char place[] = "`, position ";
    const char *begin = w->rest + strlen(word);
    const char *end = strncmp(w->rest, word, strlen(word)) != 0 ? NULL : strstr(begin, place);
    int position = end == NULL ? 0 : atoi(end + strlen(place));
    const char *colon;
    char *text;
    int found;

    if (strncmp(w->rest, word, strlen(word)) != 0) {
        return false;
    }
    if (end == NULL && (end = strstr(begin, "`: ")) == NULL && (end = strstr(begin, "` is ")) != NULL) {
        gr_buf_addf(&w->out, "this"); /* a condition, which is where its node is */
        w->rest = end + 1;
        return false;
    }
    colon = end == NULL ? NULL : strstr(end, ": ");
    text = colon == NULL ? NULL : strndup(begin, (size_t)(end - begin));
    if (text == NULL) {
        return false;
    }
    found = find_part(w, text, position);
    free(text);
    if (found < 0 && position == 0) {
        return false;
    }
    w->position = found < 0 ? w->position : found;
    w->is_found = found >= 0;
    w->rest = colon + 2;
    return true;
}

/* Functions that have a mark where SQL's meaning is another one. */
static bool
is_marked(const char *name, size_t size)
{
    static const char *const names[] = {"substring", "regexp_extract", "concat", "hex", "bin"};
    size_t i = 0;

    while (i < sizeof names / sizeof names[0] && (strlen(names[i]) != size || strncmp(names[i], name, size) != 0)) {
        i++;
    }
    return i < sizeof names / sizeof names[0];
}

/* A name in backquotes or quotes, by the name SQL has for it. Returns how many bytes it takes in the message. */
static size_t
add_quoted(struct wording *w, const char *at)
{
    static const char *const functions[][2] = {{"quotient", "//"}, {"remainder", "%"}};
    const char *end = strchr(at + 1, *at);
    size_t size = end == NULL ? 0 : (size_t)(end - at - 1);
    const struct sql_told *told = end == NULL ? NULL : find(w, at + 1, size, false);
    const char *name = told != NULL ? told->outer : at + 1;
    size_t name_size = name != at + 1 ? strlen(name) : plain_size(name, size);

    if (end == NULL) {
        gr_buf_add(&w->out, at, 1);
        return 1;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strlen(functions[i][0]) == size && strncmp(functions[i][0], at + 1, size) == 0) {
            name = functions[i][1];
            name_size = strlen(name);
        }
    }
    if (told == NULL && size > 1 && end[-1] == '^' && /* see text.c */
        (sql_is_rounding(at + 1, size - 1) || is_marked(at + 1, size - 1) ||
         (size < 4 && strspn(at + 1, "=<>!^") == size))) {
        name_size = size - 1;
    }
    gr_buf_addf(&w->out, "'%.*s'", (int)name_size, name);
    return size + 2;
}

/* "row 2, column 'a': " of a value that is at fault. */
static void
add_value(struct wording *w)
{
    const struct sql_told_value *values = (const void *)w->telling.values.bytes;
    const size_t count = gr_buf_ok(&w->telling.values) ? w->telling.values.size / sizeof *values : 0;
    size_t i = 0;

    while (i < count && values[i].position != w->position) {
        i++;
    }
    if (i < count && w->is_found) {
        w->out.size = 0; /* what it says of columns is this */
        gr_buf_addf(&w->out, "row %zu, column '%s': ", values[i].row + 1, values[i].column);
    }
}

static void
add_rest(struct wording *w)
{
    static const char chunk[] = " (row ";
    const char *end = strstr(w->rest, chunk);
    size_t word = strspn(w->rest, "abcdefghijklmnopqrstuvwxyz_");

    end = end != NULL && strstr(end, " of its chunk)") != NULL ? end : w->rest + strlen(w->rest);
    if (w->written != NULL && strncmp(w->rest + word, " needs ", 7) == 0) {
        gr_buf_addf(&w->out, "%s", w->written);
        w->rest += word;
    }
    while (w->rest < end) {
        if (*w->rest == '`' || *w->rest == '\'') {
            w->rest += add_quoted(w, w->rest);
        } else {
            gr_buf_add(&w->out, w->rest++, 1);
        }
    }
}

/* A single value can have made a column of a table a string, which the message is of then. */
static void
add_note(struct wording *w)
{
    const char *note = gr_buf_ok(&w->telling.notes) ? w->telling.notes.bytes : NULL;
    bool of_string = gr_buf_ok(&w->out) && w->out.size > 0 && strstr(w->out.bytes, "string") != NULL;

    for (size_t length; of_string && note != NULL && *note != '\0'; note += length + (note[length] == '\n')) {
        char name[256];
        const char *column = strstr(note, "makes column '");

        length = strcspn(note, "\n");
        if (column != NULL && column < note + length && sscanf(column, "makes column %250[^ ]", name) == 1 &&
            strstr(w->out.bytes, name) != NULL) {
            gr_buf_addf(&w->out, ": %.*s", (int)length, note);
            of_string = false;
        }
    }
}

granary_err
granary_sql_error(granary_client *client, granary_err err, const char *sql, size_t length)
{
    struct wording w = {.q = {.text = sql, .length = length, .client = client}};
    const bool is_about = sql != NULL && sql_is_about(sql, length); /* its graph is of another text */
    char *message = sql == NULL || is_about ? NULL : strdup(granary_error_message());

    w.rest = message;
    w.q.telling = &w.telling;
    w.q.asking = &w.asking;
    w.q.region = gr_region_create();
    if (message != NULL && w.q.region != NULL && skip_node(&w)) {
        while (skip_column(&w, "column '") || skip_column(&w, "aggregate '") || skip_expression(&w)) {
        }
        add_value(&w);
        add_rest(&w);
        add_note(&w);
        if (gr_buf_ok(&w.out)) {
            (void)sql_fail(&w.q, err, w.position, "%s", w.out.bytes);
        }
    }
    if (message != NULL) { /* translating has left another one */
        (void)gr_fail(err, "%s", w.q.err != GRANARY_OK ? w.q.message : message);
    }
    sql_asking_free(&w.asking);
    gr_buf_free(&w.out);
    gr_buf_free(&w.telling.told);
    gr_buf_free(&w.telling.spans);
    gr_buf_free(&w.telling.values);
    gr_buf_free(&w.telling.notes);
    if (w.q.region != NULL) {
        gr_region_destroy(w.q.region);
    }
    free(message);
    return err;
}
