/*
 * Digits, eight at a time, of fields that lie in a larger text: up to 16 bytes before and behind them may be read.
 * Whoever gets false asks the parsers of csv_values.h, which know everything.
 */
#ifndef KERNEL_CSV_CSV_DIGITS_H
#define KERNEL_CSV_CSV_DIGITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* text[0 .. size), size 1 to 8, as a number; false: not digits alone. */
static inline bool
csv_eight_digits(const char *text, size_t size, uint64_t *ret_value)
{
    uint64_t before = (UINT64_C(1) << 8 * (8 - size)) - 1; /* bytes of what stands before the digits */
    uint64_t x;

    memcpy(&x, text + size - 8, sizeof x); /* little-endian: the last digit is the highest byte */
    x = (x & ~before) | (UINT64_C(0x3030303030303030) & before);
    if (((x & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
         (((x + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4)) != UINT64_C(0x3333333333333333)) {
        return false;
    }
    /* Pairs, then fours, then all eight: Lemire, "Quickly parsing eight digits", 2018. */
    x -= UINT64_C(0x3030303030303030);
    x = x * 10 + (x >> 8);
    x = ((x & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
         ((x >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
        32;
    *ret_value = x;
    return true;
}

/* The same of 1 to 16 digits. */
static inline bool
csv_digits(const char *text, size_t size, uint64_t *ret_value)
{
    uint64_t high, low;

    if (size <= 8) {
        return csv_eight_digits(text, size, ret_value);
    }
    if (!csv_eight_digits(text, size - 8, &high) || !csv_eight_digits(text + size - 8, 8, &low)) {
        return false;
    }
    *ret_value = high * 100000000 + low;
    return true;
}

/* Digits with an optional '-'. */
static inline bool
csv_fast_int64(const char *text, size_t size, int64_t *ret_value)
{
    size_t sign = size > 1 && *text == '-';
    uint64_t value;

    if (size - sign - 1 >= 16 || !csv_digits(text + sign, size - sign, &value)) {
        return false;
    }
    *ret_value = sign != 0 ? -(int64_t)value : (int64_t)value;
    return true;
}

/* Where a '.' is among the first 16 bytes, or 16. */
static inline size_t
csv_point_at(const char *text)
{
    size_t at = 0;

    for (int half = 0; half < 2; half++, at += 8) {
        uint64_t x;

        memcpy(&x, text + at, sizeof x);
        x ^= UINT64_C(0x2e2e2e2e2e2e2e2e);
        x = (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
        if (x != 0) {
            return at + (size_t)__builtin_ctzll(x) / 8;
        }
    }
    return at;
}

/* Digits, a point, digits: not more than eight on either side. */
static inline bool
csv_fast_float64(const char *text, size_t size, double *ret_value)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    static const uint64_t whole_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    size_t sign = size > 1 && *text == '-';
    size_t point = csv_point_at(text + sign);
    uint64_t whole, rest;
    double value;

    text += sign;
    size -= sign;
    if (point >= size) {
        if (size - 1 >= 15 || !csv_digits(text, size, &whole)) {
            return false;
        }
        value = (double)whole;
        *ret_value = sign != 0 ? -value : value;
        return true;
    }
    if (point - 1 >= 8 || size - point - 2 >= 8 || !csv_eight_digits(text, point, &whole) ||
        !csv_eight_digits(text + point + 1, size - point - 1, &rest)) {
        return false;
    }
    whole = whole * whole_powers[size - point - 1] + rest;
    if (whole > (uint64_t)1 << 53) {
        return false;
    }
    value = (double)whole / powers[size - point - 1]; /* both are exact, so it rounds once */
    *ret_value = sign != 0 ? -value : value;
    return true;
}

/* Digits, a point, exactly scale digits (1 to 8); up to eight before it. */
static inline bool
csv_fast_decimal(const char *text, size_t size, size_t scale, int64_t *ret_scaled)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    size_t sign = size > 1 && *text == '-';
    size_t point = size - scale - 1;
    uint64_t whole, rest;

    if (scale - 1 >= 8 || size < scale + 2 + sign || text[point] != '.' || point - sign > 8 ||
        !csv_eight_digits(text + sign, point - sign, &whole) || !csv_eight_digits(text + point + 1, scale, &rest)) {
        return false;
    }
    whole = whole * powers[scale] + rest;
    *ret_scaled = sign != 0 ? -(int64_t)whole : (int64_t)whole;
    return true;
}

#endif
