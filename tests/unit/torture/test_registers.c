/* The verdict on recalled results and files: what a register gives is accepted, and each kind of what none gives is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "torture/common/random.h"
#include "torture/work/registers.h"

#define HISTORIES 200u
#define STEPS     150u
#define READERS   4u
#define USED      3u

struct world {
    struct registers *registers;
    uint64_t seed;
    uint64_t content[USED]; /* what is there */
    uint64_t making[USED];  /* a version under way; 0: none */
    struct {
        bool open, has;
        struct look look;
        uint64_t seen;
    } readers[READERS];
};

static uint32_t
roll(struct world *world, uint32_t sides)
{
    return (uint32_t)(random_next(&world->seed) % sides);
}

static void
change(struct world *world, uint32_t which)
{
    if (world->making[which] == 0) {
        world->making[which] = registers_change(world->registers, which);
    } else if (world->content[which] < world->making[which] && roll(world, 8) != 0) {
        world->content[which] = world->making[which];
    } else { /* it is complete; or its writer died, before or after it took effect */
        if (world->content[which] == world->making[which] && roll(world, 8) != 0) {
            registers_changed(world->registers, which, world->making[which]);
        }
        world->making[which] = 0;
    }
}

static void
read_on(struct world *world, unsigned reader)
{
    if (!world->readers[reader].open) {
        world->readers[reader].look = registers_look(world->registers, roll(world, USED));
        world->readers[reader].open = true;
        world->readers[reader].has = false;
    } else if (!world->readers[reader].has) {
        world->readers[reader].seen = world->content[world->readers[reader].look.which];
        world->readers[reader].has = true;
    } else {
        registers_seen(world->registers, world->readers[reader].look, world->readers[reader].seen, false);
        world->readers[reader].open = false;
    }
}

static void
live(struct world *world, struct registers *registers, uint64_t seed)
{
    *world = (struct world){.registers = registers, .seed = seed};
    registers_clear(registers);
    for (unsigned i = 0; i < USED; i++) {
        (void)registers_add(registers);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        if (roll(world, 3) == 0) {
            change(world, roll(world, USED));
        } else {
            read_on(world, roll(world, READERS));
        }
    }
}

static size_t
findings_of(const struct registers *registers)
{
    FILE *nowhere = fopen("/dev/null", "w");
    size_t findings;

    assert_non_null(nowhere);
    findings = registers_verdict(registers, nowhere);
    (void)fclose(nowhere);
    return findings;
}

/* ---- what cannot be ---- */

#define IMPOSSIBLE 4u

static void
insert_impossible(struct world *world, unsigned kind)
{
    const uint32_t which = roll(world, USED);
    const uint64_t version = registers_change(world->registers, which);
    struct look look;

    switch (kind) {
    case 0: /* stale */
        registers_changed(world->registers, which, version);
        look = registers_look(world->registers, which);
        registers_seen(world->registers, look, version - 1, false);
        break;
    case 1: /* another read had it already, though nobody knows that it is complete */
        registers_seen(world->registers, registers_look(world->registers, which), version, false);
        registers_seen(world->registers, registers_look(world->registers, which), version - 1, false);
        break;
    case 2: /* of the future */
        registers_seen(world->registers, registers_look(world->registers, which), version + 1, false);
        (void)registers_change(world->registers, which);
        break;
    default: /* of two versions */
        registers_seen(world->registers, registers_look(world->registers, which), version, true);
        break;
    }
}

static void
what_is_true_is_accepted(void **state)
{
    struct registers *registers = calloc(1, sizeof *registers);
    struct world world;

    (void)state;
    assert_non_null(registers);
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        live(&world, registers, seed);
        assert_int_equal(findings_of(registers), 0);
    }
    free(registers);
}

static void
what_is_impossible_is_rejected(void **state)
{
    struct registers *registers = calloc(1, sizeof *registers);
    struct world world;

    (void)state;
    assert_non_null(registers);
    for (unsigned kind = 0; kind < IMPOSSIBLE; kind++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            live(&world, registers, seed * 1000 + kind);
            insert_impossible(&world, kind);
            if (findings_of(registers) == 0) {
                fail_msg("kind %u, seed %d is taken for true", kind, (int)seed);
            }
        }
    }
    free(registers);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_true_is_accepted),
                                       cmocka_unit_test(what_is_impossible_is_rejected)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
