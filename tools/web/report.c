/* The questions are those that the page's scripts ask, letter by letter: an answer is found by its address. */
#include "web/report.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/buf.h"
#include "cli/instance/supervisor/daemons.h"
#include "cli/print/json.h"
#include "web/ask/ask.h"
#include "web/page.h"

#define PAGES_MAX     24 /* of a list: 98304 rows */
#define PAGE_ROWS     "4096"
#define RUN_FIELDS    "run,node,executor,started_ns,ended_ns,lease_ns,store_ns,error"
#define TARGET_FIELDS "key,kind,dtypes,shape,chunks,bytes,complete"
#define RESULT_ROWS   "0:5000"
#define PATIENCE_MS   60000

struct report {
    const struct gr_instance *instance;
    const char *graph;
    char program[PATH_MAX];
    granary_client *client;
    FILE *out;
    bool filled; /* an answer is in it */
};

/* JSON in a script: no text ends that. */
static void
write_script(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '<') {
            (void)fputs("\\u003c", out);
        } else {
            (void)fputc(text[i], out);
        }
    }
}

/* A text as JSON, between quotes. */
static void
write_text(FILE *out, const char *text)
{
    char *quoted = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&quoted, &size);
    struct json json = {.out = memory};

    if (memory != NULL) {
        json_open(&json, NULL, '[');
        json_text(&json, NULL, text);
        json_close(&json);
        (void)fclose(memory);
        write_script(out, quoted + 1, strcspn(quoted, "\n") - 2); /* without the array's brackets */
    }
    free(quoted);
}

/* As encodeURIComponent() does it. */
static void
add_encoded(struct gr_buf *url, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (isalnum(*c) || strchr("-_.!~*'()", *c) != NULL) {
            gr_buf_add(url, c, 1);
        } else {
            gr_buf_addf(url, "%%%02X", *c);
        }
    }
}

/* One question: names and values, in pairs, in the order of the page's. Its answer becomes part of the report. */
static granary_err
include(struct report *report, const char *name, const char *const *pairs, size_t count, struct answer *ret_answer)
{
    struct question question;
    struct gr_buf url = {0};
    struct answer answer = {.status = 500};
    granary_err err = question_begin(&question, question_find(name));

    gr_buf_addf(&url, "api/%s", name);
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        gr_buf_addf(&url, "%c%s=", i == 0 ? '?' : '&', pairs[2 * i]);
        add_encoded(&url, pairs[2 * i + 1]);
        err = question_add(&question, pairs[2 * i], pairs[2 * i + 1]);
    }
    if (err == GRANARY_OK) {
        answer = question.row->words == NULL
                     ? ask_table(report->instance, &report->client, &question)
                     : ask_command(report->instance, report->program, &question, gr_deadline_ns(PATIENCE_MS));
        err = !gr_buf_ok(&url) || answer.body == NULL ? gr_no_memory("a report") : GRANARY_OK;
    }
    if (err == GRANARY_OK && answer.status == 200) {
        (void)fputs(report->filled ? ",\n" : "\n", report->out);
        write_text(report->out, url.bytes);
        (void)fputs(": ", report->out);
        write_script(report->out, answer.body, answer.size);
        report->filled = true;
    }
    question_fini(&question);
    gr_buf_free(&url);
    if (err != GRANARY_OK || ret_answer == NULL) {
        free(answer.body);
    } else {
        *ret_answer = answer;
    }
    return err;
}

/* What stands behind "next": "; "": there is nothing. */
static void
find_next(const struct answer *answer, char next[24])
{
    const char *at = strstr(answer->body, "\"next\": \"");

    next[0] = '\0';
    if (answer->status == 200 && at != NULL && strstr(answer->body, "\"more\": true") != NULL) {
        at += strlen("\"next\": \"");
        (void)snprintf(next, 24, "%.*s", (int)strspn(at, "0123456789"), at);
    }
}

/* A list page by page: its parameters, then the cursor of each. */
static granary_err
include_pages(struct report *report, const char *name, const char *const *pairs, size_t count)
{
    const char *all[10];
    char next[24] = "";
    granary_err err = GRANARY_OK;

    memcpy(all, pairs, 2 * count * sizeof *all);
    all[2 * count] = "cursor";
    all[2 * count + 1] = next;
    for (int page = 0; page < PAGES_MAX && err == GRANARY_OK && (page == 0 || next[0] != '\0'); page++) {
        struct answer answer = {.body = NULL};

        err = include(report, name, all, count + (page > 0), &answer);
        if (err == GRANARY_OK) {
            find_next(&answer, next);
            free(answer.body);
        }
    }
    return err;
}

/* The first rows of each result; the page is told which there are. */
static granary_err
include_results(struct report *report, struct gr_buf *keys)
{
    const granary_query query = {.subject = "tileables", .keys = &report->graph, .key_count = 1};
    granary_table *table = NULL;
    granary_err err = granary_info(report->client, &query, &table);

    for (size_t r = 0; r < granary_table_rows(table) && err == GRANARY_OK; r++) {
        const char *const pairs[] = {"key", granary_table_text(table, r, "key"), "rows", RESULT_ROWS};

        if (granary_table_int(table, r, "complete") != 0 &&
            strcmp(granary_table_text(table, r, "kind"), "objects") != 0) {
            err = include(report, "rows", pairs, 2, NULL);
            gr_buf_add(keys, pairs[1], strlen(pairs[1]) + 1);
        }
    }
    granary_table_free(table);
    return err;
}

static granary_err
include_all(struct report *report, struct gr_buf *keys)
{
    static const char *const once[] = {"graphs", "plan", "nodes", "logs"};
    const char *const targets[] = {"key", report->graph, "fields", TARGET_FIELDS};
    const char *const pairs[] = {"key", report->graph, "fields", RUN_FIELDS, "limit", PAGE_ROWS};
    const char *const subtasks[] = {"key", report->graph, "limit", PAGE_ROWS};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < sizeof once / sizeof once[0] && err == GRANARY_OK; i++) {
        err = include(report, once[i], pairs, 1, NULL);
    }
    err = err == GRANARY_OK ? include(report, "tileables", targets, 2, NULL) : err;
    err = err == GRANARY_OK ? include_pages(report, "runs", pairs, 3) : err;
    err = err == GRANARY_OK ? include_pages(report, "subtasks", subtasks, 2) : err;
    return err == GRANARY_OK ? include_results(report, keys) : err;
}

/* Whether there is such a graph; and the connection for what follows. */
static granary_err
find_graph(struct report *report)
{
    const granary_connect_options options = {.instance = report->instance->runtime, .tag = "report"};
    const granary_query query = {.subject = "graphs", .keys = &report->graph, .key_count = 1};
    granary_table *table = NULL;
    granary_err err = granary_connect(&options, &report->client);

    err = err == GRANARY_OK ? granary_info(report->client, &query, &table) : err;
    granary_table_free(table);
    return err;
}

/* ---- the file ---- */

/* The page up to where its scripts would be run; the style sheet is put in, and the scripts are left out. */
static void
write_head(FILE *out)
{
    const struct page_file *index = page_named(""), *style = page_named("page.css");
    const char *at = index->bytes;

    while (at < index->end) {
        const char *end = memchr(at, '\n', (size_t)(index->end - at));
        size_t size = (size_t)((end == NULL ? index->end : end + 1) - at);

        if (strncmp(at, "<link rel=\"stylesheet\"", 22) == 0) {
            (void)fprintf(out,
                          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
                          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<style>\n%.*s</style>\n",
                          (int)(style->end - style->bytes), style->bytes);
        } else if (strncmp(at, "</body>", 7) == 0) {
            return;
        } else if (strncmp(at, "<script", 7) != 0) {
            (void)fwrite(at, 1, size, out);
        }
        at += size;
    }
}

static void
write_tail(FILE *out)
{
    const struct page_file *file;

    for (size_t i = 0; (file = page_number(i)) != NULL; i++) {
        if (strstr(file->type, "javascript") != NULL) {
            (void)fprintf(out, "<script>\n%.*s</script>\n", (int)(file->end - file->bytes), file->bytes);
        }
    }
    (void)fputs("</body>\n</html>\n", out);
}

static granary_err
write_all(struct report *report)
{
    struct gr_buf keys = {0};
    granary_err err;

    write_head(report->out);
    (void)fputs("<script>\nwindow.GRANARY_REPORT = {\"key\": ", report->out);
    write_text(report->out, report->graph);
    (void)fprintf(report->out, ", \"at_ms\": %" PRId64 ", \"answers\": {", gr_wall_ms());
    err = include_all(report, &keys);
    (void)fputs("},\n\"results\": [", report->out);
    for (size_t at = 0; at < keys.size; at += strlen(keys.bytes + at) + 1) {
        (void)fputs(at > 0 ? ", " : "", report->out);
        write_text(report->out, keys.bytes + at);
    }
    (void)fputs("]};\n</script>\n", report->out);
    write_tail(report->out);
    gr_buf_free(&keys);
    return err;
}

/* Whether another file may take the name's place: it is free, or a plain file's. No device, pipe or link goes that way. */
static bool
is_replaceable(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 ? errno == ENOENT : S_ISREG(st.st_mode);
}

/* A stream to where the report is made; ret_made is the name that it has until it is whole, "" when it has its own. */
static granary_err
open_report(const char *path, FILE **ret_out, char ret_made[PATH_MAX])
{
    bool replaces = strcmp(path, "-") != 0 && is_replaceable(path);
    int fd;

    if (snprintf(ret_made, PATH_MAX, "%s.new", path) >= PATH_MAX) {
        return gr_fail(GRANARY_EINVAL, "%.64s...: path too long", path);
    }
    fd = strcmp(path, "-") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
         : replaces             ? open(ret_made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666)
                                : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0) {
        return gr_fail_errno("%s", replaces ? ret_made : path);
    }
    if (!replaces) {
        ret_made[0] = '\0';
    }
    *ret_out = fdopen(fd, "w");
    if (*ret_out == NULL) {
        (void)close(fd);
        return gr_no_memory(path);
    }
    return GRANARY_OK;
}

granary_err
report_write(const struct gr_instance *instance, const char *graph, const char *path)
{
    struct report report = {.instance = instance, .graph = graph};
    char made[PATH_MAX] = "";
    granary_err err = daemon_program("granary", report.program);

    err = err == GRANARY_OK ? find_graph(&report) : err;
    err = err == GRANARY_OK ? open_report(path, &report.out, made) : err;
    if (report.out != NULL) {
        bool lost;

        err = write_all(&report);
        lost = ferror(report.out) != 0;
        if ((fclose(report.out) != 0 || lost) && err == GRANARY_OK) {
            err = gr_fail_errno("%s", path);
        }
        if (err == GRANARY_OK && made[0] != '\0' && rename(made, path) < 0) {
            err = gr_fail_errno("%s", path);
        }
        if (err != GRANARY_OK && made[0] != '\0') {
            (void)unlink(made);
        }
    }
    granary_disconnect(report.client);
    return err;
}
