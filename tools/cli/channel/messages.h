/* messages: granary channel put, get, tail. */
#ifndef CLI_CHANNEL_MESSAGES_H
#define CLI_CHANNEL_MESSAGES_H

#include "cli/command/command.h"
#include "granary/channel.h"

extern const struct command channel_put, channel_get, channel_tail;

/* A channel that is to be there. Errors: as granary_channel_open(), with what to do */
granary_err channel_find(struct cli *cli, granary_channel **ret_channel);

#endif
