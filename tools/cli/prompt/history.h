/* Lines that were entered, in a file of the user's state directory: added as they come, so that no end of the prompt loses one. */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include <stddef.h>

#define HISTORY_LINES 2000
#define HISTORY_LINE  4096 /* bytes; longer ones are not kept */

struct kept_lines {
    int fd; /* -1: nothing is kept */
};

/* Open it, and call add() for its last lines. What cannot be opened is told on stderr. */
void kept_begin(struct kept_lines *file, void (*add)(void *to, const char *line), void *to);
void kept_add(struct kept_lines *file, const char *line, size_t size);
void kept_end(struct kept_lines *file);

#endif
