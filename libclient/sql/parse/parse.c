/* Parsing by libpg_query. What DuckDB has beyond its grammar is rewritten first (dialect.h). */
#include "sql/parse/parse.h"

#include <ctype.h>
#include <pg_query.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "graph/operators/nearest.h"
#include "sql/from/view.h"
#include "sql/parse/dialect/dialect.h"
#include "sql/select/first.h"

/* The grammar's actions, and what unpacks its tree, recurse as deep as the text nests: on a stack of their own. */
#define STACK_BYTES ((size_t)512 << 20)
/* A statement so long cannot nest deeper than 256 KB of stack allow. A thread costs 0.15 ms. */
#define SHALLOW_BYTES 256
#define FILES_MAX     256

struct job {
    struct sql_statement *q;
    char *text; /* with names of files replaced */
    const char **files;
    size_t file_count;
    const struct parse_note *notes;
    size_t note_count;
    struct sql_tree tree;
};

/* The byte at which the n-th character begins, n from 1. */
static int
byte_of(const char *text, int character)
{
    int at = 0;

    while (text[at] != '\0' && character > 1) {
        at++;
        while ((text[at] & 0xc0) == 0x80) {
            at++;
        }
        character--;
    }
    return at;
}

/* Whether what stands before `at` lets a table follow: FROM, JOIN or a comma. */
static bool
wants_table(const char *text, int at)
{
    while (at > 0 && isspace((unsigned char)text[at - 1]) != 0) {
        at--;
    }
    return (at > 0 && text[at - 1] == ',') || (at >= 4 && strncasecmp(text + at - 4, "from", 4) == 0) ||
           (at >= 4 && strncasecmp(text + at - 4, "join", 4) == 0);
}

/* Where a text in single quotes ends, in which they are doubled; NULL: nowhere. */
static char *
quotes_end(char *begin)
{
    char *end = strchr(begin + 1, '\'');

    while (end != NULL && end[1] == '\'') {
        end = strchr(end + 2, '\'');
    }
    return end;
}

static const char *
copy_quoted(struct sql_statement *q, const char *begin, const char *end)
{
    char *copy = SQL_ARRAY(q, char, (size_t)(end - begin));
    size_t size = 0;

    for (const char *at = begin + 1; copy != NULL && at < end; at++) {
        copy[size++] = *at;
        at += *at == '\'';
    }
    if (copy != NULL) {
        copy[size] = '\0';
    }
    return copy;
}

/*
 * The grammar takes no string for a table, and cuts identifiers to 63 bytes. So when it complains of a file's name in
 * single quotes, the name becomes "#N" and spaces, and all positions stay. false: the complaint is about something
 * else.
 */
static bool
replace_file(struct job *job, int at)
{
    char *begin = job->text + at;
    char *end = *begin == '\'' ? quotes_end(begin) : NULL;
    const char *copy;
    char name[16];
    int size;

    if (end == NULL || job->file_count == FILES_MAX || !wants_table(job->text, at)) {
        return false;
    }
    size = snprintf(name, sizeof name, "\"#%zu\"", job->file_count);
    if (end + 1 - begin <
        size) { /* too short for that, and for a file with its ending: '-' is stdin, others are tables */
        *begin = *end = end > begin + 1 ? '"' : '\'';
        return *begin == '"';
    }
    copy = copy_quoted(job->q, begin, end);
    if (copy == NULL) {
        return false;
    }
    job->files[job->file_count++] = copy;
    memset(begin, ' ', (size_t)(end + 1 - begin));
    memcpy(begin, name, (size_t)size);
    return true;
}

PgQuery__ScanResult *
parse_scan(struct sql_statement *q, const char *text)
{
    PgQueryScanResult result = pg_query_scan(text);
    PgQuery__ScanResult *scan = NULL;

    if (result.error == NULL) {
        scan = pg_query__scan_result__unpack(NULL, result.pbuf.len, (const uint8_t *)result.pbuf.data);
        if (scan == NULL) {
            (void)sql_fail(q, GRANARY_ENOMEM, -1, "out of memory");
        }
    }
    pg_query_free_scan_result(result);
    return scan;
}

void
parse_scan_free(PgQuery__ScanResult *scan)
{
    if (scan != NULL) {
        pg_query__scan_result__free_unpacked(scan, NULL);
    }
}

static void
convert(struct job *job, const PgQueryProtobuf *packed)
{
    struct sql_statement *q = job->q;
    PgQuery__ParseResult *tree = pg_query__parse_result__unpack(NULL, packed->len, (const uint8_t *)packed->data);
    struct parse p = {.q = q, .files = job->files, .notes = job->notes, .note_count = job->note_count};

    if (tree == NULL) {
        (void)sql_fail(q, GRANARY_ENOMEM, -1, "out of memory");
    } else if (tree->n_stmts == 0) {
        (void)sql_fail(q, GRANARY_EINVAL, -1, "there is no statement: write SELECT ... FROM ...");
    } else if (tree->n_stmts > 1) {
        (void)sql_fail(q, GRANARY_EINVAL, tree->stmts[1]->stmt_location,
                       "one statement at a time: a second one begins");
    } else {
        const PgQuery__Node *statement = TAKE(&p, TAKE(&p, tree, stmts)[0], stmt);
        bool ok;

        if (statement != NULL && statement->node_case == PG_QUERY__NODE__NODE_SELECT_STMT) {
            p.is_query = true;
            job->tree.select = parse_select(&p, statement->select_stmt);
            ok = job->tree.select != NULL;
        } else {
            job->tree.change = parse_change(&p, statement);
            ok = job->tree.change != NULL;
        }
        if (!ok || !parse_check_used(&p, &tree->base)) {
            job->tree = (struct sql_tree){.select = NULL};
        }
    }
    if (tree != NULL) {
        pg_query__parse_result__free_unpacked(tree, NULL);
    }
}

static void *
parse_thread(void *argument)
{
    struct job *job = argument;
    char *text = dialect_rewrite(job->q, job->text, &job->notes, &job->note_count);
    bool again = text != NULL;

    job->text = text;
    while (again) {
        PgQueryProtobufParseResult result = pg_query_parse_protobuf(job->text);

        again = false;
        if (result.error == NULL) {
            convert(job, &result.parse_tree);
        } else {
            int at = result.error->cursorpos > 0 ? byte_of(job->text, result.error->cursorpos) : -1;

            again = at >= 0 && replace_file(job, at);
            if (!again) {
                (void)parse_fail_syntax(job->q, job->text, at, result.error->message);
            }
        }
        pg_query_free_protobuf_parse_result(result);
    }
    return NULL;
}

/* In a thread with a stack for the deepest statement there may be. */
static void
parse_deep(struct job *job)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);

    if (error == 0) {
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
        error = pthread_create(&thread, &attributes, parse_thread, job);
        (void)pthread_attr_destroy(&attributes);
    }
    if (error == 0) {
        (void)pthread_join(thread, NULL);
    } else {
        (void)sql_fail(job->q, GRANARY_ENOMEM, -1, "no thread to parse in: %s", strerror(error));
    }
}

struct sql_tree
sql_parse(struct sql_statement *q)
{
    struct job job = {.q = q, .text = sql_printf(q, "%.*s", (int)q->length, q->text)};

    job.files = SQL_ARRAY(q, const char *, FILES_MAX);
    if (job.text == NULL || job.files == NULL) {
        return job.tree;
    }
    if (q->length > SQL_TEXT_MAX) {
        (void)sql_fail(q, GRANARY_EINVAL, -1, "the statement has %zu bytes; it can have %zu", q->length, SQL_TEXT_MAX);
        return job.tree;
    }
    if (strlen(job.text) != q->length || !gr_is_utf8(q->text, q->length)) {
        (void)sql_fail(q, GRANARY_EINVAL, -1, "the statement is not UTF-8 text");
        return job.tree;
    }
    if (!sql_look_first(q, job.text)) {
        return job.tree;
    }
    if (q->length <= SHALLOW_BYTES) {
        (void)parse_thread(&job);
    } else {
        parse_deep(&job);
    }
    return job.tree;
}

struct sql_select *
sql_parse_inner(struct sql_statement *q, const char *text, const char *what, int position)
{
    struct sql_statement inner = {.text = sql_printf(q, "%s", text), .client = q->client, .region = q->region};
    struct sql_tree tree = {.select = NULL};

    if (inner.text == NULL) {
        return NULL;
    }
    inner.length = strlen(inner.text);
    tree = sql_parse(&inner);
    if (tree.select == NULL) {
        const char *why = inner.err != GRANARY_OK ? inner.message : "it is no SELECT";

        (void)sql_fail(q, inner.err != GRANARY_OK ? inner.err : GRANARY_EUNSUPPORTED, position, "%s: %.*s", what,
                       (int)strcspn(why, "\n"), why);
        return NULL;
    }
    sql_place_select(tree.select, position);
    return tree.select;
}
