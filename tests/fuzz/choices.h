/* An input as a run of choices: a byte or two for each, zeros when there are no more. */
#ifndef FUZZ_CHOICES_H
#define FUZZ_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct choices {
    const uint8_t *bytes;
    size_t left;
};

static inline uint8_t
choose_byte(struct choices *choices)
{
    uint8_t byte = 0;

    if (choices->left > 0) {
        byte = *choices->bytes++;
        choices->left--;
    }
    return byte;
}

/* Below `bound`, which is at most 65536. */
static inline uint32_t
choose(struct choices *choices, uint32_t bound)
{
    uint32_t value = choose_byte(choices);

    if (bound > 256) {
        value |= (uint32_t)choose_byte(choices) << 8;
    }
    return value % bound;
}

#define CHOOSE_FROM(choices, list) ((list)[choose(choices, sizeof(list) / sizeof((list)[0]))])

#endif
