/* Within the room: frames of windows from text (graph/window.h). */
#ifndef GRAPH_WINDOW_FRAME_H
#define GRAPH_WINDOW_FRAME_H

#include "graph/window.h"

/*
 * What stands behind the brackets of a function: "[ignore nulls | respect nulls] [frame]".
 *
 * *ret_framed  whether there is a frame
 * Errors       EINVAL · ENOMEM
 */
granary_err gr_frame_parse(const char *text, struct gr_window *window, bool *ret_framed);

#endif
