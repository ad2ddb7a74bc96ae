/* granary explain: what an error means, and what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/print/listing.h"

struct explained {
    const char *name;
    int code;
    int exit_status;
    const char *text;
    const char *when, *remedy;
};

/* ERR and EXPLAIN each have a position by name: a row that is missing in one of them does not compile. */
enum {
#define ERR(name, value, exit_status, text) AT_##name,
#include "contract/errors.def"
#undef ERR
    ERRORS
};

static const struct explained errors[ERRORS] = {
#define ERR(name, value, exit_status, text) {"GRANARY_" #name, value, exit_status, text, NULL, NULL},
#include "contract/errors.def"
#undef ERR
};

static const struct {
    const char *when, *remedy;
} explanations[] = {
#define EXPLAIN(name, when, remedy) [AT_##name] = {when, remedy},
#include "explain.def"
#undef EXPLAIN
};

#define EXPLAIN(...) +1
_Static_assert(ERRORS == 0
#include "explain.def"
               ,
               "each error of contract/errors.def has a row in explain.def");
#undef EXPLAIN

static const struct column columns[] = {{"name", "name", -22, COLUMN(struct explained, name)},
                                        {"code", "code", 4, COLUMN(struct explained, code)},
                                        {"exit_status", "exit", 4, COLUMN(struct explained, exit_status)},
                                        {"text", "text", 0, COLUMN(struct explained, text)},
                                        {"when", NULL, 0, COLUMN(struct explained, when)},
                                        {"remedy", NULL, 0, COLUMN(struct explained, remedy)},
                                        {0}};

/* "EFULL", "GRANARY_EFULL", "-5"; "5" is an exit status, which several have. */
static bool
is_meant(const struct explained *error, const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end != text && *end == '\0') {
        return number < 0 ? error->code == number : error->exit_status == number && error->code != 0;
    }
    return strcasecmp(text, error->name) == 0 || strcasecmp(text, error->name + strlen("GRANARY_")) == 0;
}

static void
print_one(const struct explained *error)
{
    (void)printf("%s (%d, exit status %d): %s\n  When:   %s\n  Remedy: %s\n", error->name, error->code,
                 error->exit_status, error->text, error->when, error->remedy);
}

static int
run_explain(struct cli *cli)
{
    const char *wish = cli->count > 0 ? cli->arguments[0] : NULL;
    struct listing listing = {0};
    bool any = false;

    if (wish == NULL || cli->json) {
        listing_begin(&listing, columns, cli->json);
    }
    for (size_t i = 0; i < ERRORS; i++) {
        struct explained error = errors[i];

        error.when = explanations[i].when;
        error.remedy = explanations[i].remedy;
        if (wish != NULL && !is_meant(&error, wish)) {
            continue;
        }
        if (wish == NULL || cli->json) {
            listing_row(&listing, &error);
        } else {
            print_one(&error);
        }
        any = true;
    }
    if (wish == NULL || cli->json) {
        listing_end(&listing);
    }
    return any ? 0 : (int)gr_fail(GRANARY_ENOENT, "no error '%s': `granary explain` lists all", wish);
}

const struct command command_explain = {.numbers = true, .run = run_explain};
