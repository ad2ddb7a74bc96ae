/* A subject is read page by page; a cell is shown by the unit that its field's name ends with. */
#include "cli/scheduler/table.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/print/json.h"
#include "cli/print/show.h"
#include "cli/scheduler/scheduler.h"

#define WATCH_MS    200 /* between two prints: nobody reads faster, and the scheduler has other work */
#define COLUMNS_MAX 32
#define CELL        1024
#define CELL_SHOWN  60 /* of the columns but the last */

const struct gr_option table_options[] = {
    {"fields", 'f', "FIELD,...", "print only these columns, in this order", GR_OPTION_TEXT(struct table_view, fields)},
    {"watch", 'w', NULL, "print again whenever something changes", GR_OPTION_FLAG(struct table_view, watch)},
    {0}};

static int
open_table(struct cli *cli)
{
    struct table_view *view = cli->self;

    view->cli = cli;
    view->keys = (const char *const *)cli->arguments;
    view->key_count = (size_t)cli->count;
    if (view->named) {
        view->subject = *view->keys++;
        view->key_count--;
    }
    /* --session means those of one, of what belongs to sessions. */
    if (view->subject != NULL && (strcmp(view->subject, "graphs") == 0 || strcmp(view->subject, "functions") == 0)) {
        view->session = cli->session;
    }
    return scheduler_connect(cli);
}

const struct access table_access = {.options = table_options, .open = open_table, .close = cli_disconnect};

/* ---- cells ---- */

static bool
ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);

    return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

static const char *
show_duration(int64_t ns, char buffer[SHOW_TEXT])
{
    if (ns < 1000000) {
        (void)snprintf(buffer, SHOW_TEXT, "%.1f us", (double)ns / 1e3);
    } else if (ns < 1000000000) {
        (void)snprintf(buffer, SHOW_TEXT, "%.1f ms", (double)ns / 1e6);
    } else {
        (void)snprintf(buffer, SHOW_TEXT, "%.1f s", (double)ns / 1e9);
    }
    return buffer;
}

/* Moments on the monotonic clock are named after what happened then. */
static bool
is_moment_ns(const char *field)
{
    return strcmp(field, "ready_ns") == 0 || strcmp(field, "sent_ns") == 0 || strcmp(field, "started_ns") == 0 ||
           strcmp(field, "ended_ns") == 0;
}

static bool
is_duration_ms(const char *field)
{
    return strcmp(field, "idle_ms") == 0;
}

/* A cell as a human wants it: the field's unit tells how. Returns buffer. */
static const char *
show_cell(const char *field, granary_cell_value cell, char buffer[SHOW_TEXT])
{
    char size[32];

    if (cell.kind == GRANARY_CELL_TEXT) {
        return cell.text[0] == '\0' ? "-" : show_text(cell.text, buffer);
    }
    if (cell.kind == GRANARY_CELL_REAL) {
        (void)snprintf(buffer, SHOW_TEXT, strcmp(field, "progress") == 0 ? "%.0f%%" : "%g",
                       strcmp(field, "progress") == 0 ? cell.real * 100 : cell.real);
        return buffer;
    }
    if (ends_with(field, "_bytes") || strcmp(field, "bytes") == 0) {
        (void)snprintf(buffer, SHOW_TEXT, "%s", cli_format_size((uint64_t)cell.integer, size));
        return buffer;
    }
    if (cell.integer == 0 && (ends_with(field, "_ms") || ends_with(field, "_ns"))) {
        return "-";
    }
    if (ends_with(field, "_ms") && !is_duration_ms(field)) {
        return strcmp(field, "since_ms") == 0 ? show_age(cell.integer, buffer) : show_time(cell.integer, buffer);
    }
    if (ends_with(field, "_ms")) {
        return show_duration(cell.integer * 1000000, buffer);
    }
    if (is_moment_ns(field)) {
        (void)snprintf(buffer, SHOW_TEXT, "%" PRId64, cell.integer);
        return buffer;
    }
    if (ends_with(field, "_ns")) {
        return show_duration(cell.integer, buffer);
    }
    (void)snprintf(buffer, SHOW_TEXT, "%" PRId64, cell.integer);
    return buffer;
}

/* A long text is cut between two entries if it is a list, and says so: half a number would be another one. */
static const char *
cut_cell(char text[SHOW_TEXT])
{
    size_t length = strlen(text);
    size_t at = CELL_SHOWN - strlen(SHOW_CUT);
    size_t entry = at;

    if (length <= CELL_SHOWN) {
        return text;
    }
    while (entry > 0 && text[entry - 1] != ',' && text[entry - 1] != ' ') {
        entry--;
    }
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) {
        at--;
    }
    memcpy(text + (entry > CELL_SHOWN / 2 ? entry : at), SHOW_CUT, sizeof SHOW_CUT);
    return text;
}

/* A cell of a table: that of the last column is whole. */
static const char *
show_column(const granary_table *table, size_t row, size_t column, bool is_last, char buffer[SHOW_TEXT])
{
    const char *shown = show_cell(granary_table_field(table, column), granary_table_cell(table, row, column), buffer);

    return is_last || shown != buffer ? shown : cut_cell(buffer);
}

/* ---- a page ---- */

static bool
is_wanted(const struct table_view *view, const granary_table *table, size_t row)
{
    return (view->where == NULL || strcmp(granary_table_text(table, row, view->where), view->is) == 0) &&
           (view->session == NULL || strcmp(granary_table_text(table, row, "session"), view->session) == 0);
}

static void
print_page(const struct table_view *view, const granary_table *table, bool first, size_t columns)
{
    int widths[COLUMNS_MAX] = {0};
    char text[SHOW_TEXT];

    for (size_t c = 0; c < columns; c++) {
        widths[c] = (int)strlen(granary_table_field(table, c));
        for (size_t r = 0; r < granary_table_rows(table); r++) {
            int length = (int)strlen(show_column(table, r, c, c + 1 == columns, text));

            widths[c] = is_wanted(view, table, r) && length > widths[c] ? length : widths[c];
        }
    }
    for (size_t c = 0; first && c < columns; c++) {
        (void)printf("%s%-*s", c > 0 ? "  " : "", c + 1 < columns ? widths[c] : 0, granary_table_field(table, c));
    }
    if (first) {
        (void)putchar('\n');
    }
    for (size_t r = 0; r < granary_table_rows(table); r++) {
        for (size_t c = 0; c < columns && is_wanted(view, table, r); c++) {
            granary_cell_value cell = granary_table_cell(table, r, c);
            const char *shown = show_column(table, r, c, c + 1 == columns, text);

            if (c + 1 == columns) {
                (void)printf("%s%s\n", c > 0 ? "  " : "", shown);
            } else {
                (void)printf(cell.kind == GRANARY_CELL_TEXT ? "%s%-*s" : "%s%*s", c > 0 ? "  " : "", widths[c], shown);
            }
        }
    }
}

static void
print_page_json(struct json *json, const struct table_view *view, const granary_table *table, size_t columns)
{
    for (size_t r = 0; r < granary_table_rows(table); r++) {
        if (!is_wanted(view, table, r)) {
            continue;
        }
        json_open(json, NULL, '{');
        for (size_t c = 0; c < columns; c++) {
            json_cell(json, granary_table_field(table, c), granary_table_cell(table, r, c));
        }
        json_close(json);
    }
}

/* ---- a table ---- */

/* Which columns are asked for: *ret_columns of them are shown, two more may be there to choose rows by. */
static granary_err
choose_columns(const struct table_view *view, const char ***ret_fields, size_t *ret_count, size_t *ret_columns,
               char **ret_copy)
{
    const char *names = view->fields != NULL ? view->fields : view->cli->json ? NULL : view->shown;
    char *copy = names == NULL ? NULL : strdup(names);
    granary_err err = names != NULL && copy == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    *ret_fields = NULL;
    *ret_count = 0;
    if (err == GRANARY_OK && copy != NULL) {
        err = arguments_names(copy, ret_fields, ret_count);
    }
    *ret_columns = copy == NULL ? SIZE_MAX : *ret_count;
    *ret_copy = copy;
    if (err == GRANARY_OK && *ret_fields != NULL && view->where != NULL) {
        (*ret_fields)[(*ret_count)++] = view->where; /* there is room for two: see arguments_names() */
    }
    if (err == GRANARY_OK && *ret_fields != NULL && view->session != NULL) {
        (*ret_fields)[(*ret_count)++] = "session";
    }
    return err;
}

static granary_err
print_table(struct table_view *view, granary_client *client, granary_query *query, size_t columns)
{
    struct json json = {0};
    granary_err err;
    bool first = true;
    uint64_t version = query->since_version;

    query->cursor = 0;
    do {
        granary_table *table = NULL;
        size_t shown;

        err = granary_info(client, query, &table);
        if (err != GRANARY_OK) {
            break;
        }
        shown = granary_table_fields(table) < columns ? granary_table_fields(table) : columns;
        shown = shown < COLUMNS_MAX ? shown : COLUMNS_MAX;
        if (first && isatty(STDOUT_FILENO) && view->watch && !view->cli->json) {
            (void)fputs("\033[H\033[J", stdout);
        }
        if (first && view->cli->json) {
            json_open(&json, NULL, '[');
        }
        if (view->cli->json) {
            print_page_json(&json, view, table, shown);
        } else {
            print_page(view, table, first, shown);
        }
        version = first ? granary_table_version(table) : version;
        query->cursor = granary_table_cursor(table);
        query->since_version = 0;
        first = false;
        granary_table_free(table);
    } while (query->cursor != 0 && ferror(stdout) == 0);
    if (!first && view->cli->json) {
        json_close(&json);
    }
    query->since_version = version;
    return err;
}

int
table_show(struct cli *cli)
{
    struct table_view *view = cli->self;
    granary_query query = {.subject = view->subject,
                           .keys = view->key_count > 0 ? view->keys : NULL,
                           .key_count = view->key_count,
                           .timeout_ms = GRANARY_FOREVER};
    const char **fields = NULL;
    char *copy = NULL;
    size_t columns;
    granary_err err = choose_columns(view, &fields, &query.field_count, &columns, &copy);

    query.fields = fields;
    while (err == GRANARY_OK) {
        err = print_table(view, cli->client, &query, columns);
        if (!view->watch || fflush(stdout) != 0 || ferror(stdout) != 0) {
            break;
        }
        (void)poll(NULL, 0, WATCH_MS);
    }
    free(fields);
    free(copy);
    return err;
}
