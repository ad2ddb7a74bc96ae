/* Formats of what is read, and its way out. */
#include "cli/mutable/reading.h"

#include "base/error.h"

granary_err
reading_check(struct cli *cli)
{
    struct reading *reading = cli->self;

    if (reading->csv && cli->json) {
        return gr_fail(GRANARY_EINVAL, "--csv and --json: name one of them");
    }
    reading->format = cli->json ? &output_json : reading->csv ? &gr_format_csv : &output_table;
    if (reading->mode != NULL && (reading->csv || cli->json || reading->output != NULL)) {
        return gr_fail(GRANARY_EINVAL, "--mode, --csv, --json and -o: name one of them");
    }
    if (reading->mode != NULL) {
        return output_take_mode(reading->mode, &reading->format);
    }
    return reading->output == NULL ? GRANARY_OK : output_format_of(reading->output, &reading->format);
}

int
reading_end(const struct reading *reading, granary_err err, const char *name, struct gr_buf *out)
{
    int status;

    if (err == GRANARY_OK && !gr_buf_ok(out)) {
        err = gr_fail(GRANARY_ENOMEM, "'%s': out of memory for the output", name);
    }
    status = err != GRANARY_OK ? (int)err
                               : cli_write_file(reading->output == NULL ? "-" : reading->output, out->bytes, out->size);
    gr_buf_free(out);
    return status;
}
