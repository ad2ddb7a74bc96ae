/* The commands of `granary cluster`, for its table. */
#ifndef CLI_CLUSTER_CLUSTER_H
#define CLI_CLUSTER_CLUSTER_H

#include "cli/command/command.h"

extern const struct command cluster_up;
extern const struct command cluster_status;
extern const struct command cluster_top;
extern const struct command cluster_why;
extern const struct command cluster_down;
extern const struct command cluster_look;
extern const struct command cluster_node;
extern const struct command cluster_fragment;

#endif
