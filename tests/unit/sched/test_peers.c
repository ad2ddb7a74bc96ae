/* What is said of a peer's bytes, however they are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sched/links/peers.h"

#define GREETING 64

/* A greeting, and frames of those flags, which have bodies of 0, 1, 2 ... times 100 bytes. */
static size_t
write_stream(uint8_t *bytes, const uint8_t *flags, size_t count)
{
    size_t size = GREETING;

    memset(bytes, 0xff, GREETING);
    for (size_t i = 0; i < count; i++) {
        bytes[size++] = flags[i];
        if ((flags[i] & 2) != 0) {
            memset(bytes + size, 0, 7);
            size += 7;
        }
        bytes[size++] = (uint8_t)(i * 100);
        memset(bytes + size, 1, i * 100); /* as if they were flags */
        size += i * 100;
    }
    return size;
}

static bool
look_in_pieces(const uint8_t *bytes, size_t size, size_t piece)
{
    struct peer_stream stream = {.is_peer = true};

    for (size_t at = 0; at < size; at += piece) {
        if (!peer_stream_look(&stream, bytes + at, size - at < piece ? size - at : piece)) {
            return false;
        }
    }
    return true;
}

static void
only_messages_of_several_parts_are_seen(void **state)
{
    static const struct {
        uint8_t flags[3];
        bool good;
    } cases[] = {
        {{0, 0, 0}, true},  {{4, 2, 0}, true},  {{4, 6, 2}, true},  {{5, 7, 0}, true}, /* commands have no parts */
        {{1, 0, 0}, false}, {{0, 1, 0}, false}, {{4, 0, 3}, false}, {{6, 2, 1}, false},
    };
    uint8_t bytes[1024];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size = write_stream(bytes, cases[i].flags, 3);

        for (size_t piece = 1; piece <= size; piece++) {
            assert_int_equal(look_in_pieces(bytes, size, piece), cases[i].good);
        }
    }
}

/* A frame of 2^64 - 1 bytes is for libzmq to refuse; nothing in it is taken for another. */
static void
the_largest_frame_is_one(void **state)
{
    struct peer_stream stream = {.is_peer = true};
    uint8_t bytes[GREETING + 9 + 100];

    (void)state;
    memset(bytes, 0xff, sizeof bytes);
    bytes[GREETING] = 2;
    memset(bytes + GREETING + 9, 1, 100);
    for (int i = 0; i < 3; i++) {
        assert_true(peer_stream_look(&stream, bytes + (i > 0 ? GREETING + 9 : 0), i > 0 ? 100 : sizeof bytes));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_messages_of_several_parts_are_seen),
        cmocka_unit_test(the_largest_frame_is_one),
    };

    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
