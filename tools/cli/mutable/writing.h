/* What commands share that write to a table or a tensor: at which time, and what is told of it. */
#ifndef CLI_WRITING_H
#define CLI_WRITING_H

#include "cli/command/command.h"
#include "granary/mutable.h"

/* Options of a granary_write_options in a command's struct. */
#define WRITING_OPTIONS(type, member)                                                                                  \
    {"time", 0, "TIME", "write at this time: nanoseconds since 1970, or a timestamp in UTC; default: the clock's",     \
     GR_OPTION_TAKE_INTO(type, member.time, writing_take_time)},                                                       \
        {"forward", 0, NULL, "when that time is final already, write at the next one that is not",                     \
         GR_OPTION_FLAG(type, member.forward)},                                                                        \
    {                                                                                                                  \
        "timeout", 0, "DURATION", "wait this long for room when memory is full; default: 30 s",                        \
            GR_OPTION_MS(type, member.timeout_ms)                                                                      \
    }

granary_err writing_take_time(void *time, char *text);

/* err of a write; who gave a time that is final is told what helps. */
granary_err writing_told(const granary_write_options *options, granary_err err);

/* Print when rows were written, unless err says that they were not. Returns err. */
granary_err writing_print(const struct cli *cli, granary_err err, int64_t time, int64_t rows);

#endif
