/* UTF-8 checked by ranges of the second byte (Unicode 15, table 3-7), with a quick way for ASCII. */
#include "data/value/utf8.h"

#include <string.h>

#include "base/text/text.h"

const char *
utf8_first_invalid(const char *text, size_t length)
{
    const char *end = text + length;

    while (text < end) {
        uint64_t word;
        uint32_t character;
        size_t size;

        while (end - text >= 8 && (memcpy(&word, text, 8), (word & 0x8080808080808080u) == 0)) {
            text += 8;
        }
        if (text == end) {
            break;
        }
        size = gr_utf8_decode(text, (size_t)(end - text), &character);
        if (size == 0) {
            return text;
        }
        text += size;
    }
    return NULL;
}

struct range {
    uint32_t first;
    uint32_t last;
};

static int
is_in(uint32_t character, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count && character >= ranges[i].first; i++) {
        if (character <= ranges[i].last) {
            return 1;
        }
    }
    return 0;
}

int
utf8_width(uint32_t character)
{
    static const struct range combining[] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},     {0x64b, 0x65f},
        {0x900, 0x902},   {0x93c, 0x93c},   {0xe34, 0xe3a},   {0xe47, 0xe4e},     {0x1ab0, 0x1aff},
        {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064},   {0x20d0, 0x20ff},
        {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
    };
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
        {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };

    if (character < 0x300) {
        return 1;
    }
    if (is_in(character, combining, sizeof combining / sizeof combining[0])) {
        return 0;
    }
    return is_in(character, wide, sizeof wide / sizeof wide[0]) ? 2 : 1;
}
