/* An output's ending says its format; what goes to stdout has the command's. */
#include "cli/work/run/targets.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "cli/command/pager.h"
#include "cli/print/output.h"
#include "data/print/print.h"

void
targets_tell(granary_client *client, const char *key, const char *target)
{
    granary_result result = {0};
    char id[GRANARY_ID_TEXT + 1];

    if (granary_graph_result(client, key, target, &result) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < result.chunk_count && i < 4; i++) {
        granary_id_format(result.chunks[i], id);
        (void)fprintf(stderr, "granary: run: target %s is object %s\n", target, id);
    }
    if (result.chunk_count > 4) {
        (void)fprintf(stderr, "granary: run: ... in %zu objects\n", result.chunk_count);
    }
    granary_result_free(&result);
}

static const char *
output_path_of(const struct run *run, const char *target, const struct gr_format **ret_format, granary_err *ret_err)
{
    *ret_err = GRANARY_OK;
    for (size_t i = 0; i < run->output_count; i++) {
        if (strcmp(run->outputs[i].target, target) == 0) {
            *ret_err = output_format_of(run->outputs[i].path, ret_format);
            return run->outputs[i].path;
        }
    }
    *ret_format = run->format;
    return NULL;
}

/* Whether all of a target's chunks are there. */
static bool
is_whole(granary_client *client, const char *key, const char *target)
{
    granary_result result = {0};
    bool whole = granary_graph_result(client, key, target, &result) == GRANARY_OK;

    for (size_t i = 0; i < result.chunk_count && whole; i++) {
        whole = result.chunk_there[i];
    }
    granary_result_free(&result);
    return whole;
}

int
targets_print(struct run *run, granary_client *client, const char *key, const Granary__Graph *graph, bool parts_only)
{
    bool alone = run->source->target != NULL; /* a value without a name */
    size_t printed = 0;
    int status = 0;

    for (size_t i = 0; i < graph->n_targets && status == 0; i++) {
        const char *target = graph->targets[i];
        const struct gr_format *format;
        struct gr_buf out = {0};
        granary_err err;
        const char *path = output_path_of(run, target, &format, &err);

        if (parts_only && !is_whole(client, key, target)) {
            cli_note("%s: target %s has failed", run->cli->name, target);
            continue;
        }
        if (run->single_file != NULL) {
            path = run->single_file;
            format = run->single_format;
        }
        if (path == NULL && format == &output_json && !alone) {
            gr_buf_addf(&out, printed == 0 ? "{" : ",\n ");
            gr_print_json_string(target, strlen(target), &out);
            gr_buf_addf(&out, ": ");
        } else if (path == NULL && graph->n_targets > 1 && run->stdout_format == NULL) {
            gr_buf_addf(&out, format == &gr_format_csv ? "%s# %s\n" : "%s%s\n", printed == 0 ? "" : "\n", target);
        }
        if (err == GRANARY_OK) {
            err = output_result(client, key, target, format, &out);
        }
        if (path == NULL && format == &output_json && !alone && out.size > 0 && out.bytes[out.size - 1] == '\n') {
            out.size--; /* the object around it goes on */
        }
        if (err != GRANARY_OK) {
            status = cli_fail(err, "target %s", target);
        } else if ((path != NULL || run->stdout_format != NULL) &&
                   (err = output_pack(path != NULL ? path : run->stdout_format, &out)) != GRANARY_OK) {
            status = cli_fail(err, "%s", path != NULL ? path : "stdout");
        } else {
            status = path == NULL && run->pages
                         ? pager_write(out.bytes, out.size, format == &output_box && output_style.width < 0)
                         : cli_write_file(path == NULL ? "-" : path, out.bytes, out.size);
            printed += path == NULL;
        }
        gr_buf_free(&out);
    }
    if (run->format == &output_json && !alone && printed > 0 && status == 0) {
        (void)printf("}\n");
    }
    return status;
}

/* A statement's result is rows. */
static granary_err
check_rows(const char *path, const struct gr_format *format)
{
    return format->print_frame != NULL ? GRANARY_OK : gr_fail_in(output_refuse(format, true), "%s", path);
}

granary_err
targets_check(const struct run *run, const Granary__Graph *graph)
{
    const struct gr_format *format;
    granary_err err = GRANARY_OK;

    if (run->single_file != NULL && graph->n_targets != 1) {
        return gr_fail(GRANARY_EINVAL, "--arrow and --npy take a graph with one target, this has %zu: use -o NAME=FILE",
                       graph->n_targets);
    }
    if (run->source->target != NULL && run->single_file != NULL) {
        err = check_rows(run->single_file, run->single_format);
    }
    for (size_t i = 0; i < run->output_count && err == GRANARY_OK; i++) {
        size_t t = 0;

        while (t < graph->n_targets && strcmp(graph->targets[t], run->outputs[i].target) != 0) {
            t++;
        }
        err = t == graph->n_targets ? gr_fail(GRANARY_ENOENT, "-o %s=%s: the graph has no target of that name",
                                              run->outputs[i].target, run->outputs[i].path)
                                    : output_format_of(run->outputs[i].path, &format);
        if (err == GRANARY_OK && run->source->target != NULL) {
            err = check_rows(run->outputs[i].path, format);
        }
    }
    return err;
}
