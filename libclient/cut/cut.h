/* A graph cut into fragments, for those who have it as a message; docs/fragments.md describes the plan. */
#ifndef CUT_CUT_H
#define CUT_CUT_H

#include "granary/cut.h"
#include "schema/granary.pb-c.h"

/* As granary_graph_cut(). The message stays the caller's, and as it is. */
granary_err
gr_cut(granary_client *client, const Granary__Graph *message, const granary_cut_options *options, char **ret_json);

#endif
