/* Digits of bytes, in both directions. */
#include "data/value/bytes.h"

#include <stdint.h>
#include <string.h>

void
gr_hex_format(const char *bytes, size_t size, bool capitals, struct gr_buf *out)
{
    const char *digits = capitals ? "0123456789ABCDEF" : "0123456789abcdef";
    char *to = gr_buf_grow(out, 2 * size);

    for (size_t i = 0; to != NULL && i < size; i++) {
        to[2 * i] = digits[(uint8_t)bytes[i] >> 4];
        to[2 * i + 1] = digits[(uint8_t)bytes[i] & 15];
    }
}

void
gr_bytes_format(const char *bytes, size_t size, struct gr_buf *out)
{
    gr_buf_add(out, "\\x", 2);
    gr_hex_format(bytes, size, false, out);
}

static bool
stands_for_itself(char byte)
{
    return byte >= ' ' && byte <= '~' && strchr("\\'\"", byte) == NULL;
}

void
gr_bytes_write(const char *bytes, size_t size, struct gr_buf *out)
{
    size_t digits = 1;

    while (digits < size && gr_hex_digit(bytes[digits]) >= 0) {
        digits++;
    }
    for (size_t i = 0; i < size; i++) {
        bool misread = i == 1 && size > 1 && digits == size && size % 2 == 1 && !stands_for_itself(bytes[0]);

        if (stands_for_itself(bytes[i]) && !misread) {
            gr_buf_add(out, bytes + i, 1);
        } else {
            gr_buf_add(out, "\\x", 2);
            gr_hex_format(bytes + i, 1, true, out);
        }
    }
}

int
gr_hex_digit(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

int
gr_hex_byte(const char *text)
{
    int high = gr_hex_digit(text[0]);
    int low = gr_hex_digit(text[1]);

    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static bool
is_hex(const char *text, size_t size)
{
    bool hex = size % 2 == 0;

    for (size_t i = 0; hex && i < size; i++) {
        hex = gr_hex_digit(text[i]) >= 0;
    }
    return hex;
}

bool
gr_hex_parse(const char *text, size_t size, struct gr_buf *out)
{
    char *to = is_hex(text, size) ? gr_buf_grow(out, size / 2) : NULL;

    for (size_t i = 0; to != NULL && i < size / 2; i++) {
        to[i] = (char)gr_hex_byte(text + 2 * i);
    }
    return to != NULL || (size == 0 && gr_buf_ok(out));
}

bool
gr_bytes_parse(const char *text, size_t size, struct gr_buf *out)
{
    if (size >= 2 && text[0] == '\\' && text[1] == 'x' && is_hex(text + 2, size - 2)) {
        return gr_hex_parse(text + 2, size - 2, out);
    }
    while (size > 0) {
        const char *escape = memchr(text, '\\', size);
        size_t plain = escape == NULL ? size : (size_t)(escape - text);
        size_t taken = 2;
        int byte;

        gr_buf_add(out, text, plain);
        text += plain;
        size -= plain;
        if (size == 0) {
            break;
        }
        byte = size >= 2 && text[1] == '\\' ? '\\' : -1;
        if (size >= 4 && text[1] == 'x') {
            byte = gr_hex_byte(text + 2);
            taken = 4;
        }
        if (byte < 0) {
            return false;
        }
        gr_buf_add(out, &(char){(char)byte}, 1);
        text += taken;
        size -= taken;
    }
    return gr_buf_ok(out);
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
gr_base64_format(const char *bytes, size_t size, struct gr_buf *out)
{
    char *to = gr_buf_grow(out, (size + 2) / 3 * 4);

    for (size_t i = 0; to != NULL && i < size; i += 3, to += 4) {
        size_t there = size - i < 3 ? size - i : 3;
        uint32_t group = (uint32_t)(uint8_t)bytes[i] << 16;

        group |= there > 1 ? (uint32_t)(uint8_t)bytes[i + 1] << 8 : 0;
        group |= there > 2 ? (uint8_t)bytes[i + 2] : 0;
        to[0] = letters[group >> 18];
        to[1] = letters[group >> 12 & 63];
        to[2] = '=';
        to[3] = '=';
        if (there > 1) {
            to[2] = letters[group >> 6 & 63];
        }
        if (there > 2) {
            to[3] = letters[group & 63];
        }
    }
}

bool
gr_base64_parse(const char *text, size_t size, struct gr_buf *out)
{
    size_t padding = size >= 4 && text[size - 1] == '=' ? 1 + (size_t)(text[size - 2] == '=') : 0;

    if (size % 4 != 0) {
        return false;
    }
    for (size_t i = 0; i < size; i += 4) {
        size_t there = i + 4 == size ? 4 - padding : 4;
        uint32_t group = 0;
        char bytes[3];

        for (size_t k = 0; k < 4; k++) {
            const char *at = k < there && text[i + k] != '\0' ? strchr(letters, text[i + k]) : NULL;

            if (k < there && at == NULL) {
                return false;
            }
            group = group << 6 | (at != NULL ? (uint32_t)(at - letters) : 0);
        }
        bytes[0] = (char)(group >> 16);
        bytes[1] = (char)(group >> 8 & 255);
        bytes[2] = (char)(group & 255);
        gr_buf_add(out, bytes, there - 1);
    }
    return gr_buf_ok(out);
}
