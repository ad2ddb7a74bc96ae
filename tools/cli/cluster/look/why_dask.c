/* The package for Python finds the facts (granary/_why.py), and says them in lines. */
#include "cli/cluster/look/why_dask.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/cluster/dask.h"
#include "cli/cluster/look/fact.h"

#define FACT_BEGINS "fact "

/* The next word of a line with tabs between; NULL: it is empty. */
static const char *
next_word(char **line)
{
    const char *word = strsep(line, "\t");

    return word == NULL || *word == '\0' ? NULL : word;
}

/* line: behind FACT_BEGINS. */
static void
print_line(struct json *json, char *line)
{
    struct about about = {.code = next_word(&line)};
    const char *number;

    about.stage = next_word(&line);
    number = next_word(&line);
    about.partition = number == NULL ? 0 : strtoll(number, NULL, 10) + 1;
    about.node = next_word(&line);
    number = next_word(&line);
    about.since_ms = number == NULL ? 0 : strtoll(number, NULL, 10);
    if (about.code != NULL && line != NULL) {
        fact_print(json, &about, line);
    }
}

static void
print_facts(struct json *json, char *text)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, FACT_BEGINS, strlen(FACT_BEGINS)) == 0) {
            print_line(json, line + strlen(FACT_BEGINS));
        }
    }
}

static void
print_run(const struct cli *cli, const char *address, uint64_t fragments, uint64_t done, char *text)
{
    struct json json = {.out = stdout};
    char shown[SHOW_TEXT];

    if (!cli->json) {
        (void)printf("Dask's scheduler %s: %" PRIu64 " of %" PRIu64 " tasks are done\n", show_text(address, shown),
                     done, fragments);
        print_facts(NULL, text);
        return;
    }
    json_open(&json, NULL, '[');
    json_open(&json, NULL, '{');
    json_text(&json, "scheduler", address);
    json_unsigned(&json, "tasks", fragments);
    json_unsigned(&json, "done", done);
    json_open(&json, "facts", '[');
    print_facts(&json, text);
    while (json.depth > 0) {
        json_close(&json);
    }
}

granary_err
why_of_dask(const struct cli *cli, const char *address, const char *subject)
{
    struct gr_buf said = {0};
    uint64_t fragments = 0, done = 0;
    granary_err err = dask_why(address, subject == NULL ? "" : subject, &said);

    if (err == GRANARY_OK &&
        (said.bytes == NULL || sscanf(said.bytes, "counts %" SCNu64 " %" SCNu64, &fragments, &done) != 2)) {
        err = gr_fail(GRANARY_EPROTO, "the package for Python has another version");
    } else if (err == GRANARY_OK && fragments == 0) {
        err = gr_fail(GRANARY_ENOENT, "no run goes on at Dask's scheduler %.100s", address);
    } else if (err == GRANARY_OK && subject != NULL && strstr(said.bytes, "\n" FACT_BEGINS) == NULL) {
        err = gr_fail(GRANARY_ENOENT, "'%.60s' is no stage of those that go on", subject);
    } else if (err == GRANARY_OK) {
        print_run(cli, address, fragments, done, said.bytes);
    }
    gr_buf_free(&said);
    return err;
}
