/* Durability of tables on the command line: an option, a column of listings, and what becomes of damage. */
#ifndef CLI_MUTABLE_DURABLE_H
#define CLI_MUTABLE_DURABLE_H

#include "cli/command/command.h"
#include "cli/print/listing.h"
#include "granary/mutable.h"

/* "none", "commit" or an interval, as "100ms", into granary_mutable_options. Errors: EINVAL */
granary_err durable_take(void *options, char *text);

#define DURABLE_HELP                                                                                                   \
    "what survives a power cut: none, commit (each write that has returned), or what is older than an interval, as "   \
    "100ms; default: none"

/* Of a granary_mutable_info: as durable_take() takes it. */
const char *durable_show(const void *info, char buffer[SHOW_TEXT]);
void durable_write(const void *info, struct json *json);

extern const struct command durable_recover_command;

#endif
