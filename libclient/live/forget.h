/* forget: what a live query leaves when its client is killed: the graphs of its last result, and of one that was being made. */
#ifndef LIVE_FORGET_H
#define LIVE_FORGET_H

#include "granary/live.h"

/* granary_live_open() under a label that the caller chose: nobody else's, 32 hex digits of a random id. */
granary_err
gr_live_open(granary_client *client, const char *sql, size_t length, const char *label, granary_live **ret_live);

/* Stop and delete what a live query of that label has left. Its client has died: it sends nothing any more. Errors: EUNREACHABLE */
granary_err gr_live_forget(granary_client *client, const char *label);

#endif
