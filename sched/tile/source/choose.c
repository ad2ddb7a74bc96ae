/* Pieces that no reader's condition excludes: see choose.h. */
#include "tile/source/choose.h"

#include "tile/source/zone.h"

/* Choose what one reader's condition does not exclude. */
static granary_err
choose_for(const struct gr_schema *schema, const struct gr_expr *where, const Granary__FrameInfo *const *infos,
           size_t count, bool *chosen)
{
    struct zone_test *test = NULL;
    granary_err err = where == NULL ? GRANARY_OK : zone_test_create(where, schema, &test);

    for (size_t p = 0; err == GRANARY_OK && p < count; p++) {
        chosen[p] = chosen[p] || test == NULL || !zone_test_excludes(test, infos[p]);
    }
    zone_test_destroy(test);
    return err;
}

const struct gr_expr *
zone_condition(const struct gr_step *reader, size_t k)
{
    const struct gr_expr *where = reader->within != NULL ? reader->within : k < 2 ? reader->where[k] : NULL;

    if (where == NULL && reader->op == GR_TILE_filter && /* one that nobody took over, as of a target */
        gr_trees_find(reader->node->trees, gr_step_attr(reader, "where")->strings[0], &where) != GRANARY_OK) {
        where = NULL;
    }
    return where;
}

granary_err
zone_choose(const struct tiling *t, size_t i, const struct gr_schema *schema, const Granary__FrameInfo *const *infos,
            size_t count, bool *chosen)
{
    granary_err err = t->steps->steps[i].is_target ? choose_for(schema, NULL, infos, count, chosen) : GRANARY_OK;

    for (size_t r = i + 1; r < t->steps->count && err == GRANARY_OK; r++) {
        const struct gr_step *reader = &t->steps->steps[r];

        for (size_t k = 0; k < reader->input_count && !reader->dead && err == GRANARY_OK; k++) {
            if (reader->inputs[k] == i) {
                err = choose_for(schema, zone_condition(reader, k), infos, count, chosen);
            }
        }
    }
    return err;
}

const struct gr_expr *
zone_only_condition(const struct tiling *t, size_t i)
{
    const struct gr_expr *where = NULL;
    size_t readers = t->steps->steps[i].is_target ? 2 : 0;

    for (size_t r = i + 1; r < t->steps->count; r++) {
        const struct gr_step *reader = &t->steps->steps[r];

        for (size_t k = 0; k < reader->input_count && !reader->dead; k++) {
            if (reader->inputs[k] == i) {
                where = zone_condition(reader, k);
                readers++;
            }
        }
    }
    return readers == 1 ? where : NULL;
}

void
zone_columns(const struct tiling *t, size_t i, const struct gr_schema *schema, bool *used)
{
    for (size_t r = i + 1; r < t->steps->count; r++) {
        const struct gr_step *reader = &t->steps->steps[r];

        for (size_t k = 0; k < reader->input_count && !reader->dead; k++) {
            if (reader->inputs[k] == i && zone_condition(reader, k) != NULL) {
                gr_expr_columns(zone_condition(reader, k), schema, used);
            }
        }
    }
}
