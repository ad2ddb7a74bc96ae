/* Who waits for what, as commands tell it: `granary why`, `granary doctor`. */
#ifndef CLI_WAITS_H
#define CLI_WAITS_H

#include "cli/look/look.h"
#include "cli/print/show.h"

/* "client 2 (executor 3, pid 15360) waits for room to write, 1.4 MiB, for 19 s". Returns text. */
const char *waits_sentence(const struct look *look, const granary_wait_info *wait, char text[SHOW_TEXT]);

/* Whether it is longer than what it waits for takes. What others are to make, or to count, may take any time. */
bool waits_too_long(const struct look *look, const granary_wait_info *wait);

#endif
