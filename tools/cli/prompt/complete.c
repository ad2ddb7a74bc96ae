/* See complete.h. */
#include "cli/prompt/complete.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli/prompt/names.h"
#include "graph/expr.h"
#include "sql/select/split.h"

#define CANDIDATES_MAX 1000
/* Tables of a statement whose columns are asked for. */
#define TABLES_MAX 8

static const char *const keywords[] = {
    "all",    "analyze",   "and",      "any",       "as",        "asc",      "between",   "by",        "call",
    "case",   "cast",      "copy",     "create",    "cross",     "cube",     "current",   "default",   "delete",
    "desc",   "describe",  "distinct", "drop",      "else",      "end",      "except",    "exists",    "explain",
    "false",  "filter",    "first",    "following", "from",      "full",     "group",     "grouping",  "having",
    "ilike",  "in",        "inner",    "insert",    "intersect", "interval", "into",      "is",        "join",
    "last",   "lateral",   "left",     "like",      "limit",     "natural",  "not",       "null",      "nulls",
    "offset", "on",        "or",       "order",     "outer",     "over",     "partition", "preceding", "qualify",
    "range",  "recursive", "replace",  "right",     "rollup",    "rows",     "select",    "set",       "sets",
    "show",   "summarize", "table",    "tables",    "then",      "true",     "truncate",  "try_cast",  "unbounded",
    "union",  "unnest",    "update",   "using",     "values",    "view",     "when",      "where",     "window",
    "with",
};

/* Aggregates and functions of windows, by SQL's names; behind them those that are made of others. Functions of rows are
 * asked for. */
static const char *const gathered[] = {
#define SQL_NAME(name, becomes) name,
#include "graph/operators/aggregates.def"
#define SQL_NAME(name) name,
#include "graph/window/functions.def"
    "any_value", "arg_max", "arg_min", "array_agg",     "first",         "group_concat",
    "last",      "list",    "listagg", "quantile_cont", "quantile_disc", "string_agg",
};

struct search {
    const char *word;
    size_t size;
    bool quoted; /* the word begins with a double quote */
    struct complete_result *result;
    struct gr_buf common; /* the candidates' beginning */
};

/* A candidate: what stands in the place of the word. */
static void
offer(struct search *search, const char *text, size_t size)
{
    struct complete_result *result = search->result;
    size_t same = 0;

    if (size < search->size || strncasecmp(text, search->word, search->size) != 0 || result->count == CANDIDATES_MAX) {
        return;
    }
    for (size_t at = 0; gr_buf_ok(&result->shown) && at < result->shown.size;
         at += strlen(result->shown.bytes + at) + 1) { /* a name may be of several kinds */
        if (strlen(result->shown.bytes + at) == size && memcmp(result->shown.bytes + at, text, size) == 0) {
            return;
        }
    }
    gr_buf_add(&result->shown, text, size);
    gr_buf_add(&result->shown, "", 1);
    if (result->count++ == 0) {
        gr_buf_add(&search->common, text, size);
        return;
    }
    while (same < size && same < search->common.size && text[same] == search->common.bytes[same]) {
        same++;
    }
    while (same > 0 && same < search->common.size && ((unsigned char)search->common.bytes[same] & 0xc0) == 0x80) {
        same--;
    }
    search->common.size = same < search->common.size ? same : search->common.size;
}

/* A table or a column: in quotes where SQL needs them. */
static void
offer_name(struct search *search, const char *name)
{
    struct gr_buf quoted = {0};
    bool plain = isalpha((unsigned char)name[0]) != 0 || name[0] == '_';

    for (const char *c = name; *c != '\0'; c++) {
        plain = plain && (islower((unsigned char)*c) != 0 || isdigit((unsigned char)*c) != 0 || *c == '_');
    }
    if (plain && !search->quoted) {
        offer(search, name, strlen(name));
        return;
    }
    gr_buf_addf(&quoted, "\"");
    for (const char *c = name; *c != '\0'; c++) {
        gr_buf_addf(&quoted, *c == '"' ? "\"\"" : "%c", *c);
    }
    gr_buf_addf(&quoted, "\"");
    if (gr_buf_ok(&quoted)) {
        offer(search, quoted.bytes, quoted.size);
    }
    gr_buf_free(&quoted);
}

static void
offer_words(struct search *search)
{
    const bool upper = search->size > 0 && isupper((unsigned char)search->word[0]) != 0;
    size_t count;
    const struct gr_function_info *functions = gr_function_info(&count);
    char word[32];

    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        (void)snprintf(word, sizeof word, "%s", keywords[i]);
        for (char *c = word; upper && *c != '\0'; c++) {
            *c = (char)toupper((unsigned char)*c);
        }
        offer(search, word, strlen(word));
    }
    for (size_t i = 0; i < count; i++) {
        if (strchr(functions[i].name, '^') == NULL) { /* those are the translator's */
            offer(search, functions[i].name, strlen(functions[i].name));
        }
    }
    for (size_t i = 0; i < sizeof gathered / sizeof gathered[0]; i++) {
        offer(search, gathered[i], strlen(gathered[i]));
    }
}

/* ---- tables and columns ---- */

static const struct gr_buf *
tables_of(struct complete *complete)
{
    if (!complete->asked) {
        gr_buf_free(&complete->tables);
        names_of_tables(complete->shell, &complete->tables);
        complete->asked = true;
    }
    return &complete->tables;
}

/* Whether a text names a table, as a word. */
static bool
names(const char *text, size_t size, const char *table)
{
    const size_t length = strlen(table);

    for (size_t at = 0; at + length <= size; at++) {
        if (strncasecmp(text + at, table, length) == 0 && (at == 0 || !sql_is_word_byte(text[at - 1])) &&
            (at + length == size || !sql_is_word_byte(text[at + length]))) {
            return true;
        }
    }
    return false;
}

static void
offer_tables(struct complete *complete, const struct gr_buf *text, struct search *search)
{
    const struct gr_buf *tables = tables_of(complete);
    size_t asked = 0;

    for (size_t at = 0; gr_buf_ok(tables) && at < tables->size; at += strlen(tables->bytes + at) + 1) {
        const char *name = strchr(tables->bytes + at, ' ') + 1;

        offer_name(search, name);
        if (gr_buf_ok(text) && asked < TABLES_MAX && names(text->bytes, text->size, name)) {
            struct gr_buf columns = {0};

            names_of_columns(complete->shell, name, &columns);
            for (size_t c = 0; gr_buf_ok(&columns) && c < columns.size; c += strlen(columns.bytes + c) + 1) {
                offer_name(search, columns.bytes + c);
            }
            gr_buf_free(&columns);
            asked++;
        }
    }
}

/* ---- files ---- */

static void
offer_files(struct search *search)
{
    const char *slash = memrchr(search->word, '/', search->size);
    const size_t stem = slash == NULL ? 0 : (size_t)(slash + 1 - search->word);
    char *directory = stem == 0 ? strdup(".") : strndup(search->word, stem);
    DIR *open = directory == NULL ? NULL : opendir(directory);
    const struct dirent *entry;

    while (open != NULL && (entry = readdir(open)) != NULL) {
        struct gr_buf path = {0};
        struct stat st;

        if (entry->d_name[0] != '.' || (search->size > stem && search->word[stem] == '.')) {
            gr_buf_addf(&path, "%.*s%s", (int)stem, search->word, entry->d_name);
            if (gr_buf_ok(&path) && stat(path.bytes, &st) == 0 && S_ISDIR(st.st_mode)) {
                gr_buf_addf(&path, "/");
            }
            if (gr_buf_ok(&path)) {
                offer(search, path.bytes, path.size);
            }
        }
        gr_buf_free(&path);
    }
    if (open != NULL) {
        (void)closedir(open);
    }
    free(directory);
}

/* ---- a line ---- */

static bool
is_dot(const struct complete *complete, const char *line)
{
    return line[0] == '.' && shell_is_fresh(complete->shell);
}

/* Where the word begins that the cursor is behind, and what it is in. */
static struct sql_split
find_word(const struct complete *complete, const char *line, size_t size, size_t *ret_word)
{
    struct sql_split split = complete->shell->split;

    *ret_word = 0;
    for (size_t i = 0; i < size; i++) {
        const enum sql_split_mode before = split.mode;

        (void)sql_split_take(&split, line[i]);
        if (split.mode != before && (split.mode == SQL_SPLIT_STRING || split.mode == SQL_SPLIT_NAME)) {
            *ret_word = split.mode == SQL_SPLIT_NAME ? i : i + 1;
        } else if (split.mode == SQL_SPLIT_CODE && !sql_is_word_byte(line[i])) {
            *ret_word = i + 1;
        }
    }
    return split;
}

void
complete_line(struct complete *complete, const char *line, size_t size, struct complete_result *ret_result)
{
    struct search search = {.result = ret_result};
    struct gr_buf text = {0};
    size_t word = 0;

    *ret_result = (struct complete_result){.count = 0};
    if (size > 0 && is_dot(complete, line)) {
        const char *space = memrchr(line, ' ', size);

        search.word = space == NULL ? line : space + 1;
        search.size = size - (size_t)(search.word - line);
        for (size_t i = 0; space == NULL && shell_dot_name(i) != NULL; i++) {
            offer(&search, shell_dot_name(i), strlen(shell_dot_name(i)));
        }
        if (space != NULL && strncmp(line, ".schema", 7) == 0) {
            offer_tables(complete, &text, &search);
        } else if (space != NULL) {
            offer_files(&search);
        }
    } else {
        const struct sql_split split = find_word(complete, line, size, &word);

        search.word = line + word;
        search.size = size - word;
        search.quoted = split.mode == SQL_SPLIT_NAME;
        if (split.mode == SQL_SPLIT_STRING) {
            offer_files(&search);
        } else if (split.mode == SQL_SPLIT_CODE || split.mode == SQL_SPLIT_NAME) {
            gr_buf_add(&text, complete->shell->pending.bytes, complete->shell->pending.size);
            gr_buf_add(&text, line, size);
            if (!search.quoted && search.size > 0) {
                offer_words(&search);
            }
            offer_tables(complete, &text, &search);
        }
    }
    if (search.common.size > search.size) {
        gr_buf_add(&ret_result->insert, search.common.bytes + search.size, search.common.size - search.size);
    }
    gr_buf_free(&search.common);
    gr_buf_free(&text);
}

void
complete_forget(struct complete *complete)
{
    complete->asked = false;
}
