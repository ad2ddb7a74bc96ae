/* See half.h. */
#include "data/value/half.h"

#include <stdint.h>
#include <string.h>

float
gr_half(const void *at)
{
    uint16_t half;
    uint32_t sign;
    uint32_t exponent;
    uint32_t fraction;
    uint32_t word;
    float value;

    memcpy(&half, at, sizeof half);
    sign = (uint32_t)(half & 0x8000) << 16;
    exponent = half >> 10 & 0x1f;
    fraction = half & 0x3ff;
    if (exponent == 0) { /* zeros and what is smaller than normal */
        value = (float)fraction * 0x1p-24f;
        memcpy(&word, &value, sizeof word);
        word |= sign;
    } else {
        word = sign | (exponent == 31 ? 0xffu : exponent + 112) << 23 | fraction << 13;
    }
    memcpy(&value, &word, sizeof value);
    return value;
}
