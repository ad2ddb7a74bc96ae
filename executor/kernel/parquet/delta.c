/* DELTA_BINARY_PACKED: see delta.h. */
#include "kernel/parquet/delta.h"

#define BLOCK_MOST ((uint64_t)1 << 24)

static bool
read_varint(struct delta *delta, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte;

        if (delta->at == delta->end) {
            return false;
        }
        byte = *delta->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool
read_zigzag(struct delta *delta, uint64_t *ret_value)
{
    uint64_t value;

    if (!read_varint(delta, &value)) {
        return false;
    }
    *ret_value = value >> 1 ^ (0 - (value & 1));
    return true;
}

bool
delta_open(struct delta *delta, const uint8_t *bytes, size_t size)
{
    uint64_t block;

    *delta = (struct delta){.at = bytes, .end = bytes + size};
    if (!read_varint(delta, &block) || !read_varint(delta, &delta->minis) || !read_varint(delta, &delta->left) ||
        !read_zigzag(delta, &delta->last)) {
        return false;
    }
    if (block == 0 || block > BLOCK_MOST || delta->minis == 0 || block % delta->minis != 0 ||
        block / delta->minis % 8 != 0 || delta->left > INT32_MAX) {
        return false;
    }
    delta->per_mini = block / delta->minis;
    delta->mini = delta->minis;
    return true;
}

/* The next miniblock, of the next block when it is the first one. */
static bool
next_mini(struct delta *delta)
{
    uint64_t count = delta->left < delta->per_mini ? delta->left : delta->per_mini;
    uint64_t room;

    if (delta->mini == delta->minis) {
        if (!read_zigzag(delta, &delta->least) || (uint64_t)(delta->end - delta->at) < delta->minis) {
            return false;
        }
        delta->widths = delta->at;
        delta->at += delta->minis;
        delta->mini = 0;
    }
    delta->width = delta->widths[delta->mini++];
    room = (uint64_t)(delta->end - delta->at);
    if (delta->width > 64 || (count * delta->width + 7) / 8 > room) {
        return false;
    }
    delta->run = delta->at;
    delta->bit = 0;
    delta->mini_left = count;
    delta->at += delta->per_mini * delta->width / 8 < room ? delta->per_mini * delta->width / 8 : room;
    return true;
}

static uint64_t
number_at(const uint8_t *run, uint64_t bit, unsigned width)
{
    unsigned shift = (unsigned)(bit & 7);
    uint64_t value = bits_load(run + (bit >> 3)) >> shift;

    if (width + shift > 64) {
        value |= (uint64_t)run[(bit >> 3) + 8] << (64 - shift);
    }
    return width == 64 ? value : value & (((uint64_t)1 << width) - 1);
}

static void
take_run(struct delta *delta, int64_t *numbers, size_t count)
{
    uint64_t last = delta->last;
    unsigned width = delta->width;

    for (size_t i = 0; i < count; i++) {
        last += delta->least + (width == 0 ? 0 : number_at(delta->run, delta->bit, width));
        delta->bit += width;
        numbers[i] = (int64_t)last;
    }
    delta->last = last;
}

bool
delta_take(struct delta *delta, int64_t *numbers, size_t count)
{
    if (count > delta->left) {
        return false;
    }
    if (count > 0 && !delta->begun) {
        *numbers++ = (int64_t)delta->last;
        delta->begun = true;
        delta->left--;
        count--;
    }
    while (count > 0) {
        size_t run;

        if (delta->mini_left == 0 && !next_mini(delta)) {
            return false;
        }
        run = delta->mini_left < count ? (size_t)delta->mini_left : count;
        take_run(delta, numbers, run);
        delta->mini_left -= run;
        delta->left -= run;
        numbers += run;
        count -= run;
    }
    return true;
}

const uint8_t *
delta_end(const struct delta *delta)
{
    return delta->at;
}
