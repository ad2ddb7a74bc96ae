/* The verdict on channels: real histories pass, and each kind of impossible one, drawn with many others, is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "torture/common/random.h"
#include "torture/work/post.h"

#define HISTORIES 200u
#define STEPS     120u

static size_t
findings_of(const struct post *post)
{
    FILE *nowhere = fopen("/dev/null", "w");
    size_t findings;

    assert_non_null(nowhere);
    findings = post_verdict(post, nowhere);
    (void)fclose(nowhere);
    return findings;
}

/* ---- channels as they are ---- */

struct world {
    struct post *post;
    uint64_t seed;
    uint32_t lives[POST_READERS];
    /* Of the queue, and of each reader of the broadcast: what waits, in order. */
    struct {
        uint32_t writer, number;
        bool again;
    } waits[1 + POST_READERS][STEPS * 2];
    unsigned from[1 + POST_READERS], to[1 + POST_READERS];
};

static uint32_t
roll(struct world *world, uint32_t sides)
{
    return (uint32_t)(random_next(&world->seed) % sides);
}

static void
wait_in(struct world *world, unsigned line, uint32_t writer, uint32_t number)
{
    const unsigned at = world->to[line]++;

    world->waits[line][at].writer = writer;
    world->waits[line][at].number = number;
    world->waits[line][at].again = false;
}

static void
put(struct world *world)
{
    const enum post_channel channel = roll(world, POST_CHANNELS);
    const uint32_t writer = roll(world, POST_WRITERS), dice = roll(world, 16);
    const uint32_t number = post_begin(world->post, channel, writer);

    if (dice == 0) {
        post_end(world->post, channel, writer, number, POST_REFUSED);
        return;
    }
    if (dice > 2) {
        post_end(world->post, channel, writer, number, POST_DONE);
    }
    if (dice == 1) {
        return; /* its writer died before */
    }
    for (unsigned reader = 0; reader < POST_READERS; reader++) {
        if (channel == POST_CAST) {
            wait_in(world, 1 + reader, writer, number);
        }
    }
    if (channel == POST_QUEUE) {
        wait_in(world, 0, writer, number);
    }
}

/* The next of a line, by a reader, who may die with it: noted or not, done or not. by_run: what is left at the end. */
static void
get(struct world *world, unsigned reader, bool queue, bool by_run)
{
    const unsigned line = queue ? 0 : 1 + reader;
    const enum post_channel channel = queue ? POST_QUEUE : POST_CAST;
    const uint32_t dice = by_run ? 15 : roll(world, 16);
    const unsigned at = world->from[line];
    struct letter *letter;

    if (at == world->to[line]) {
        return;
    }
    if (dice == 0) { /* it died, and noted nothing */
        world->waits[line][at].again = true;
        world->lives[reader] += POST_READERS;
        return;
    }
    letter = post_note(world->post, channel, by_run ? POST_READERS : reader,
                       (struct letter){.writer = world->waits[line][at].writer,
                                       .number = world->waits[line][at].number,
                                       .source = world->waits[line][at].writer,
                                       .life = by_run ? reader : world->lives[reader],
                                       .again = world->waits[line][at].again});
    assert_non_null(letter);
    if (dice == 1) { /* it died, and was not done */
        world->waits[line][at].again = true;
        world->lives[reader] += POST_READERS;
        return;
    }
    world->from[line]++;
    if (dice == 2) { /* it was done, and died before it noted that */
        world->lives[reader] += POST_READERS;
        return;
    }
    post_done(world->post, letter);
}

static void
live(struct world *world, struct post *post, uint64_t seed)
{
    *world = (struct world){.post = post, .seed = seed, .lives = {0, 1}};
    post_clear(post);
    for (unsigned i = 0; i < STEPS; i++) {
        put(world);
        get(world, roll(world, POST_READERS), roll(world, 2) == 0, false);
    }
}

static void
take_rest(struct world *world)
{
    for (unsigned line = 0; line < 1 + POST_READERS; line++) {
        while (world->from[line] < world->to[line]) {
            get(world, line == 0 ? 0 : line - 1, line == 0, true);
        }
    }
}

/* ---- what cannot be ---- */

static struct letter *
hand_out(struct world *world, enum post_channel channel, unsigned reader, uint32_t number, bool again)
{
    struct letter *letter =
        post_note(world->post, channel, reader,
                  (struct letter){.writer = 0, .number = number, .life = world->lives[reader], .again = again});

    assert_non_null(letter);
    return letter;
}

static uint32_t
put_now(struct world *world, enum post_channel channel, enum post_outcome outcome)
{
    const uint32_t number = post_begin(world->post, channel, 0);

    post_end(world->post, channel, 0, number, outcome);
    return number;
}

#define IMPOSSIBLE 7u

static void
insert_impossible(struct world *world, unsigned kind)
{
    const enum post_channel channel = roll(world, POST_CHANNELS);
    const uint32_t number = put_now(world, channel, kind == 1 ? POST_REFUSED : POST_DONE);

    switch (kind) {
    case 0: /* nobody has it */
        return;
    case 1: /* it was refused */
        (void)hand_out(world, channel, 0, number, false);
        break;
    case 2: /* nobody put that one */
        post_done(world->post, hand_out(world, channel, 0, number, false));
        (void)hand_out(world, channel, 0, number + 1000, false);
        break;
    case 3: /* had twice */
        (void)hand_out(world, channel, 0, number, false);
        world->lives[0] += POST_READERS;
        (void)hand_out(world, channel, 0, number, false);
        break;
    case 4: /* again, though a reader was done with it */
        post_done(world->post, hand_out(world, channel, 0, number, false));
        (void)hand_out(world, channel, 0, number, true);
        break;
    case 5: { /* the later one first */
        const uint32_t later = put_now(world, channel, POST_DONE);

        post_done(world->post, hand_out(world, channel, 0, later, false));
        post_done(world->post, hand_out(world, channel, 0, number, false));
        break;
    }
    default: /* a reader of the broadcast lacks it, which another one has; of the queue all do */
        if (channel == POST_CAST) {
            post_done(world->post, hand_out(world, channel, 1, number, false));
        }
        return;
    }
    if (channel == POST_CAST) { /* the other reader has it in any case */
        const uint32_t first = number;

        for (uint32_t i = first; i < atomic_load(&world->post->hands[channel][0].count) && kind != 1; i++) {
            post_done(world->post, hand_out(world, channel, 1, i, false));
        }
    }
}

static void
what_is_true_is_accepted(void **state)
{
    struct post *post = calloc(1, sizeof *post);
    struct world *world = calloc(1, sizeof *world);

    (void)state;
    assert_non_null(post);
    assert_non_null(world);
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        live(world, post, seed);
        take_rest(world);
        assert_int_equal(findings_of(post), 0);
    }
    free(world);
    free(post);
}

static void
what_is_impossible_is_rejected(void **state)
{
    struct post *post = calloc(1, sizeof *post);
    struct world *world = calloc(1, sizeof *world);

    (void)state;
    assert_non_null(post);
    assert_non_null(world);
    for (unsigned kind = 0; kind < IMPOSSIBLE; kind++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            live(world, post, seed * 1000 + kind);
            take_rest(world);
            insert_impossible(world, kind);
            if (findings_of(post) == 0) {
                fail_msg("kind %u, seed %d is taken for true", kind, (int)seed);
            }
        }
    }
    free(world);
    free(post);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_true_is_accepted),
                                       cmocka_unit_test(what_is_impossible_is_rejected)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
