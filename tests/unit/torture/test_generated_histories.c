/*
 * Histories as a register really makes them are accepted, and the same with a piece that no register can do, whatever
 * else is under way, are rejected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "torture/objects/check.h"

#define CLIENTS   6u
#define HISTORIES 500u
#define STEPS     40u /* operations of one half */
#define CUT_SHORT 4u  /* what is checked doubles with each */

struct world {
    struct history *histories[CLIENTS];
    uint64_t seed;
    int64_t now;
    uint64_t object; /* its value; 0: it is not there */
    uint64_t values; /* given so far */
    bool unknown_deletes;
    unsigned cut_short;
    struct {
        struct op *op;
        bool struck; /* it has taken effect */
    } open[CLIENTS];
};

static uint64_t
roll(struct world *world, uint64_t sides)
{
    world->seed = world->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (world->seed >> 33) % sides;
}

/* ---- a register ---- */

static struct op *
begin(struct world *world, unsigned client, enum op_kind kind)
{
    struct op *op = history_begin(world->histories[client], kind, OP_PLAIN, 0);

    assert_non_null(op);
    op->began_ns = ++world->now;
    op->value = kind == OP_PUT ? ++world->values : 0;
    return op;
}

static void
end(struct world *world, struct op *op, enum op_outcome outcome)
{
    op->outcome = (uint8_t)outcome;
    atomic_store(&op->ended_ns, ++world->now);
}

/* It takes effect now. */
static enum op_outcome
effect(struct world *world, struct op *op)
{
    bool there = world->object != 0;

    switch (op->kind) {
    case OP_PUT:
        world->object = there ? world->object : op->value;
        return there ? OP_NO : OP_YES;
    case OP_DELETE:
        world->object = 0;
        return there ? OP_YES : OP_NO;
    default:
        op->value = world->object;
        return there ? OP_YES : OP_NO;
    }
}

/* Its client dies, before or after the effect; its next operation is another client's. */
static bool
is_cut_short(struct world *world, const struct op *op)
{
    return roll(world, 12) == 0 && op->kind != OP_GET && (op->kind == OP_PUT || world->unknown_deletes) &&
           world->cut_short++ < CUT_SHORT;
}

static void
step(struct world *world, unsigned client)
{
    struct op *op = world->open[client].op;

    if (op == NULL) {
        op = begin(world, client, (enum op_kind)(OP_PUT + roll(world, 3)));
        world->open[client].op = op;
        world->open[client].struck = false;
    } else if (!world->open[client].struck) {
        op->outcome = (uint8_t)effect(world, op);
        world->open[client].struck = true;
    } else {
        end(world, op, op->outcome);
        world->open[client].op = NULL;
    }
    if (world->open[client].op != NULL && is_cut_short(world, op)) {
        op->outcome = OP_UNKNOWN;
        world->open[client].op = NULL;
    }
}

static void
run_half(struct world *world)
{
    for (unsigned i = 0; i < STEPS * 3; i++) {
        step(world, (unsigned)roll(world, CLIENTS));
    }
    for (unsigned client = 0; client < CLIENTS; client++) {
        while (world->open[client].op != NULL) {
            step(world, client);
        }
    }
}

/* ---- what cannot be ---- */

static struct op *
done(struct world *world, enum op_kind kind, enum op_outcome outcome, uint64_t value)
{
    struct op *op = begin(world, 0, kind);

    op->value = kind == OP_PUT && value == 0 ? op->value : value;
    end(world, op, outcome);
    return op;
}

/* Now the object is there, and unless a delete was cut short, it stays. */
static void
put_or_find(struct world *world)
{
    struct op *op = begin(world, 0, OP_PUT);

    end(world, op, effect(world, op));
}

/* Nothing is under way but what was cut short. Values are put once. */
static void
insert_impossible(struct world *world, unsigned kind)
{
    struct op *first;
    struct op *op;

    switch (kind) {
    case 0: /* nobody ever put that */
        (void)done(world, OP_GET, OP_YES, 1000000);
        return;
    case 1: /* it is put later */
        op = done(world, OP_GET, OP_YES, ++world->values);
        (void)done(world, OP_PUT, OP_EITHER, op->value);
        return;
    case 2: /* it was deleted */
        op = done(world, OP_PUT, OP_YES, 0);
        (void)done(world, OP_DELETE, OP_YES, 0);
        (void)done(world, OP_GET, OP_YES, op->value);
        return;
    case 3: /* another one was there meanwhile */
        first = done(world, OP_PUT, OP_YES, 0);
        (void)done(world, OP_DELETE, OP_YES, 0);
        op = done(world, OP_PUT, OP_YES, 0);
        (void)done(world, OP_GET, OP_YES, op->value);
        (void)done(world, OP_GET, OP_YES, first->value);
        return;
    case 4: /* two puts of what is there; deletes are all known */
        put_or_find(world);
        (void)done(world, OP_PUT, OP_YES, 0);
        return;
    case 5: /* lost */
        put_or_find(world);
        (void)done(world, OP_GET, OP_NO, 0);
        return;
    default: /* deleted, and not there */
        put_or_find(world);
        (void)done(world, OP_DELETE, OP_NO, 0);
        return;
    }
}

#define IMPOSSIBLE 7u

static size_t
wrong_objects(uint64_t seed, unsigned impossible)
{
    struct world world = {.seed = seed, .unknown_deletes = impossible < 4 || impossible == IMPOSSIBLE};
    FILE *nowhere = fopen("/dev/null", "w");
    size_t wrong;

    assert_non_null(nowhere);
    for (unsigned i = 0; i < CLIENTS; i++) {
        world.histories[i] = history_create("/tmp", 256);
        assert_non_null(world.histories[i]);
    }
    run_half(&world);
    if (impossible < IMPOSSIBLE) {
        insert_impossible(&world, impossible);
    }
    run_half(&world);
    wrong = check_histories(world.histories, CLIENTS, 1, nowhere);
    for (unsigned i = 0; i < CLIENTS; i++) {
        history_destroy(world.histories[i]);
    }
    (void)fclose(nowhere);
    return wrong;
}

static void
real_histories_are_accepted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        assert_int_equal(wrong_objects(seed, IMPOSSIBLE), 0);
    }
}

static void
impossible_histories_are_rejected(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20 * IMPOSSIBLE; seed++) {
        assert_int_equal(wrong_objects(seed, (unsigned)(seed % IMPOSSIBLE)), 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_histories_are_accepted),
        cmocka_unit_test(impossible_histories_are_rejected),
    };

    return cmocka_run_group_tests_name("generated histories", tests, NULL, NULL);
}
