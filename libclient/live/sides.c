/* See sides.h. A table is told by the objects that it has, a file as recall tells it: by inode, size and times. */
#include "live/sides.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text/buf.h"
#include "granary/graph.h"
#include "granary/mutable.h"
#include "graph/graph.h"

static void
add_file(const char *path, struct gr_buf *out)
{
    struct stat info;

    if (stat(path, &info) != 0) {
        gr_buf_add(out, "gone", 4);
        return;
    }
    gr_buf_add(out, &info.st_dev, sizeof info.st_dev);
    gr_buf_add(out, &info.st_ino, sizeof info.st_ino);
    gr_buf_add(out, &info.st_size, sizeof info.st_size);
    gr_buf_add(out, &info.st_mtim, sizeof info.st_mtim);
    gr_buf_add(out, &info.st_ctim, sizeof info.st_ctim);
}

/* KEY, or KEY/TARGET: a key may have slashes of its own. */
static granary_err
add_result(granary_client *client, const char *name, struct gr_buf *out)
{
    const char *slash = strrchr(name, '/');
    char key[GRANARY_KEY_MAX];
    granary_result result;
    granary_err err = GRANARY_ENOENT;

    if (slash != NULL && (size_t)(slash - name) < sizeof key) {
        memcpy(key, name, (size_t)(slash - name));
        key[slash - name] = '\0';
        err = granary_graph_result(client, key, slash + 1, &result);
    }
    if (err == GRANARY_OK) {
        gr_buf_add(out, result.chunks, result.chunk_count * sizeof *result.chunks);
        granary_result_free(&result);
    }
    return err;
}

/* Either it changes, or did once, or it is a result that was kept. One that is not there is told from all others. */
static granary_err
add_table(granary_client *client, const char *name, struct gr_buf *out)
{
    granary_mutable_info info;
    granary_err err = strlen(name) > GRANARY_TEXT_MAX ? GRANARY_ENOENT : granary_mutable_describe(client, name, &info);

    if (err == GRANARY_OK) {
        gr_buf_add(out, info.id.bytes, sizeof info.id.bytes);
    } else if (err != GRANARY_EUNREACHABLE) {
        err = add_result(client, name, out);
    }
    if (err == GRANARY_EUNREACHABLE || err == GRANARY_ENOMEM) {
        return err;
    }
    gr_buf_addf(out, " %d", (int)err);
    return GRANARY_OK;
}

granary_err
live_sides(granary_client *client, const Granary__Graph *graph, const bool *grows, uint64_t *ret_sides)
{
    struct gr_buf text = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < graph->n_nodes; i++) {
        const Granary__Node *node = graph->nodes[i];
        const char *path = gr_attr_string(node->attrs, node->n_attrs, "path", NULL);
        const char *name = gr_attr_string(node->attrs, node->n_attrs, "name", NULL);

        gr_buf_addf(&text, "\n%zu ", i);
        if (strncmp(node->op, "read_", 5) == 0 && path != NULL) {
            add_file(path, &text);
        } else if (strcmp(node->op, "table") == 0 && name != NULL && !grows[i]) {
            err = add_table(client, name, &text);
        }
    }
    if (err == GRANARY_OK && !gr_buf_ok(&text)) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (err == GRANARY_OK) {
        *ret_sides = gr_hash64(text.bytes, text.size);
    }
    gr_buf_free(&text);
    return err;
}
