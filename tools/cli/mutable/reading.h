/* What commands share that read a table or a tensor at a time, and print it or write it to a file. */
#ifndef CLI_READING_H
#define CLI_READING_H

#include "cli/command/command.h"
#include "cli/mutable/moment.h"
#include "cli/print/output.h"

/* A command's struct begins with it; its time is GRANARY_NOW before the options are read. */
struct reading {
    int64_t at;
    bool csv;
    const char *mode;   /* --mode, or NULL */
    const char *output; /* file; NULL: stdout */
    const struct gr_format *format;
};

#define READING_OPTIONS                                                                                                \
    {"at", 0, "TIME", "read what there was at this time; default: that of the newest write",                           \
     GR_OPTION_TAKE_INTO(struct reading, at, moment_take)},                                                            \
    {                                                                                                                  \
        "output", 'o', "FILE", output_help, GR_OPTION_TEXT(struct reading, output)                                     \
    }

/* Which format is asked for. Errors: EINVAL */
granary_err reading_check(struct cli *cli);

/* What was read goes where it is to go, unless err says that it failed; out is freed. Returns the status of a command. */
int reading_end(const struct reading *reading, granary_err err, const char *name, struct gr_buf *out);

#endif
