/* Each encoding gives characters, one or two bytes at a time, and those are written as UTF-8. */
#include "data/text/encoding.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum gr_encoding encoding;
} names[] = {
    {"utf-8", GR_UTF_8},         {"utf8", GR_UTF_8},         {"latin-1", GR_LATIN_1},
    {"latin1", GR_LATIN_1},      {"iso-8859-1", GR_LATIN_1}, {"windows-1252", GR_WINDOWS_1252},
    {"cp1252", GR_WINDOWS_1252}, {"utf-16le", GR_UTF_16LE},  {"utf-16be", GR_UTF_16BE},
    {"utf-16", GR_UTF_16},
};

bool
gr_encoding_parse(const char *name, enum gr_encoding *ret_encoding)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(names[i].name, name) == 0) {
            *ret_encoding = names[i].encoding;
            return true;
        }
    }
    return false;
}

/* 0x80 to 0x9f; the five that stand for nothing are control characters, as in Latin-1. */
static const uint16_t windows_1252[32] = {
    0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,  0x2030, 0x160,
    0x2039, 0x152,  0x8d,   0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178,
};

/* At most 4 bytes. Returns how many. */
static size_t
put_character(uint32_t character, char *to)
{
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        to[0] = (char)(0xc0 | character >> 6);
        to[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        to[0] = (char)(0xe0 | character >> 12);
        to[1] = (char)(0x80 | (character >> 6 & 0x3f));
        to[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | character >> 18);
    to[1] = (char)(0x80 | (character >> 12 & 0x3f));
    to[2] = (char)(0x80 | (character >> 6 & 0x3f));
    to[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

static uint32_t
unit_at(enum gr_encoding encoding, const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;

    return encoding == GR_UTF_16BE ? (uint32_t)b[0] << 8 | b[1] : (uint32_t)b[1] << 8 | b[0];
}

/* A character of UTF-16. Returns its bytes; 0: it is not whole; -1: it is none. */
static int
take_utf_16(enum gr_encoding encoding, const char *bytes, size_t size, uint32_t *ret_character)
{
    uint32_t low;

    if (size < 2) {
        return 0;
    }
    *ret_character = unit_at(encoding, bytes);
    if (*ret_character < 0xd800 || *ret_character > 0xdfff) {
        return 2;
    }
    if (*ret_character > 0xdbff) {
        return -1;
    }
    if (size < 4) {
        return 0;
    }
    low = unit_at(encoding, bytes + 2);
    if (low < 0xdc00 || low > 0xdfff) {
        return -1;
    }
    *ret_character = 0x10000 + ((*ret_character - 0xd800) << 10) + (low - 0xdc00);
    return 4;
}

/* Bytes of ASCII from one on, by eights. */
static size_t
ascii_run(const char *bytes, size_t size)
{
    size_t run = 0;
    uint64_t word;

    while (run + sizeof word <= size) {
        memcpy(&word, bytes + run, sizeof word);
        if ((word & 0x8080808080808080u) != 0) {
            break;
        }
        run += sizeof word;
    }
    return run;
}

bool
gr_encoding_decode(enum gr_encoding encoding, const char *bytes, size_t size, bool last, struct gr_buf *out,
                   size_t *ret_used)
{
    size_t room = encoding >= GR_UTF_16LE ? size / 2 * 3 + 4 : size * 3; /* a character of a byte has up to 3 */
    size_t before = out->size;
    char *to;
    char *at;
    size_t used = 0;
    bool ok = true;

    if (encoding == GR_UTF_8) {
        gr_buf_add(out, bytes, size);
        *ret_used = size;
        return true;
    }
    to = at = gr_buf_grow(out, room);
    while (to != NULL && used < size) {
        uint32_t character = (unsigned char)bytes[used];
        size_t run = encoding >= GR_UTF_16LE ? 0 : ascii_run(bytes + used, size - used);
        int taken = 1;

        if (run > 0) {
            memcpy(at, bytes + used, run);
            at += run;
            used += run;
            continue;
        }
        if (encoding >= GR_UTF_16LE) {
            taken = take_utf_16(encoding, bytes + used, size - used, &character);
        } else if (encoding == GR_WINDOWS_1252 && character >= 0x80 && character < 0xa0) {
            character = windows_1252[character - 0x80];
        }
        if (taken <= 0) {
            ok = taken == 0 && !last;
            break;
        }
        at += put_character(character, at);
        used += (size_t)taken;
    }
    out->size = to == NULL ? before : before + (size_t)(at - to);
    *ret_used = used;
    return ok;
}
