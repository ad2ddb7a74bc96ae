/* Segments belong to NUMA nodes: two are pretended here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "contract/shm.h"
#include "live.h"
#include "store/base/node.h"
#include "wire/frame.h"

#define MIB ((uint64_t)1 << 20)

/* A client that says on which node it is. */
struct raw {
    int fd;
    struct gr_frame_reader *reader;
};

static void
ask(struct raw *raw, uint16_t op, const void *body, uint32_t size, struct gr_frame_in *ret_frame)
{
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = op, .seq = 1, .size = size};

    assert_int_equal(gr_frame_send(raw->fd, &head, body, NULL, 0), GRANARY_OK);
    assert_int_equal(gr_frame_receive(raw->reader, raw->fd, gr_deadline_ns(60000), ret_frame), GRANARY_OK);
    assert_int_equal(ret_frame->head.err, GRANARY_OK);
}

static struct raw
raw_connect(const struct live *live)
{
    struct gr_hello hello = {.version = GR_STORE_VERSION, .shm_version = GR_SHM_VERSION, .tag = "raw"};
    struct raw raw = {.reader = gr_frame_reader_create(true)};
    struct gr_frame_in frame;
    granary_err err;

    raw.fd = gr_unix_connect(live->paths.store_socket, &err);
    assert_true(raw.fd >= 0);
    ask(&raw, GR_STORE_HELLO, &hello, sizeof hello, &frame);
    gr_frame_in_reset(&frame);
    return raw;
}

static void
raw_close(struct raw *raw)
{
    gr_frame_reader_destroy(raw->reader);
    gr_fd_close(&raw->fd);
}

static struct gr_room_reply
room_on(struct raw *raw, int node)
{
    struct gr_room room = {.min_bytes = MIB, .want_bytes = MIB, .timeout_ms = 5000, .node = node};
    struct gr_room_reply reply;
    struct gr_frame_in frame;

    ask(raw, GR_STORE_ROOM, &room, sizeof room, &frame);
    assert_true(frame.head.size >= sizeof reply);
    memcpy(&reply, frame.body, sizeof reply);
    gr_frame_in_reset(&frame);
    return reply;
}

/* Room comes from the node that was asked for; one that is not there, or unknown, is node 0. */
static void
room_comes_from_the_node_of_who_asks(void **state)
{
    struct live live;
    struct raw raw;

    (void)state;
    assert_int_equal(node_count(), 2);
    live_start(&live, 64 * MIB, 0);
    raw = raw_connect(&live);
    assert_int_equal(room_on(&raw, 1).node, 1);
    assert_int_equal(room_on(&raw, 0).node, 0);
    assert_int_equal(room_on(&raw, -1).node, 0);
    assert_int_equal(room_on(&raw, 7).node, 0);
    raw_close(&raw);
    live_stop(&live);
}

/* What a client that went leaves warm is given to who asks for its node. */
static void
warm_memory_is_found_by_its_node(void **state)
{
    granary_store_stat stat = {.clients = 2};
    granary_client *client;
    uint32_t near, far;
    struct live live;
    struct raw raw;

    (void)state;
    live_start(&live, 64 * MIB, 0);
    client = live_connect(&live, NULL);
    raw = raw_connect(&live);
    near = room_on(&raw, 0).segment;
    far = room_on(&raw, 1).segment;
    raw_close(&raw);
    for (int64_t end = gr_deadline_ns(60000); stat.clients > 1 || stat.pooled_bytes < 2 * MIB;) {
        assert_true(gr_now_ns() < end);
        assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
    }
    raw = raw_connect(&live);
    for (int i = 0; i < 4; i++) {
        struct gr_room_reply there = room_on(&raw, 1);
        struct gr_room_reply here = room_on(&raw, 0);

        assert_int_equal(there.node, 1);
        assert_int_not_equal(there.segment, near);
        assert_int_equal(here.node, 0);
        assert_int_not_equal(here.segment, far);
    }
    raw_close(&raw);
    granary_disconnect(client);
    live_stop(&live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_comes_from_the_node_of_who_asks),
        cmocka_unit_test(warm_memory_is_found_by_its_node),
    };

    (void)setenv("GRANARY_TEST_NODES", "2", 1);
    return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
