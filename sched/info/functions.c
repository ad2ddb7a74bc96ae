/* What libraries export, as a table. */
#include <inttypes.h>
#include <string.h>

#include "sched/core/manager.h"
#include "sched/functions/exports.h"
#include "sched/functions/libraries.h"
#include "sched/history/history.h"
#include "sched/info/info.h"

/* A walk over the symbols of all libraries. */
struct walk {
    struct manager *manager;
    struct table *table;
    const char *key; /* NULL: all */
    uint64_t base;
    uint64_t position;
    bool found;
};

static void
symbol_row(const struct walk *walk, const Granary__Library *library, const Granary__Symbol *symbol)
{
    struct table *table = walk->table;
    struct function_count count = function_stats_find(walk->manager->history->function_stats, library->session,
                                                      library->name, library->version, symbol->name);

    table_textf(table, FIELD_functions_name, "%s:%s", library->name, symbol->name);
    table_text(table, FIELD_functions_session, library->session);
    table_text(table, FIELD_functions_version, library->version);
    table_text(table, FIELD_functions_kind, symbol->is_reusable ? "reusable" : "function");
    if (!symbol->is_reusable && symbol->inputs_max == 0) {
        table_textf(table, FIELD_functions_inputs, "%" PRIu32 "-", symbol->inputs_min);
    } else if (!symbol->is_reusable && symbol->inputs_min == symbol->inputs_max) {
        table_textf(table, FIELD_functions_inputs, "%" PRIu32, symbol->inputs_min);
    } else if (!symbol->is_reusable) {
        table_textf(table, FIELD_functions_inputs, "%" PRIu32 "-%" PRIu32, symbol->inputs_min, symbol->inputs_max);
    }
    table_int(table, FIELD_functions_outputs, symbol->outputs);
    table_int(table, FIELD_functions_executors, exports_executors(walk->manager, library->session, library->sequence));
    table_int(table, FIELD_functions_calls, (int64_t)count.calls);
    table_int(table, FIELD_functions_failures, (int64_t)count.failures);
    table_int(table, FIELD_functions_mean_ns, (int64_t)count.mean_ns);
    table_text(table, FIELD_functions_summary, symbol->summary);
}

/* NAME, LIBRARY:NAME or LIBRARY: of every version that is exported. */
static bool
is_meant(const char *key, const Granary__Library *library, const Granary__Symbol *symbol)
{
    size_t length = strlen(library->name);

    return key == NULL || strcmp(key, library->name) == 0 || strcmp(key, symbol->name) == 0 ||
           (strncmp(key, library->name, length) == 0 && key[length] == ':' &&
            strcmp(key + length + 1, symbol->name) == 0);
}

static void
library_visit(void *context, const Granary__Library *library, bool left)
{
    struct walk *walk = context;

    for (size_t i = 0; i < library->n_symbols && !left; i++) {
        walk->position++;
        if (!is_meant(walk->key, library, library->symbols[i])) {
            continue;
        }
        walk->found = true;
        if (table_begin(walk->table, walk->base + walk->position)) {
            symbol_row(walk, library, library->symbols[i]);
            table_end(walk->table);
        }
    }
}

static void
all_functions(struct manager *manager, struct table *table)
{
    struct walk walk = {.manager = manager, .table = table};

    exports_visit(manager->exports, library_visit, &walk);
}

static bool
function_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    struct walk walk = {.manager = manager, .table = table, .key = key, .base = base};

    exports_visit(manager->exports, library_visit, &walk);
    return walk.found;
}

const struct info_walk info_walk_functions = {all_functions, function_named};
