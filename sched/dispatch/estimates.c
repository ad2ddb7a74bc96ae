/* Exponential means by kind, in a hash table with open addressing. */

#include "sched/dispatch/estimates.h"

#include <stdlib.h>

#define KINDS_MAX  65536u
#define UNIT       1024u
#define RATIO_MAX  ((uint64_t)UNIT << 20) /* a million times more than expected, and then it is capped */
#define BYTES_MAX  ((uint64_t)1 << 50)
#define SAMPLES_OF 8

struct estimates {
    struct estimate *slots; /* open addressing; samples == 0: free */
    uint32_t size, count;   /* size: a power of two */
};

struct estimates *
estimates_create(void)
{
    return calloc(1, sizeof(struct estimates));
}

void
estimates_destroy(struct estimates *estimates)
{
    if (estimates != NULL) {
        free(estimates->slots);
        free(estimates);
    }
}

static struct estimate *
slot_of(const struct estimates *estimates, uint32_t kind)
{
    uint32_t at = (uint32_t)(kind * 0x9e3779b97f4a7c15ull >> 32) & (estimates->size - 1);

    while (estimates->slots[at].samples > 0 && estimates->slots[at].kind != kind) {
        at = (at + 1) & (estimates->size - 1);
    }
    return &estimates->slots[at];
}

const struct estimate *
estimates_find(const struct estimates *estimates, uint32_t kind)
{
    const struct estimate *slot = estimates->size == 0 ? NULL : slot_of(estimates, kind);

    return slot == NULL || slot->samples == 0 ? NULL : slot;
}

static bool
estimates_grow(struct estimates *estimates)
{
    struct estimates grown = {.size = estimates->size == 0 ? 64 : estimates->size * 2, .count = estimates->count};

    if (estimates->count * 2 < estimates->size) {
        return true;
    }
    if (estimates->count >= KINDS_MAX) {
        return false;
    }
    grown.slots = calloc(grown.size, sizeof *grown.slots);
    if (grown.slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < estimates->size; i++) {
        if (estimates->slots[i].samples > 0) {
            *slot_of(&grown, estimates->slots[i].kind) = estimates->slots[i];
        }
    }
    free(estimates->slots);
    *estimates = grown;
    return true;
}

static uint64_t
at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

/* of / per, in units; per > 0 */
static uint64_t
ratio(uint64_t of, uint64_t per)
{
    return at_most(at_most(of, BYTES_MAX) * UNIT / per, RATIO_MAX);
}

/* One that was kept from running for a while is not to change what all others are thought to take. */
static uint64_t
mean(uint64_t old, uint64_t sample, uint32_t samples)
{
    uint64_t weight = samples < SAMPLES_OF ? samples : SAMPLES_OF;

    sample = samples >= SAMPLES_OF ? at_most(sample, old * 4 + UNIT) : sample;

    return (old * (weight - 1) + sample) / weight;
}

static uint64_t
size_of(uint64_t planned_bytes, uint64_t in_bytes)
{
    return at_most(planned_bytes, BYTES_MAX) + at_most(in_bytes, BYTES_MAX);
}

void
estimates_learn(struct estimates *estimates, uint32_t kind, const struct estimate_sample *sample)
{
    struct estimate *slot;

    if (estimates_find(estimates, kind) == NULL && !estimates_grow(estimates)) {
        return;
    }
    slot = slot_of(estimates, kind);
    estimates->count += slot->samples == 0;
    slot->kind = kind;
    slot->samples += slot->samples < UINT32_MAX;
    slot->mean_ns = mean(slot->mean_ns, at_most(sample->nanoseconds, UINT64_MAX / 16), slot->samples);
    slot->size_bytes = mean(slot->size_bytes, size_of(sample->planned_bytes, sample->in_bytes), slot->samples);
    slot->out_bytes = mean(slot->out_bytes, at_most(sample->out_bytes, BYTES_MAX), slot->samples);
    if (sample->in_bytes > 0) {
        slot->out_per_in = mean(slot->out_per_in, ratio(sample->out_bytes, sample->in_bytes),
                                slot->out_per_in == 0 ? 1 : slot->samples);
    }
    if (sample->planned_bytes > 0) {
        slot->out_per_plan = mean(slot->out_per_plan, ratio(sample->out_bytes, sample->planned_bytes),
                                  slot->out_per_plan == 0 ? 1 : slot->samples);
    }
    slot->peak_bytes = sample->peak_bytes > slot->peak_bytes ? sample->peak_bytes : slot->peak_bytes;
}

/* A mean is too small for half of them. */
static uint64_t
with_margin(uint64_t bytes, uint64_t per_unit)
{
    uint64_t base = at_most(bytes, BYTES_MAX / RATIO_MAX * UNIT);

    return base * per_unit / UNIT + base * per_unit / UNIT / 4;
}

uint64_t
estimate_out_bytes(const struct estimate *estimate, uint64_t planned_bytes, uint64_t in_bytes)
{
    uint64_t learned;

    if (estimate == NULL) {
        return planned_bytes > 0 ? planned_bytes : in_bytes;
    }
    if (planned_bytes > 0) {
        learned = estimate->out_per_plan == 0 ? planned_bytes : with_margin(planned_bytes, estimate->out_per_plan);
        /* One that gives little now may give all of it next time. */
        return learned > planned_bytes / 8 ? learned : planned_bytes / 8;
    }
    if (in_bytes > 0 && estimate->out_per_in > 0) {
        return with_margin(in_bytes, estimate->out_per_in);
    }
    return estimate->out_bytes + estimate->out_bytes / 4;
}

uint64_t
estimate_ns(const struct estimate *estimate, uint64_t planned_bytes, uint64_t in_bytes)
{
    uint64_t size = size_of(planned_bytes, in_bytes);
    double longer;

    if (estimate->size_bytes == 0 || size <= estimate->size_bytes) {
        return estimate->mean_ns;
    }
    longer = (double)estimate->mean_ns * ((double)size / (double)estimate->size_bytes);
    return longer < 1e18 ? (uint64_t)longer : (uint64_t)1e18;
}
