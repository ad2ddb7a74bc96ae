/* How values are shown to humans: moments, ages, and texts that others chose. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/store.h"

/* "2026-11-21 16:02:58"; "-" for 0. Returns buffer. */
const char *show_time(int64_t ms, char buffer[32]);
/* "3 s", "5 min", "2 h", "4 d" since a moment. Returns buffer. */
const char *show_age(int64_t since_ms, char buffer[32]);

/* Text that others chose, with what would command a terminal shown instead of sent. Returns buffer. */
#define SHOW_TEXT 1024
#define SHOW_CUT  "..." /* the end of one that was cut */
const char *show_text(const char *text, char buffer[SHOW_TEXT]);
/* The same of lines, printed. more: others follow, and the last character may be cut. Returns the bytes it printed. */
size_t show_lines(const char *text, size_t size, bool more);

/* "memory", "disk", "deleting", "alias". */
const char *show_state(granary_object_state state);

#endif
