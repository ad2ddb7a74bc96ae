/* Reads are sorted by their ends: then what reads before had seen is the largest of a beginning of the list. */
#include "torture/work/registers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAID 20u

void
registers_clear(struct registers *registers)
{
    const uint32_t looks = atomic_load(&registers->looks);

    memset(registers->list, 0, (looks < REGISTERS_READS ? looks : REGISTERS_READS) * sizeof *registers->list);
    memset(registers->versions, 0, sizeof registers->versions);
    atomic_store(&registers->looks, 0);
    atomic_store(&registers->count, 0);
}

uint32_t
registers_add(struct registers *registers)
{
    uint32_t which = atomic_load(&registers->count);

    if (which < REGISTERS_MOST) {
        atomic_store(&registers->count, which + 1);
    }
    return which;
}

uint64_t
registers_change(struct registers *registers, uint32_t which)
{
    return atomic_fetch_add(&registers->versions[which].begun, 1) + 1;
}

void
registers_changed(struct registers *registers, uint32_t which, uint64_t version)
{
    atomic_store(&registers->versions[which].done, version);
}

struct look
registers_look(struct registers *registers, uint32_t which)
{
    return (struct look){.which = which,
                         .began = atomic_fetch_add(&registers->clock, 1) + 1,
                         .least = atomic_load(&registers->versions[which].done)};
}

void
registers_seen(struct registers *registers, struct look look, uint64_t version, bool torn)
{
    struct look *place;
    uint32_t number;

    look.most = atomic_load(&registers->versions[look.which].begun);
    look.ended = atomic_fetch_add(&registers->clock, 1) + 1;
    look.seen = version;
    look.torn = torn;
    number = atomic_fetch_add(&registers->looks, 1);
    if (number < REGISTERS_READS) {
        place = &registers->list[number];
        memcpy(place, &look, sizeof look);
        atomic_store(&place->noted, true);
    }
}

/* ---- the verdict ---- */

static int
by_end(const void *a, const void *b)
{
    const struct look *const *left = a, *const *right = b;

    return ((*left)->ended > (*right)->ended) - ((*left)->ended < (*right)->ended);
}

static void
find(FILE *out, size_t *findings, const struct look *look, const char *what)
{
    if ((*findings)++ < SAID) {
        (void)fprintf(out,
                      "torture: register %" PRIu32 ": a read from %" PRIu64 " to %" PRIu64 " gave version %" PRIu64
                      ", %s (complete %" PRIu64 ", begun %" PRIu64 "%s)\n",
                      look->which, look->began, look->ended, look->seen, what, look->least, look->most,
                      look->recalled ? ", recalled" : "");
    }
}

/* The newest version that a read of the same register had given before this one began. */
static uint64_t
given_before(const struct look *const *looks, size_t count, const struct look *look)
{
    uint64_t newest = 0;

    for (size_t i = 0; i < count && looks[i]->ended < look->began; i++) {
        if (looks[i]->which == look->which && looks[i]->seen > newest) {
            newest = looks[i]->seen;
        }
    }
    return newest;
}

size_t
registers_verdict(const struct registers *registers, FILE *out)
{
    const uint32_t noted = atomic_load(&registers->looks);
    const size_t most = noted < REGISTERS_READS ? noted : REGISTERS_READS;
    const struct look **looks = calloc(most + 1, sizeof *looks);
    size_t count = 0, findings = 0;

    if (looks == NULL) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < most; i++) {
        if (atomic_load(&registers->list[i].noted)) {
            looks[count++] = &registers->list[i];
        }
    }
    qsort(looks, count, sizeof *looks, by_end);
    for (size_t i = 0; i < count; i++) {
        if (looks[i]->torn) {
            find(out, &findings, looks[i], "and another one");
        } else if (looks[i]->seen < looks[i]->least) {
            find(out, &findings, looks[i], "which is stale");
        } else if (looks[i]->seen < given_before(looks, count, looks[i])) {
            find(out, &findings, looks[i], "and a read before it a newer one");
        } else if (looks[i]->seen > looks[i]->most) {
            find(out, &findings, looks[i], "which nobody had begun");
        }
    }
    free(looks);
    return findings;
}
