/*
 * Text that strangers chose. Names are checked where they are given. All the same they are shown character by
 * character, because they may come from a file, from user code or from an earlier release.
 */
#ifndef BASE_TEXT_TEXT_H
#define BASE_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

/* Without spaces around it: returns where it begins. */
static inline const char *
gr_trim_spaces(const char *text, size_t *size)
{
    while (*size > 0 && text[*size - 1] == ' ') {
        (*size)--;
    }
    for (; *size > 0 && *text == ' '; (*size)--) {
        text++;
    }
    return text;
}

/*
 * The character at text: its length in bytes, 1 to 4; 0 when it is not valid (overlong, surrogate, cut short). Inline:
 * columns of text are checked with it.
 */
static inline size_t
gr_utf8_decode(const char *text, size_t size, uint32_t *ret_character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    uint32_t character;
    size_t length;

    if (size == 0) {
        return 0;
    }
    if (at[0] < 0x80) {
        *ret_character = at[0];
        return 1;
    }
    length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > size) {
        return 0;
    }
    character = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        character = character << 6 | (at[i] & 0x3fu);
    }
    if (character < least[length] || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff)) {
        return 0;
    }
    *ret_character = character;
    return length;
}

/* The bytes of a character, which is one: how many they are. */
size_t gr_utf8_encode(uint32_t character, char ret_bytes[4]);
/* Whether a terminal may obey it: C0, DEL and C1. */
bool gr_text_is_control(uint32_t character);
/* EINVAL when text is not UTF-8, or has control characters in it. what: "name", ... */
granary_err gr_text_check(const char *text, size_t size, const char *what);

#define GR_TEXT_SHOWN 8
/*
 * The first character as it may be printed, ended by NUL: controls, what turns the direction of writing and bytes that
 * are no UTF-8 are escaped. Returns how many bytes of text it took; size is at least 1.
 */
size_t gr_text_show(const char *text, size_t size, char ret_shown[GR_TEXT_SHOWN]);
/* What gr_text_check() refuses becomes '?', byte by byte, but for the characters in `keep`. */
void gr_text_blank(char *text, size_t size, const char *keep);

#endif
