/*
 * A hostile peer: bytes of the page and of the ring are changed at random under every call. A call gives anything, or an
 * error; it does not crash and does not hang, and a channel that is made after that is as any.
 */
#include <stdlib.h>
#include <string.h>

#include "channel/channel.h"
#include "integration/store/fixture.h"

#define ROUNDS 1500 /* or GRANARY_RANDOM_OPERATIONS; GRANARY_RANDOM_SEED says which */

static uint64_t seed;

static uint64_t
draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static void
garble(void *bytes, uint64_t size)
{
    unsigned char *at = bytes;

    for (uint64_t i = 0; i < 1 + draw(4); i++) {
        /* Single bits and small numbers meet more checks than noise. */
        at[draw(size)] = (unsigned char)(draw(2) == 0 ? draw(256) : draw(4));
    }
}

/* What of a channel another process may change, as this one has it mapped. The id stays: it says whose page it is. */
static void
garble_some(granary_channel *in)
{
    struct gr_channel *shared = in->shared;

    switch (draw(6)) {
    case 0:
        garble(&shared->bell, sizeof shared->bell + 4 * sizeof(uint32_t));
        break;
    case 1:
        garble(&shared->lane[0], sizeof shared->lane[0]);
        break;
    case 2:
        garble(&shared->group[0], sizeof shared->group[0]);
        break;
    case 3:
        garble(&shared->member[draw(2)], sizeof shared->member[0]);
        break;
    case 4:
        garble(shared->group, sizeof shared->group);
        break;
    default:
        if (in->writer.has_lane) {
            garble(in->writer.kept.data, draw(2) == 0 ? sizeof(struct gr_channel_ring) : 512);
        }
        break;
    }
}

static void
lies_are_survived(void **state)
{
    const char *rounds_asked = getenv("GRANARY_RANDOM_OPERATIONS"), *seed_asked = getenv("GRANARY_RANDOM_SEED");
    const int rounds = rounds_asked == NULL ? ROUNDS : atoi(rounds_asked);
    granary_client *client = fixture_connect(state);
    uint64_t met = 0;

    for (int round = 0; round < rounds; round++) {
        const granary_channel_options options = {.flags = draw(2) == 0 ? GRANARY_CHANNEL_BROADCAST : 0,
                                                 .ring_bytes = 4096};
        granary_channel *in = NULL, *out[2] = {NULL, NULL}, *eye = NULL;
        granary_channel_info info;

        seed = (seed_asked == NULL ? 1 : strtoull(seed_asked, NULL, 10)) + (uint64_t)round;
        assert_ok(granary_channel_create(client, "lies", &options, &in));
        assert_ok(granary_channel_open(client, "lies", &eye));
        assert_ok(granary_channel_observe(eye, GRANARY_CHANNEL_OLDEST));
        for (int i = 0; i < 2; i++) {
            assert_ok(granary_channel_open(client, "lies", &out[i]));
            assert_ok(granary_channel_join(out[i], NULL, GRANARY_CHANNEL_OLDEST));
        }
        for (int i = 0; i < 30; i++) {
            granary_message message;
            unsigned char bytes[1500];
            granary_err err = GRANARY_OK;

            if (draw(3) == 0) {
                garble_some(in);
            }
            switch (draw(8)) {
            case 0:
            case 1:
            case 2:
                memset(bytes, 7, sizeof bytes);
                err = granary_channel_put(in, bytes, draw(10) == 0 ? sizeof bytes : draw(100), 0);
                break;
            case 3:
            case 4:
            case 5:
                err = granary_channel_get(draw(3) == 0 ? eye : out[draw(2)], 0, &message);
                if (err == GRANARY_OK && message.data != NULL && message.size > 0) {
                    /* It can be read to its end. */
                    met += ((const volatile unsigned char *)message.data)[message.size - 1] == 7;
                }
                break;
            case 6:
                err = granary_channel_describe(in, &info);
                break;
            default:
                granary_channel_close(out[0]);
                out[0] = NULL;
                assert_ok(granary_channel_open(client, "lies", &out[0]));
                break;
            }
            (void)err;
        }
        for (int i = 0; i < 2; i++) {
            granary_channel_close(out[i]);
        }
        granary_channel_close(eye);
        granary_channel_close(in);
        assert_ok(granary_channel_delete(client, "lies"));
    }
    assert_true(met > (uint64_t)rounds); /* it was not all nonsense */
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lies_are_survived, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
