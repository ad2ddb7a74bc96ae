/* What may be recalled, as a table. */
#include <string.h>

#include "sched/core/manager.h"
#include "sched/info/info.h"
#include "sched/recall/recalls.h"

static void
target_row(struct table *table, const struct recalled *recalled, const struct recalled_target *target)
{
    Granary__Result *result = granary__result__unpack(NULL, target->packed_size, target->packed);
    char key[GRANARY_ID_TEXT + 1];
    uint64_t bytes = 0;

    granary_id_format(target->key, key);
    table_text(table, FIELD_recalls_key, key);
    table_text(table, FIELD_recalls_session, recalled->session);
    table_text(table, FIELD_recalls_graph, recalled->id_key);
    table_text(table, FIELD_recalls_target, target->name);
    table_text(table, FIELD_recalls_kind, recalled->part == 0 ? "result" : "step");
    for (size_t i = 0; result != NULL && i < result->n_chunks; i++) {
        bytes += result->chunks[i]->bytes;
    }
    table_int(table, FIELD_recalls_chunks, result == NULL ? 0 : (int64_t)result->n_chunks);
    table_int(table, FIELD_recalls_bytes, (int64_t)bytes);
    table_int(table, FIELD_recalls_cost_ns, (int64_t)recalled->cost_ns);
    table_int(table, FIELD_recalls_uses, (int64_t)recalled->uses);
    table_int(table, FIELD_recalls_saved, recalled->saved);
    table_int(table, FIELD_recalls_held, recalled->owned);
    table_end(table);
    granary__result__free_unpacked(result, NULL);
}

/* In the order of their serials. Returns whether some have that key. */
static bool
walk(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    const struct recalled *recalled;
    bool found = false;

    TAILQ_FOREACH(recalled, &manager->recalls->list, link)
    {
        for (size_t i = 0; i < recalled->count && !recalled->broken; i++) {
            char text[GRANARY_ID_TEXT + 1];

            granary_id_format(recalled->targets[i].key, text);
            if (key != NULL && strncmp(text, key, strlen(key)) != 0) {
                continue;
            }
            found = true;
            if (table_begin(table,
                            base + ((uint64_t)recalled->serial << 26) + ((uint64_t)recalled->part << 12) + i + 1)) {
                target_row(table, recalled, &recalled->targets[i]);
            }
        }
    }
    return found;
}

static void
all_recalls(struct manager *manager, struct table *table)
{
    (void)walk(manager, table, NULL, 0);
}

static bool
recalls_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    return walk(manager, table, key, base);
}

const struct info_walk info_walk_recalls = {all_recalls, recalls_named};
