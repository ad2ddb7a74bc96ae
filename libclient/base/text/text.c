/* Text of strangers: UTF-8 is checked character by character, and what a terminal would obey is shown escaped. */
#include "base/text/text.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

size_t
gr_utf8_encode(uint32_t character, char ret_bytes[4])
{
    size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    for (size_t i = size; i-- > 1; character >>= 6) {
        ret_bytes[i] = (char)(0x80 | (character & 0x3f));
    }
    ret_bytes[0] = (char)(size == 1 ? character : (0xf00u >> size & 0xff) | character);
    return size;
}

bool
gr_text_is_control(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

static bool
turns_writing(uint32_t character)
{
    return (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

granary_err
gr_text_check(const char *text, size_t size, const char *what)
{
    uint32_t character = 0;

    for (size_t at = 0, step; at < size; at += step) {
        step = gr_utf8_decode(text + at, size - at, &character);
        if (step == 0) {
            return gr_fail(GRANARY_EINVAL, "%s: not UTF-8", what);
        }
        if (gr_text_is_control(character)) {
            return gr_fail(GRANARY_EINVAL, "%s: control characters are not allowed in it", what);
        }
    }
    return GRANARY_OK;
}

size_t
gr_text_show(const char *text, size_t size, char ret_shown[GR_TEXT_SHOWN])
{
    uint32_t character = 0;
    size_t length = gr_utf8_decode(text, size, &character);

    if (length == 0) {
        (void)snprintf(ret_shown, GR_TEXT_SHOWN, "\\x%02x", (unsigned char)*text);
        return 1;
    }
    if (character == '\n' || character == '\t' || character == '\r') {
        (void)snprintf(ret_shown, GR_TEXT_SHOWN, "\\%c", character == '\n' ? 'n' : character == '\t' ? 't' : 'r');
    } else if (gr_text_is_control(character) || turns_writing(character)) {
        (void)snprintf(ret_shown, GR_TEXT_SHOWN, character < 0x80 ? "\\x%02x" : "\\u%04x", character);
    } else {
        memcpy(ret_shown, text, length);
        ret_shown[length] = '\0';
    }
    return length;
}

void
gr_text_blank(char *text, size_t size, const char *keep)
{
    uint32_t character = 0;

    for (size_t at = 0, step; at < size; at += step) {
        step = gr_utf8_decode(text + at, size - at, &character);
        if (step == 0) {
            step = 1;
            text[at] = '?';
        } else if (gr_text_is_control(character) && memchr(keep, (int)character, strlen(keep)) == NULL) {
            memset(text + at, '?', step);
        }
    }
}
