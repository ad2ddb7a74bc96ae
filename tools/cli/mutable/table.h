/* The commands of `granary table` and `granary tensor`, and what they share. */
#ifndef CLI_MUTABLE_TABLE_H
#define CLI_MUTABLE_TABLE_H

#include "cli/command/command.h"
#include "granary/mutable.h"

extern const struct command table_append, table_delete, table_read, table_remove, table_write;
/* Of tables and of tensors (state.c). */
extern const struct command state_info, state_list, state_retain, state_seal, state_snapshot, state_watch;

/* The table that the first argument names, which is to be one of rows. Errors: ETYPE it is a tensor · as
 * granary_mutable_open(), with what to do about it */
granary_err table_open_frame(struct cli *cli, granary_mutable **ret_table);

/* A table or tensor that is to be there, and may be sealed. */
granary_err table_open_to_read(granary_client *client, const char *name, granary_mutable **ret_table);

/* Say behind the message of the last error what to do about it. Returns err. */
granary_err table_advise(granary_err err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
