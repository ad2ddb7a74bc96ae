/* Parsing by libpg_query. Words that DuckDB has and PostgreSQL has not are replaced in the text first. */
#include "sql/parse/parse.h"

#include <ctype.h>
#include <pg_query.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "graph/nearest.h"
#include "sql/parse/private.h"

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
    struct parse_note *notes;
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
    if (end == begin + 2 && begin[1] == '-') { /* stdin, whose name is short enough */
        *begin = *end = '"';
        return true;
    }
    size = snprintf(name, sizeof name, "\"#%zu\"", job->file_count);
    if (end + 1 - begin < size) { /* too short for that, as for the name of any file with its ending */
        return false;
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

/* Whether the statement has a token of that text there, in letters of any case. */
static bool
is_token(const struct job *job, const PgQuery__ScanToken *token, const char *text)
{
    return (size_t)(token->end - token->start) == strlen(text) &&
           strncasecmp(job->text + token->start, text, strlen(text)) == 0;
}

static bool
is_one_of(const struct job *job, const PgQuery__ScanToken *token, const char *const *texts)
{
    while (*texts != NULL && !is_token(job, token, *texts)) {
        texts++;
    }
    return *texts != NULL;
}

static void
replace_token(struct job *job, const PgQuery__ScanToken *token, const char *with)
{
    memset(job->text + token->start, ' ', (size_t)(token->end - token->start));
    memcpy(job->text + token->start, with, strlen(with));
}

static void
note_token(struct job *job, const PgQuery__ScanToken *token, enum parse_noted what)
{
    job->notes[job->note_count++] = (struct parse_note){token->start, what};
}

/* IGNORE NULLS and RESPECT NULLS, behind the arguments of a function or behind its bracket: noted where its name is. */
static void
replace_nulls(struct job *job, PgQuery__ScanToken *const *tokens, size_t i)
{
    bool ignore = is_token(job, tokens[i], "ignore");
    bool behind = i > 0 && is_token(job, tokens[i - 1], ")");
    int depth = behind ? 0 : 1; /* of brackets that are to be opened */
    size_t at = i;
    size_t place;

    while (at > 0 && (at == i || depth > 0)) {
        at--;
        depth += is_token(job, tokens[at], ")") - is_token(job, tokens[at], "(");
    }
    if (at == 0 || depth > 0 || !is_token(job, tokens[at], "(")) {
        return;
    }
    replace_token(job, tokens[i], "");
    replace_token(job, tokens[i + 1], "");
    for (place = job->note_count++; place > 0 && job->notes[place - 1].at > tokens[at - 1]->start; place--) {
        job->notes[place] = job->notes[place - 1]; /* of its arguments */
    }
    job->notes[place] = (struct parse_note){tokens[at - 1]->start, ignore ? NOTED_IGNORE : NOTED_RESPECT};
}

/* A word between two tables, which the grammar would take for the alias of the first one. */
static void
replace_join(struct job *job, const PgQuery__ScanToken *before, const PgQuery__ScanToken *token,
             const PgQuery__ScanToken *next)
{
    static const char *const begins[] = {"from", "join", "as", ",", ".", "(", NULL}; /* it is a name behind these */
    static const char *const others[] = {"asof", "positional", NULL};
    static const char *const joins[] = {"join", "left", "right", "inner", "full", NULL};
    bool semi = is_token(job, token, "semi");

    if (is_one_of(job, before, begins)) {
        return;
    }
    if ((semi || is_token(job, token, "anti")) && is_token(job, next, "join")) {
        if (is_token(job, before, "left")) { /* LEFT SEMI JOIN is the same */
            replace_token(job, before, "");
        }
        replace_token(job, token, "left");
        note_token(job, next, semi ? NOTED_SEMI : NOTED_ANTI);
    } else if (is_one_of(job, token, others) && is_one_of(job, next, joins)) {
        (void)sql_fail(job->q, GRANARY_EUNSUPPORTED, token->start, "%.*s JOIN is not supported",
                       token->end - token->start, job->text + token->start);
    }
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

/*
 * What the grammar does not have, or has with another meaning, becomes what it has, where its own scanner finds it;
 * what was meant is noted down by its place. All positions stay.
 *
 *   //  **  ==           would bind as any operator that somebody makes up: between `+` and `=`
 *   try_cast(x as t)     only CAST takes AS
 *   IGNORE NULLS         in and behind a function's brackets
 *   SEMI JOIN and its kin
 */
static void
replace_tokens(struct job *job)
{
    PgQuery__ScanResult *scan = parse_scan(job->q, job->text);

    if (scan != NULL && (job->notes = SQL_ARRAY(job->q, struct parse_note, scan->n_tokens)) == NULL) {
        (void)sql_fail(job->q, GRANARY_ENOMEM, -1, "out of memory");
    }
    for (size_t i = 0; job->notes != NULL && i < scan->n_tokens; i++) {
        const PgQuery__ScanToken *token = scan->tokens[i];
        const PgQuery__ScanToken *next = i + 1 < scan->n_tokens ? scan->tokens[i + 1] : token;

        if (is_token(job, token, "//")) {
            note_token(job, token, NOTED_QUOTIENT);
            replace_token(job, token, "/");
        } else if (is_token(job, token, "**")) {
            replace_token(job, token, "^");
        } else if (is_token(job, token, "==")) {
            replace_token(job, token, "=");
        } else if (is_token(job, token, "try_cast") && is_token(job, next, "(")) {
            note_token(job, token, NOTED_TRY);
            replace_token(job, token, "cast");
        } else if ((is_token(job, token, "ignore") || is_token(job, token, "respect")) &&
                   is_token(job, next, "nulls")) {
            replace_nulls(job, scan->tokens, i);
        } else if (is_token(job, token, "join")) {
            if (job->note_count == 0 || job->notes[job->note_count - 1].at != token->start) {
                note_token(job, token, NOTED_JOIN);
            }
        } else if (i > 0) {
            replace_join(job, scan->tokens[i - 1], token, next);
        }
    }
    parse_scan_free(scan);
}

/* Whether a bracket behind that token begins a list: behind a value it takes a part of that, or tells of a type. */
static bool
begins_list(const struct job *job, const PgQuery__ScanToken *before)
{
    static const char *const values[] = {"array", "end", "true", "false", "null", ")", "]", NULL};

    if (is_one_of(job, before, values)) {
        return false;
    }
    return before->token != PG_QUERY__TOKEN__IDENT && before->token != PG_QUERY__TOKEN__UIDENT &&
           before->token != PG_QUERY__TOKEN__PARAM && before->token != PG_QUERY__TOKEN__SCONST &&
           before->token != PG_QUERY__TOKEN__ICONST && before->token != PG_QUERY__TOKEN__FCONST &&
           (before->keyword_kind == PG_QUERY__KEYWORD_KIND__NO_KEYWORD ||
            before->keyword_kind == PG_QUERY__KEYWORD_KIND__RESERVED_KEYWORD);
}

/* Lists as DuckDB writes them, [1, 2], become ARRAY[1, 2]; the statement notes where, for its messages. */
static bool
insert_arrays(struct job *job)
{
    struct sql_statement *q = job->q;
    const size_t word = strlen(SQL_ARRAY_WORD);
    PgQuery__ScanResult *scan = parse_scan(q, job->text);
    int *inserted = scan == NULL ? NULL : SQL_ARRAY(q, int, scan->n_tokens);
    char *text = scan == NULL ? NULL : SQL_ARRAY(q, char, strlen(job->text) + scan->n_tokens * word + 1);
    size_t count = 0;
    int from = 0;
    char *to = text;

    for (size_t i = 1; i < (scan == NULL ? 0 : scan->n_tokens) && inserted != NULL && text != NULL; i++) {
        int at = scan->tokens[i]->start;

        if (is_token(job, scan->tokens[i], "[") && begins_list(job, scan->tokens[i - 1])) {
            memcpy(to, job->text + from, (size_t)(at - from));
            to += at - from;
            inserted[count++] = (int)(to - text);
            memcpy(to, SQL_ARRAY_WORD, word);
            to += word;
            from = at;
        }
    }
    if (count > 0) {
        memcpy(to, job->text + from, strlen(job->text + from));
        job->text = text;
        q->inserted = inserted;
        q->inserted_count = count;
    }
    parse_scan_free(scan);
    return q->err == GRANARY_OK;
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
    static const char *const replaced[] = {"//", "**", "==", "try_cast", "nulls", "semi", "anti", "asof", "positional"};
    struct job *job = argument;
    bool again = strchr(job->text, '[') == NULL || insert_arrays(job);

    for (size_t i = 0; i < sizeof replaced / sizeof replaced[0] && job->notes == NULL && again; i++) {
        if (strcasestr(job->text, replaced[i]) != NULL) {
            replace_tokens(job);
            again = job->q->err == GRANARY_OK;
        }
    }
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
    if (q->length <= SHALLOW_BYTES) {
        (void)parse_thread(&job);
    } else {
        parse_deep(&job);
    }
    return job.tree;
}
