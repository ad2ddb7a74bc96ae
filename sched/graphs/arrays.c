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

static bool
is_name(const Granary__Attr *attr)
{
    return strcmp(attr->name, "name") == 0;
}

/* The name gives way to four other attributes; which part of it is read stays. */
static granary_err
attrs_replace(Granary__Node *node, const Granary__Result *result)
{
    Granary__Attr **attrs = calloc(4 + node->n_attrs, sizeof *attrs);
    size_t count = 4;
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
        if (is_name(node->attrs[i])) {
            granary__attr__free_unpacked(node->attrs[i], NULL);
        } else {
            attrs[count++] = node->attrs[i];
        }
    }
    free(node->attrs);
    node->attrs = attrs;
    node->n_attrs = count;
    return GRANARY_OK;
}

static bool
has_others(const Granary__Node *node)
{
    bool has = false;

    for (size_t i = 0; i < node->n_attrs; i++) {
        const char *name = node->attrs[i]->name;

        has = has || !(is_name(node->attrs[i]) || strcmp(name, "part") == 0 || strcmp(name, "parts") == 0);
    }
    return has;
}

granary_err
array_bind(const struct target *target, Granary__Node *node)
{
    Granary__Result *result = target_unpack(target);
    granary_err err;

    if (result == NULL || !result->is_tensor || result->dtype[0] == '\0' || result->n_block != result->n_shape) {
        err = gr_fail(GRANARY_ETYPE, "target '%s' is no tensor", target->name);
    } else if (has_others(node)) {
        err = gr_fail(GRANARY_EINVAL, "beside 'name' it needs no other parameter, but for 'part' and 'parts'");
    } else {
        err = attrs_replace(node, result);
    }
    granary__result__free_unpacked(result, NULL);
    return err;
}
