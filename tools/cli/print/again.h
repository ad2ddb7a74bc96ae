/* A screen that is shown again and again, until a signal or the key q. */
#ifndef CLI_AGAIN_H
#define CLI_AGAIN_H

#include <stdbool.h>
#include <termios.h>

struct again {
    bool once;
    int interval_ms;
    bool is_terminal; /* each screen takes the place of the one before */
    bool keys;        /* the terminal gives keys at once; it is to be as it was */
    struct termios before;
};

#define AGAIN_HELP     "wait this long between two screens; default: 1 s"
#define AGAIN_WRONG    "--interval: it is from 50ms to 1h"
#define AGAIN_LEAST_MS 50
#define AGAIN_MOST_MS  3600000

/* clears: on a terminal each screen takes the place of the one before. once and interval_ms are set. */
void again_begin(struct again *again, bool clears);
/* In front of a screen. */
void again_clear(const struct again *again);
/* Behind it: wait until it is time for the next one. False: there is none. */
bool again_next(const struct again *again);
void again_end(const struct again *again);

#endif
