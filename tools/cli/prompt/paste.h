/*
 * What comes from the terminal, in characters: keys, and texts that are pasted. A terminal marks these (bracketed paste), and what
 * comes faster than anybody types is taken for one, too. A long one does not go through the line editor, which draws each character.
 */
#ifndef CLI_PASTE_H
#define CLI_PASTE_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#include "base/text/buf.h"

struct paste {
    int fd;
    struct gr_buf queue; /* bytes from the terminal */
    size_t at;           /* how many of them were taken */
    bool bracketed;      /* bytes are of a marked text */
    struct gr_buf text;  /* pasted, and not for the line editor */
    bool ended;          /* the terminal has gone */
};

enum paste_event {
    PASTE_CHARACTER,
    PASTE_TEXT,        /* paste->text has some */
    PASTE_INTERRUPTED, /* by a signal */
    PASTE_END,
};

enum paste_event paste_next(struct paste *paste, wchar_t *ret_character);

/* What the terminal is to be told while a line is edited, and behind it. */
#define PASTE_BEGIN "\033[?2004h"
#define PASTE_STOP  "\033[?2004l"

#endif
