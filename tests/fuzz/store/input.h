/* Reading a fuzz input as decisions: at its end everything is 0. */
#ifndef FUZZ_STORE_INPUT_H
#define FUZZ_STORE_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t
input_byte(struct input *input)
{
    if (input->left == 0) {
        return 0;
    }
    input->left--;
    return *input->at++;
}

static inline uint64_t
input_word(struct input *input)
{
    uint64_t word = 0;
    size_t size = input->left < sizeof word ? input->left : sizeof word;

    if (size > 0) { /* nothing is read from behind the input */
        memcpy(&word, input->at, size);
    }
    input->at += size;
    input->left -= size;
    return word;
}

/* A number as somebody might send it: small, at an edge or near it, or anything. */
static inline uint64_t
input_number(struct input *input)
{
    static const uint64_t edges[] = {0,
                                     64,
                                     4096,
                                     65536,
                                     (uint64_t)1 << 18,
                                     (uint64_t)1 << 20,
                                     (uint64_t)1 << 22,
                                     INT32_MAX,
                                     UINT32_MAX,
                                     (uint64_t)1 << 46,
                                     (uint64_t)1 << 48,
                                     INT64_MAX,
                                     UINT64_MAX,
                                     (uint64_t)1 << 30,
                                     UINT16_MAX,
                                     1024};
    uint8_t what = input_byte(input);

    switch (what >> 6) {
    case 0:
        return what & 63;
    case 1:
        return edges[what & 15] + (what >> 4 & 3) - 1; /* one less, the same, one more, two more */
    case 2:
        return ((uint64_t)(what & 63) << 8 | input_byte(input)) * 64;
    default:
        return input_word(input);
    }
}

/* The next bytes, at most `size` of them; the rest of `ret_bytes` is 0. */
static inline size_t
input_bytes(struct input *input, void *ret_bytes, size_t size)
{
    size_t taken = size < input->left ? size : input->left;

    memset(ret_bytes, 0, size);
    if (taken > 0) {
        memcpy(ret_bytes, input->at, taken);
    }
    input->at += taken;
    input->left -= taken;
    return taken;
}

#endif
