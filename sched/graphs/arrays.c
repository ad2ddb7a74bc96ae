/* Nodes `array` with a name: they are told the ids, shape, dtype and blocks of the kept tensor it stands for. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "graph/graph.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/tables.h"

static Granary__Attr *
ids_attr(const Granary__Result *result)
{
    char(*texts)[GRANARY_ID_TEXT + 1] = calloc(result->n_chunks + 1, sizeof *texts);
    char **pointers = calloc(result->n_chunks + 1, sizeof *pointers);
    Granary__Attr *attr = NULL;

    for (size_t i = 0; texts != NULL && pointers != NULL && i < result->n_chunks; i++) {
        granary_id id = {{0}};

        memcpy(id.bytes, result->chunks[i]->id.data,
               result->chunks[i]->id.len < sizeof id.bytes ? result->chunks[i]->id.len : sizeof id.bytes);
        granary_id_format(id, texts[i]);
        pointers[i] = texts[i];
    }
    if (texts != NULL && pointers != NULL) {
        attr = gr_attr_new_strings("ids", pointers, result->n_chunks);
    }
    free(texts);
    free(pointers);
    return attr;
}

/* Its only attribute, the name, gives way to four others. */
static granary_err
attrs_replace(Granary__Node *node, const Granary__Result *result)
{
    Granary__Attr **attrs = calloc(4, sizeof *attrs);
    bool failed = attrs == NULL;

    if (!failed) {
        attrs[0] = ids_attr(result);
        attrs[1] = gr_attr_new_ints("shape", result->shape, result->n_shape);
        attrs[2] = gr_attr_new_string("dtype", result->dtype);
        attrs[3] = gr_attr_new_ints("chunk", result->block, result->n_block);
    }
    for (int i = 0; i < 4 && attrs != NULL; i++) {
        failed = failed || attrs[i] == NULL;
    }
    if (failed) {
        for (int i = 0; i < 4 && attrs != NULL; i++) {
            granary__attr__free_unpacked(attrs[i], NULL);
        }
        free(attrs);
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        granary__attr__free_unpacked(node->attrs[i], NULL);
    }
    free(node->attrs);
    node->attrs = attrs;
    node->n_attrs = 4;
    return GRANARY_OK;
}

granary_err
array_bind(const struct target *target, Granary__Node *node)
{
    Granary__Result *result = target_unpack(target);
    granary_err err;

    if (result == NULL || !result->is_tensor || result->dtype[0] == '\0' || result->n_block != result->n_shape) {
        err = gr_fail(GRANARY_ETYPE, "target '%s' is no tensor", target->name);
    } else if (node->n_attrs != 1) {
        err = gr_fail(GRANARY_EINVAL, "beside 'name' it needs no other parameter");
    } else {
        err = attrs_replace(node, result);
    }
    granary__result__free_unpacked(result, NULL);
    return err;
}
