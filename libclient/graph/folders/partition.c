/* See partition.h: each value is parsed once, as a literal of the dtype that takes all values of its key. */
#include "graph/folders/partition.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/dtype_class.h"

/* A literal for each value of a key, of the dtype that takes all of them. */
static granary_err
read_key(struct gr_partition *partition, char *const *names, const Granary__Attr *dtypes, size_t key)
{
    const struct gr_hive *hive = &partition->hive;
    const struct gr_schema nothing = {0};
    uint32_t kinds = 0;
    granary_err err = GRANARY_OK;

    for (size_t f = 0; f < hive->files; f++) {
        kinds |= constant_kind(hive->values[f * hive->count + key]);
    }
    partition->dtypes[key] = gr_dtype_of_kinds(kinds);
    for (size_t i = 0; dtypes != NULL && i < dtypes->n_keys; i++) {
        if (strcmp(dtypes->keys[i], hive->keys[key]) == 0) {
            (void)gr_csv_dtype_parse(dtypes->strings[i], &partition->dtypes[key]);
        }
    }
    for (size_t f = 0; f < hive->files && err == GRANARY_OK; f++) {
        const char *value = hive->values[f * hive->count + key];
        struct gr_expr **literal = &partition->literals[f * hive->count + key];
        char *text = NULL;

        err = constant_text(value, partition->dtypes[key], &text);
        err = err == GRANARY_OK ? gr_expr_parse(value == NULL ? "null" : text, literal) : err;
        err = err == GRANARY_OK ? gr_expr_check(*literal, &nothing) : err;
        free(text);
        if (err != GRANARY_OK && err != GRANARY_ENOMEM) {
            err = gr_fail_in(err, "%s: '%s'", names[f], hive->keys[key]);
        }
    }
    return err;
}

granary_err
gr_partition_read(char *const *names, size_t count, const char *says, const Granary__Attr *dtypes,
                  struct gr_partition *ret_partition)
{
    struct gr_partition made = {.dtypes = NULL};
    granary_err err = GRANARY_OK;

    if (strcmp(says, "false") != 0) {
        err = gr_hive_read(names, count, strcmp(says, "true") == 0, &made.hive);
    }
    if (err == GRANARY_OK && made.hive.count > 0) {
        made.dtypes = calloc(made.hive.count, sizeof *made.dtypes);
        made.literals = calloc(made.hive.count * made.hive.files, sizeof(struct gr_expr *));
        err = made.dtypes == NULL || made.literals == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    for (size_t k = 0; k < made.hive.count && err == GRANARY_OK; k++) {
        err = read_key(&made, names, dtypes, k);
    }
    if (err != GRANARY_OK) {
        gr_partition_free(&made);
    }
    *ret_partition = made;
    return err;
}

void
gr_partition_free(struct gr_partition *partition)
{
    for (size_t l = 0; partition->literals != NULL && l < partition->hive.count * partition->hive.files; l++) {
        gr_expr_destroy(partition->literals[l]);
    }
    free(partition->literals);
    free(partition->dtypes);
    gr_hive_free(&partition->hive);
    *partition = (struct gr_partition){.dtypes = NULL};
}

bool
gr_partition_excludes(const struct gr_partition *partition, size_t file, const char *const *keys,
                      const struct gr_expr *where)
{
    const size_t count = partition->hive.count;
    const struct constants constants = {.count = count,
                                        .names = keys != NULL ? keys : (const char *const *)partition->hive.keys,
                                        .values = partition->literals + file * count};

    return count > 0 && constants_exclude(&constants, where);
}
