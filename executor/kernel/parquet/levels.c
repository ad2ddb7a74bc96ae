/* Definition levels as bitmaps. One bit a level is the bitmap itself. */
#include "kernel/parquet/levels.h"

#define BLOCK 256

void
levels_open(struct levels *levels, const uint8_t *bytes, size_t size, uint32_t full)
{
    levels->full = full;
    hybrid_open(&levels->hybrid, bytes, size, bits_for(full));
}

/* Bits of a packed run: they are counted when nobody wants them. */
static int64_t
take_bits(struct hybrid *hybrid, int64_t rows, uint8_t *validity, int64_t at)
{
    uint8_t nowhere[BLOCK / 8 + 1] = {0};
    int64_t ones = 0;

    if (validity != NULL) {
        ones = run_bits(validity, at, hybrid->run, hybrid->bit, rows);
    }
    for (int64_t i = 0; validity == NULL && i < rows; i += BLOCK) {
        memset(nowhere, 0, sizeof nowhere);
        ones += run_bits(nowhere, 0, hybrid->run, hybrid->bit + (uint64_t)i, rows - i < BLOCK ? rows - i : BLOCK);
    }
    hybrid->bit += (uint64_t)rows;
    hybrid->left -= (uint64_t)rows;
    return ones;
}

static int64_t
take_numbers(struct levels *levels, int64_t rows, uint8_t *validity, int64_t at)
{
    int64_t ones = 0;

    for (int64_t i = 0; i < rows;) {
        uint32_t numbers[BLOCK];
        int64_t block = rows - i < BLOCK ? rows - i : BLOCK;

        hybrid_unpack(&levels->hybrid, numbers, (size_t)block);
        for (int64_t k = 0; k < block; k++, i++) {
            bool there = numbers[k] == levels->full;

            ones += there;
            if (there && validity != NULL) {
                validity[(at + i) >> 3] = (uint8_t)(validity[(at + i) >> 3] | 1u << ((at + i) & 7));
            }
        }
    }
    return ones;
}

int64_t
levels_take(struct levels *levels, int64_t rows, uint8_t *validity, int64_t at)
{
    struct hybrid *hybrid = &levels->hybrid;
    int64_t ones = 0;

    if (levels->full == 0) {
        return rows;
    }
    while (rows > 0) {
        int64_t run;

        if (!hybrid_run(hybrid)) {
            return -1;
        }
        run = hybrid->left < (uint64_t)rows ? (int64_t)hybrid->left : rows;
        if (hybrid->packed) {
            ones += hybrid->bits == 1 ? take_bits(hybrid, run, validity, at) : take_numbers(levels, run, validity, at);
        } else {
            hybrid->left -= (uint64_t)run;
            if (hybrid->value == levels->full) {
                ones += run;
                if (validity != NULL) {
                    run_ones(validity, at, run);
                }
            }
        }
        at += run;
        rows -= run;
    }
    return ones;
}
