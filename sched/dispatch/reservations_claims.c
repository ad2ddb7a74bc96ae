/* Claims: who was refused what it needs, and must not be passed over for ever. */
#include "sched/dispatch/reservations.h"
#include "sched/dispatch/reservations_private.h"
#include "sched/dispatch/resources.h"

bool
claim_competes(const struct reservations *reservations, uint32_t need, const struct claim *claim)
{
    const struct resources *resources = reservations->resources;

    return resources != NULL && claim->ask.number != 0 &&
           (resources_compete(resources, need, claim->ask.need) ||
            (resources_slots(resources, claim->ask.need) > 1 && resources_fit(resources, claim->ask.need)));
}

/*
 * Two that each have a claim do not wait for one another. And when nothing is granted, whoever asks may go on: what a
 * claimant waits for then is not what others have.
 */
static bool
stands_against(const struct reservations *reservations, const struct claim *claim, const struct reservation_ask *ask)
{
    return claim->passed >= CLAIM_PATIENCE && claim->ask.number != 0 && reservations->granted > 0 &&
           ask->number != reservations->memory_claim.ask.number && ask->number != reservations->need_claim.ask.number &&
           ask->rank <= claim->ask.rank;
}

bool
reservations_allow(const struct reservations *reservations, const struct reservation_ask *ask)
{
    if (ask->bytes > 0 && stands_against(reservations, &reservations->memory_claim, ask)) {
        return false;
    }
    if (stands_against(reservations, &reservations->need_claim, ask) &&
        claim_competes(reservations, ask->need, &reservations->need_claim)) {
        return false;
    }
    return ask->need == NEED_NONE || resources_fit(reservations->resources, ask->need);
}

bool
reservations_allow_more(const struct reservations *reservations, const struct reservation_ask *ask)
{
    return !(ask->bytes > 0 && stands_against(reservations, &reservations->memory_claim, ask));
}

void
reservations_refused(struct reservations *reservations, const struct reservation_ask *ask, bool memory)
{
    struct claim *claim = memory ? &reservations->memory_claim : &reservations->need_claim;

    if (claim->ask.number == 0 || claim->ask.rank < ask->rank) {
        *claim = (struct claim){.ask = *ask};
    }
}

uint64_t
reservations_claimant(const struct reservations *reservations, bool memory)
{
    return memory ? reservations->memory_claim.ask.number : reservations->need_claim.ask.number;
}

void
reservations_claim_drop(struct reservations *reservations, bool memory)
{
    *(memory ? &reservations->memory_claim : &reservations->need_claim) = (struct claim){.passed = 0};
}

void
claim_pass(struct claim *claim, const uint64_t *numbers, uint32_t count, int32_t rank, bool competing)
{
    if (claim->ask.number == 0) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == claim->ask.number) {
            *claim = (struct claim){.passed = 0};
            return;
        }
    }
    claim->passed += competing && rank <= claim->ask.rank && claim->passed < CLAIM_PATIENCE;
}
