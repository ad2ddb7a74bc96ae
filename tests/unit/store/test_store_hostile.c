/* Clients that lie, babble, or do not listen: they are answered or dropped, and everybody else goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "contract/shm.h"
#include "granary/hold.h"
#include "live.h"
#include "wire/frame.h"

#define MIB        ((uint64_t)1 << 20)
#define TIMEOUT_MS 60000

/* A client without the library: it can send what it likes. */
struct raw {
    int fd;
    int page_fd;
    int doorbell;
    struct gr_frame_reader *reader;
    struct gr_lease_page *page;
    uint64_t head;
};

static void
raw_open(struct raw *raw, const struct live *live)
{
    granary_err err;

    *raw = (struct raw){.page_fd = -1, .doorbell = -1};
    raw->fd = gr_unix_connect(live->paths.store_socket, &err);
    assert_true(raw->fd >= 0);
    raw->reader = gr_frame_reader_create(true);
}

static void
raw_close(struct raw *raw)
{
    if (raw->page != NULL) {
        (void)munmap(raw->page, sizeof *raw->page);
    }
    gr_frame_reader_destroy(raw->reader);
    gr_fd_close(&raw->fd);
    gr_fd_close(&raw->page_fd);
    gr_fd_close(&raw->doorbell);
}

static granary_err
raw_ask(struct raw *raw, uint16_t op, const void *body, uint32_t size, struct gr_frame_in *ret_frame)
{
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = op, .seq = 7, .size = size};
    granary_err err = gr_frame_send(raw->fd, &head, body, NULL, 0);

    if (err == GRANARY_OK) {
        err = gr_frame_receive(raw->reader, raw->fd, gr_deadline_ns(TIMEOUT_MS), ret_frame);
    }
    if (err == GRANARY_OK) {
        assert_int_equal(ret_frame->head.op, op);
        assert_int_equal(ret_frame->head.seq, 7);
        err = ret_frame->head.err;
    }
    return err;
}

static void
raw_hello(struct raw *raw)
{
    struct gr_hello hello = {.version = GR_STORE_VERSION, .shm_version = GR_SHM_VERSION, .tag = "raw"};
    struct gr_frame_in frame;

    assert_int_equal(raw_ask(raw, GR_STORE_HELLO, &hello, sizeof hello, &frame), GRANARY_OK);
    assert_int_equal(frame.fd_count, 3);
    raw->page_fd = frame.fds[1];
    raw->doorbell = frame.fds[2];
    gr_fd_close(&frame.fds[0]);
    raw->page = mmap(NULL, sizeof *raw->page, PROT_READ | PROT_WRITE, MAP_SHARED, raw->page_fd, 0);
    assert_ptr_not_equal(raw->page, MAP_FAILED);
}

/* ret_fd: of the segment's file. */
static uint32_t
raw_room_file(struct raw *raw, uint64_t bytes, uint64_t request, int *ret_fd)
{
    struct gr_room room = {.min_bytes = bytes, .want_bytes = bytes, .timeout_ms = 1000, .request = request};
    struct gr_room_reply reply;
    struct gr_frame_in frame;

    assert_int_equal(raw_ask(raw, GR_STORE_ROOM, &room, sizeof room, &frame), GRANARY_OK);
    memcpy(&reply, frame.body, sizeof reply);
    assert_true(reply.size_bytes >= bytes);
    *ret_fd = frame.fds[0];
    frame.fds[0] = -1;
    gr_frame_in_reset(&frame);
    return reply.segment;
}

static uint32_t
raw_room_again(struct raw *raw, uint64_t bytes, uint64_t request)
{
    int fd;
    uint32_t segment = raw_room_file(raw, bytes, request, &fd);

    gr_fd_close(&fd);
    return segment;
}

static uint32_t
raw_room(struct raw *raw, uint64_t bytes)
{
    return raw_room_again(raw, bytes, 0);
}

/* Push one entry and wait for its answer. */
static granary_err
raw_push(struct raw *raw, const struct gr_ring_entry *entry)
{
    struct gr_ring_entry *place = &raw->page->ring[raw->head % GR_RING_ENTRIES];
    const uint64_t one = 1;
    int64_t end = gr_deadline_ns(TIMEOUT_MS);
    uint32_t status;

    atomic_store(&place->status, 0);
    place->op = entry->op;
    place->flags = entry->flags;
    memcpy(place->id, entry->id, sizeof place->id);
    place->segment = entry->segment;
    place->meta_size = entry->meta_size;
    place->offset = entry->offset;
    place->data_size = entry->data_size;
    raw->head++;
    atomic_store(&raw->page->ring_head, raw->head);
    assert_int_equal(write(raw->doorbell, &one, sizeof one), sizeof one);
    while (((status = atomic_load(&place->status)) & GR_RING_DONE) == 0) {
        assert_true(gr_now_ns() < end);
    }
    return (granary_err)(-(int32_t)(status & ~GR_RING_DONE));
}

/* The peer hung up. */
static bool
raw_dropped(struct raw *raw)
{
    struct gr_frame_in frame;

    for (;;) {
        granary_err err = gr_frame_receive(raw->reader, raw->fd, gr_deadline_ns(TIMEOUT_MS), &frame);

        if (err != GRANARY_OK) {
            return err == GRANARY_EUNREACHABLE;
        }
        gr_frame_in_reset(&frame);
    }
}

static struct gr_ring_entry
seal_of(uint64_t n, uint32_t segment, uint64_t offset, uint64_t data_size, uint32_t meta_size)
{
    struct gr_ring_entry entry = {
        .op = GR_RING_SEAL, .segment = segment, .offset = offset, .data_size = data_size, .meta_size = meta_size};
    granary_id id = live_id(n);

    memcpy(entry.id, id.bytes, sizeof entry.id);
    return entry;
}

/* Every impossible seal is refused, and the account does not notice. */
static void
impossible_seals_are_refused(void **state)
{
    struct live live;
    struct raw raw, other;
    granary_client *client;
    uint32_t mine, theirs;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    raw_open(&raw, &live);
    raw_hello(&raw);
    raw_open(&other, &live);
    raw_hello(&other);
    mine = raw_room(&raw, 65536);
    theirs = raw_room(&other, 65536);
    {
        struct gr_ring_entry bad[] = {
            seal_of(1, theirs, 0, 100, 0),                         /* another's room */
            seal_of(1, 0, 0, 100, 0),                              /* no room */
            seal_of(1, 999999, 0, 100, 0),                         /* no such room */
            seal_of(1, mine, 1, 100, 0),                           /* not aligned */
            seal_of(1, mine, 65536, 1, 0),                         /* behind the end */
            seal_of(1, mine, 64, 65536, 0),                        /* over the end */
            seal_of(1, mine, 0, UINT64_MAX, 0),                    /* size overflows */
            seal_of(1, mine, UINT64_MAX - 63, 64, 0),              /* offset overflows */
            seal_of(1, mine, 0, GR_MAX_OBJECT + 1, 0),             /* too large */
            seal_of(1, mine, 0, 64, UINT32_MAX),                   /* too much metadata */
            {.op = GR_RING_SEAL, .segment = mine, .data_size = 1}, /* no id */
            {.op = 0},
            {.op = 77},
            {.op = GR_RING_RETIRE, .segment = theirs},
            {.op = GR_RING_RETIRE, .segment = 0},
        };

        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            assert_int_equal(raw_push(&raw, &bad[i]), GRANARY_EINVAL);
        }
    }
    /* What is sealed in a room never adds up to more than the room, wherever it is said to lie. */
    assert_int_equal(raw_push(&raw, &(struct gr_ring_entry[]){seal_of(2, mine, 0, 40000, 0)}[0]), GRANARY_OK);
    assert_int_equal(raw_push(&raw, &(struct gr_ring_entry[]){seal_of(3, mine, 0, 40000, 0)}[0]), GRANARY_EINVAL);
    assert_int_equal(raw_push(&raw, &(struct gr_ring_entry[]){seal_of(2, mine, 40000 / 64 * 64 + 64, 64, 0)}[0]),
                     GRANARY_EEXIST);
    assert_int_equal(raw_push(&raw, &(struct gr_ring_entry){.op = GR_RING_RETIRE, .segment = mine}), GRANARY_OK);
    assert_int_equal(raw_push(&raw, &(struct gr_ring_entry[]){seal_of(4, mine, 40960, 64, 0)}[0]), GRANARY_EINVAL);
    assert_int_equal(raw_push(&raw, &(struct gr_ring_entry){.op = GR_RING_DELETE, .id = {1}}), GRANARY_ENOENT);
    assert_true(granary_object_contains(client, live_id(2)));
    raw_close(&raw);
    raw_close(&other);
    assert_int_equal(live_put(client, 5, 1000), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

/* A ring that claims more entries than there are, a page that was wiped, a page that was truncated. */
static void
broken_pages_drop_their_client_only(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        const uint64_t one = 1;
        struct live live;
        struct raw raw;
        granary_client *client;

        live_start(&live, 16 * MIB, 0);
        client = live_connect(&live, NULL);
        raw_open(&raw, &live);
        raw_hello(&raw);
        if (kind == 0) {
            atomic_store(&raw.page->ring_head, GR_RING_ENTRIES + 1);
        } else if (kind == 1) {
            atomic_store(&raw.page->magic, 0);
            atomic_store(&raw.page->ring_head, 1);
        } else {
            assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
            assert_int_equal(ftruncate(raw.page_fd, 0), 0);
            assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK); /* the store looks at hazards */
        }
        assert_int_equal(write(raw.doorbell, &one, sizeof one), sizeof one);
        if (kind < 2) {
            assert_true(raw_dropped(&raw));
        }
        assert_int_equal(live_put(client, 5, 1000), GRANARY_OK);
        raw_close(&raw);
        granary_disconnect(client);
        live_stop(&live);
    }
}

/* A ring filled while the store looks away is answered to the last entry before its client is forgotten. */
static void
last_words_count(void **state)
{
    struct live live;
    struct raw raw;
    granary_client *client;
    uint32_t room;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    raw_open(&raw, &live);
    raw_hello(&raw);
    room = raw_room(&raw, 65536);
    for (unsigned i = 0; i < 1000; i++) {
        raw.page->ring[i] = seal_of(i + 1, room, (uint64_t)i * 64, 64, 0);
    }
    atomic_store(&raw.page->ring_head, 1000);
    raw_close(&raw);
    for (int64_t end = gr_deadline_ns(TIMEOUT_MS); !granary_object_contains(client, live_id(1000));) {
        assert_true(gr_now_ns() < end);
    }
    granary_disconnect(client);
    live_stop(&live);
}

/* The answer was lost, so the request comes again; but not for ever. */
static void
a_room_is_granted_once(void **state)
{
    struct gr_ring_entry retire = {.op = GR_RING_RETIRE};
    struct live live;
    struct raw raw;
    struct raw other;
    uint32_t room;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    raw_open(&raw, &live);
    raw_hello(&raw);
    raw_open(&other, &live);
    raw_hello(&other);
    room = raw_room_again(&raw, 65536, 5);
    assert_int_equal(raw_room_again(&raw, 65536, 5), room);
    assert_int_not_equal(raw_room_again(&raw, 65536, 6), room);
    assert_int_not_equal(raw_room_again(&other, 65536, 5), room);
    assert_int_not_equal(raw_room(&raw, 65536), raw_room(&raw, 65536));
    retire.segment = room;
    assert_int_equal(raw_push(&raw, &retire), GRANARY_OK);
    (void)raw_room_again(&raw, 65536, 5);
    assert_int_equal(raw_push(&raw, &retire), GRANARY_OK); /* it was granted anew, for it was warm */
    raw_close(&raw);
    raw_close(&other);
    live_stop(&live);
}

/* Bytes that are no frame, frames that are no request, requests out of order: dropped. */
static void
babble_is_dropped(void **state)
{
    char garbage[70000];
    struct live live;
    granary_client *client;
    struct gr_frame frames[] = {
        {.magic = GR_STORE_MAGIC, .op = 0},
        {.magic = GR_STORE_MAGIC, .op = 999},
        {.magic = GR_STORE_MAGIC, .op = GR_STORE_PING},
        {.magic = GR_STORE_MAGIC, .op = GR_STORE_HELLO},
        {.magic = GR_STORE_MAGIC, .op = GR_STORE_HELLO, .size = GR_FRAME_MAX_BODY + 1},
        {.magic = 1, .op = GR_STORE_HELLO},
    };

    (void)state;
    srand(5);
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    for (int round = 0; round < 200; round++) {
        struct raw raw;
        size_t size = 20 + (size_t)rand() % (sizeof garbage - 20);

        for (size_t i = 0; i < size; i++) {
            garbage[i] = (char)rand();
        }
        raw_open(&raw, &live);
        if (round % 2 == 0) {
            (void)!send(raw.fd, garbage, size, MSG_NOSIGNAL);
        } else {
            (void)!send(raw.fd, &frames[(size_t)round / 2 % 6], sizeof frames[0], MSG_NOSIGNAL);
        }
        {
            /* Unread garbage makes the kernel reset the connection: either end of it is a drop. */
            struct pollfd poller = {.fd = raw.fd, .events = POLLIN};
            char byte;

            assert_int_equal(poll(&poller, 1, TIMEOUT_MS), 1);
            assert_true(recv(raw.fd, &byte, 1, 0) <= 0);
        }
        raw_close(&raw);
    }
    assert_int_equal(live_put(client, 5, 1000), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

/* Requests with wrong sizes or nonsense in them, after HELLO. */
static void
nonsense_requests_are_answered_or_dropped(void **state)
{
    struct live live;
    struct raw raw;
    struct gr_frame_in frame;
    uint32_t numbers[3] = {0, 5, UINT32_MAX};
    struct gr_map map = {.kind = 9, .number = 1};
    struct gr_object_ref ref = {.id = {1}, .serial = 5, .request = 1};
    struct gr_hold hold = {.id = {1}, .request = 2, .scope = 9};
    struct gr_room room = {.min_bytes = UINT64_MAX, .want_bytes = 1, .timeout_ms = -1};

    (void)state;
    live_start(&live, 16 * MIB, 0);
    raw_open(&raw, &live);
    raw_hello(&raw);
    assert_int_equal(raw_ask(&raw, GR_STORE_PING, NULL, 0, &frame), GRANARY_OK);
    assert_int_equal(raw_ask(&raw, GR_STORE_MAP, &map, sizeof map, &frame), GRANARY_ENOENT);
    assert_int_equal(raw_ask(&raw, GR_STORE_ROOM, &room, sizeof room, &frame), GRANARY_EFULL);
    assert_int_equal(raw_ask(&raw, GR_STORE_PIN, &hold, sizeof hold, &frame), GRANARY_EINVAL);
    assert_int_equal(raw_ask(&raw, GR_STORE_RESTORE, &ref, sizeof ref, &frame), GRANARY_ENOENT);
    assert_int_equal(raw_ask(&raw, GR_STORE_LEASE, &ref, sizeof ref, &frame), GRANARY_ESTATE);
    assert_int_equal(raw_ask(&raw, GR_STORE_UNLEASE, &ref, sizeof ref, &frame), GRANARY_ENOENT);
    assert_int_equal(raw_ask(&raw, GR_STORE_DEAD, numbers, sizeof numbers, &frame), GRANARY_OK);
    assert_memory_equal(frame.body, "\1\1\1", 3);
    assert_int_equal(raw_ask(&raw, GR_STORE_DEAD, numbers, 5, &frame), GRANARY_EUNREACHABLE);
    raw_close(&raw);
    live_stop(&live);
}

/* A lease on its room's file would keep the store waiting in open(), for 45 s: others get what lies there at once. */
static void
a_lease_on_a_file_keeps_nobody_waiting(void **state)
{
    struct gr_ring_entry seal = {.op = GR_RING_SEAL, .data_size = 1000};
    struct live live;
    struct raw raw;
    granary_client *client;
    granary_view view;
    int fd;

    (void)state;
    (void)signal(SIGIO, SIG_IGN); /* tells the holder that somebody waits */
    live_start(&live, 16 * MIB, 0);
    raw_open(&raw, &live);
    raw_hello(&raw);
    memcpy(seal.id, live_id(1).bytes, sizeof seal.id);
    seal.segment = raw_room_file(&raw, MIB, 1, &fd);
    assert_int_equal(raw_push(&raw, &seal), GRANARY_OK);
    assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
    client = live_connect(&live, NULL);
    assert_int_equal(granary_object_get(client, live_id(1), 0, &view), GRANARY_OK);
    granary_object_release(client, &view);
    granary_disconnect(client);
    gr_fd_close(&fd);
    raw_close(&raw);
    live_stop(&live);
    (void)signal(SIGIO, SIG_DFL);
}

/* Another version is told both, and dropped. */
static void
other_versions_are_told(void **state)
{
    struct gr_hello hello = {.version = GR_STORE_VERSION + 1, .shm_version = GR_SHM_VERSION};
    struct gr_frame_in frame;
    struct live live;
    struct raw raw;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    raw_open(&raw, &live);
    assert_int_equal(raw_ask(&raw, GR_STORE_HELLO, &hello, sizeof hello, &frame), GRANARY_EVERSION);
    assert_true(frame.head.size > 10);
    assert_true(raw_dropped(&raw));
    raw_close(&raw);
    live_stop(&live);
}

/* A client that asks and never reads is dropped; it holds nobody up. */
static void
deaf_clients_are_dropped(void **state)
{
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = GR_STORE_PING};
    struct live live;
    struct raw raw;
    granary_client *client;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    raw_open(&raw, &live);
    raw_hello(&raw);
    for (int64_t end = gr_deadline_ns(TIMEOUT_MS);;) {
        if (send(raw.fd, &head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN) {
            break;
        }
        assert_true(gr_now_ns() < end);
    }
    assert_int_equal(live_put(client, 5, 1000), GRANARY_OK);
    raw_close(&raw);
    granary_disconnect(client);
    live_stop(&live);
}

/* Leases that the store counts keep an object as hazards do, and end with their client. */
static void
counted_leases_hold_objects(void **state)
{
    struct live live;
    struct raw raw;
    struct gr_frame_in frame;
    granary_client *client;
    granary_store_stat stat;
    granary_view view;
    struct gr_object_ref ref = {.request = 1};

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    raw_open(&raw, &live);
    raw_hello(&raw);
    assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_object_get(client, live_id(1), 0, &view), GRANARY_OK);
    memcpy(ref.id, view.id.bytes, sizeof ref.id);
    ref.serial = view.serial;
    granary_object_release(client, &view);
    assert_int_equal(raw_ask(&raw, GR_STORE_LEASE, &ref, sizeof ref, &frame), GRANARY_OK);
    ref.request = 2;
    assert_int_equal(raw_ask(&raw, GR_STORE_LEASE, &ref, sizeof ref, &frame), GRANARY_OK);
    /* Sent again, as after a restart of the store, it is the same lease. */
    assert_int_equal(raw_ask(&raw, GR_STORE_LEASE, &ref, sizeof ref, &frame), GRANARY_OK);
    assert_int_equal(raw_ask(&raw, GR_STORE_UNLEASE, &ref, sizeof ref, &frame), GRANARY_OK);
    assert_int_equal(raw_ask(&raw, GR_STORE_UNLEASE, &ref, sizeof ref, &frame), GRANARY_ENOENT);
    assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
    assert_int_equal(stat.retiring_bytes, 1024);
    raw_close(&raw);
    for (int64_t end = gr_deadline_ns(60000); stat.retiring_bytes > 0;) {
        assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
        assert_true(gr_now_ns() < end);
    }
    granary_disconnect(client);
    live_stop(&live);
}

/* A lease ends with a bit of its place, whether the store counts it already, or its request comes after. */
static void
counted_leases_end_with_a_bit(void **state)
{
    enum { PLACE = GR_COUNTED_PLACES - 1 };
    const uint64_t bit = (uint64_t)1 << 63;
    struct live live;
    struct raw raw;
    struct gr_frame_in frame;
    granary_client *client;
    granary_store_stat stat;
    granary_view view;
    struct gr_object_ref ref = {.request = GR_COUNTED_REQUEST(PLACE)};
    _Atomic uint64_t *word;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    raw_open(&raw, &live);
    raw_hello(&raw);
    word = &raw.page->ended[PLACE / 64];
    assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
    assert_int_equal(granary_object_get(client, live_id(1), 0, &view), GRANARY_OK);
    memcpy(ref.id, view.id.bytes, sizeof ref.id);
    ref.serial = view.serial;
    granary_object_release(client, &view);
    atomic_store(word, bit);
    assert_int_equal(raw_ask(&raw, GR_STORE_LEASE, &ref, sizeof ref, &frame), GRANARY_ESTATE);
    gr_frame_in_reset(&frame);
    assert_int_equal(atomic_load(word), 0);
    assert_int_equal(raw_ask(&raw, GR_STORE_LEASE, &ref, sizeof ref, &frame), GRANARY_OK);
    assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
    assert_int_equal(stat.retiring_bytes, 1024);
    atomic_store(&raw.page->ended[0], ~(uint64_t)0); /* of nothing: they stay, and harm nobody */
    atomic_store(word, bit);
    atomic_store(&raw.page->counted_ended, 1);
    for (int64_t end = gr_deadline_ns(60000); stat.retiring_bytes > 0 || atomic_load(word) != 0;) {
        assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
        assert_true(gr_now_ns() < end);
    }
    assert_int_equal(atomic_load(&raw.page->ended[0]), ~(uint64_t)0);
    raw_close(&raw);
    granary_disconnect(client);
    live_stop(&live);
}

static granary_err
raw_hold(struct raw *raw, uint16_t op, const struct gr_hold *hold, uint64_t *ret_token)
{
    struct gr_frame_in frame;
    granary_err err = raw_ask(raw, op, hold, sizeof *hold, &frame);
    struct gr_hold_reply reply;

    if (err == GRANARY_OK && frame.head.size == sizeof reply) {
        memcpy(&reply, frame.body, sizeof reply);
        *ret_token = reply.token;
    }
    return err;
}

/* Pins and references that make no sense are refused, and one that is sent again is done once. */
static void
hostile_holds_are_refused(void **state)
{
    struct live live;
    struct raw raw;
    granary_client *client;
    granary_id id = live_id(1);
    struct gr_hold good = {.request = 1, .scope = 1, .text = "x"};
    struct gr_hold bad;
    uint64_t first = 0, token = 0;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    raw_open(&raw, &live);
    raw_hello(&raw);
    assert_int_equal(live_put(client, 1, 1000), GRANARY_OK);
    assert_int_equal(live_put(client, 2, 1000), GRANARY_OK);
    memcpy(good.id, id.bytes, sizeof good.id);
    for (uint16_t op = GR_STORE_PIN; op != 0; op = op == GR_STORE_PIN ? GR_STORE_REF : 0) {
        bad = good;
        bad.request = 0;
        assert_int_equal(raw_hold(&raw, op, &bad, &token), GRANARY_EINVAL);
        bad = good;
        bad.scope = 3;
        assert_int_equal(raw_hold(&raw, op, &bad, &token), GRANARY_EINVAL);
        bad = good;
        memset(bad.text, 'x', sizeof bad.text);
        assert_int_equal(raw_hold(&raw, op, &bad, &token), GRANARY_EINVAL);
        bad.text[3] = '\n';
        bad.text[55] = '\0';
        assert_int_equal(raw_hold(&raw, op, &bad, &token), GRANARY_EINVAL);
        bad = good;
        memset(bad.id, 0, sizeof bad.id);
        assert_int_equal(raw_hold(&raw, op, &bad, &token), GRANARY_ENOENT);
    }
    assert_int_equal(live_holds(client, 1), 0);
    assert_int_equal(raw_hold(&raw, GR_STORE_PIN, &good, &first), GRANARY_OK);
    assert_int_equal(raw_hold(&raw, GR_STORE_PIN, &good, &token), GRANARY_OK);
    assert_int_equal(token, first);
    assert_int_equal(live_holds(client, 1), 1);
    /* The same number for something else. */
    assert_int_equal(raw_hold(&raw, GR_STORE_REF, &good, &token), GRANARY_EINVAL);
    bad = good;
    bad.id[0] = 2;
    assert_int_equal(raw_hold(&raw, GR_STORE_PIN, &bad, &token), GRANARY_EINVAL);
    /* A token of another kind. */
    bad = good;
    bad.token = first;
    assert_int_equal(raw_hold(&raw, GR_STORE_UNREF, &bad, &token), GRANARY_ENOENT);
    bad.token = UINT64_MAX;
    assert_int_equal(raw_hold(&raw, GR_STORE_UNPIN, &bad, &token), GRANARY_ENOENT);
    bad.token = first;
    assert_int_equal(raw_hold(&raw, GR_STORE_UNPIN, &bad, &token), GRANARY_OK);
    assert_int_equal(live_holds(client, 1), 0);
    /* Of three pins, a request to take one back takes one, however often it is sent. */
    for (good.request = 11; good.request <= 13; good.request++) {
        assert_int_equal(raw_hold(&raw, GR_STORE_PIN, &good, &token), GRANARY_OK);
    }
    good.request = 14;
    assert_int_equal(raw_hold(&raw, GR_STORE_UNPIN, &good, &token), GRANARY_OK);
    assert_int_equal(raw_hold(&raw, GR_STORE_UNPIN, &good, &token), GRANARY_OK);
    assert_int_equal(live_holds(client, 1), 2);
    good.request = 15;
    assert_int_equal(raw_hold(&raw, GR_STORE_UNPIN, &good, &token), GRANARY_OK);
    assert_int_equal(live_holds(client, 1), 1);
    raw_close(&raw);
    granary_disconnect(client);
    live_stop(&live);
}

static granary_err
raw_contain(struct raw *raw, uint64_t parent, uint32_t first, uint32_t count, uint64_t child, size_t size)
{
    char body[sizeof(struct gr_contain) + 4 * sizeof(granary_id)];
    struct gr_contain contain = {.count = count, .first = first};
    granary_id id = live_id(parent);
    struct gr_frame_in frame;

    memcpy(contain.parent, id.bytes, sizeof contain.parent);
    memcpy(body, &contain, sizeof contain);
    for (unsigned i = 0; i < 4; i++) {
        id = live_id(child + i);
        memcpy(body + sizeof contain + i * sizeof id, &id, sizeof id);
    }
    return raw_ask(raw, GR_STORE_CONTAIN, body, (uint32_t)size, &frame);
}

/* Families that were not noted, or are not what was noted. */
static void
hostile_families_are_refused(void **state)
{
    const size_t head = sizeof(struct gr_contain);
    const size_t id = sizeof(granary_id);
    struct live live;
    struct raw raw;
    struct gr_ring_entry entry;
    granary_client *client;
    uint32_t room;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    for (uint64_t n = 1; n <= 4; n++) {
        assert_int_equal(live_put(client, n, 100), GRANARY_OK);
    }
    raw_open(&raw, &live);
    raw_hello(&raw);
    room = raw_room(&raw, 65536);
    entry = seal_of(10, room, 0, 64, 0);
    entry.flags = GR_SEAL_PARENT;
    assert_int_equal(raw_push(&raw, &entry), GRANARY_EINVAL);
    assert_int_equal(raw_contain(&raw, 10, 1, 2, 1, head + 2 * id), GRANARY_EINVAL); /* nothing was noted before */
    assert_int_equal(raw_contain(&raw, 10, 0, 2, 1, head + 2 * id), GRANARY_OK);
    assert_int_equal(raw_contain(&raw, 10, 0, 2, 1, head + 2 * id), GRANARY_OK); /* sent again */
    assert_int_equal(raw_contain(&raw, 10, 0, 1, 1, head + id), GRANARY_EINVAL); /* less than was noted */
    assert_int_equal(raw_contain(&raw, 10, 1, 2, 2, head + 2 * id), GRANARY_OK); /* half of it was noted */
    assert_int_equal(live_holds(client, 2), 1);
    assert_int_equal(live_holds(client, 3), 1);
    assert_int_equal(raw_push(&raw, &entry), GRANARY_OK);
    assert_int_equal(raw_contain(&raw, 10, 3, 1, 4, head + id), GRANARY_EEXIST);
    assert_int_equal(raw_contain(&raw, 10, 0, 0, 1, head), GRANARY_OK); /* too late to forget it */
    assert_int_equal(live_holds(client, 3), 1);
    /* Not what a request looks like. */
    for (int kind = 0; kind < 3; kind++) {
        struct raw other;

        raw_open(&other, &live);
        raw_hello(&other);
        assert_int_equal(
            raw_contain(&other, 11, 0, kind == 1 ? GR_CONTAIN_MOST + 1 : 1, 1, kind == 0 ? head - 1 : head + 2 * id),
            GRANARY_EUNREACHABLE);
        raw_close(&other);
    }
    raw_close(&raw);
    assert_int_equal(live_holds(client, 1), 1);
    granary_disconnect(client);
    live_stop(&live);
}

/* Names without an end, and a binding that is sent again after another one came between. */
static void
hostile_names_are_refused(void **state)
{
    struct gr_name request = {.request = 7, .name = "n"};
    granary_id id = live_id(1);
    struct gr_frame_in frame;
    struct live live;
    struct raw raw;
    granary_client *client;
    granary_id bound;

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, 100), GRANARY_OK);
    assert_int_equal(live_put(client, 2, 100), GRANARY_OK);
    raw_open(&raw, &live);
    raw_hello(&raw);
    memcpy(request.id, id.bytes, sizeof request.id);
    for (uint16_t op = GR_STORE_NAME_SET; op <= GR_STORE_NAME_LIST; op++) {
        struct gr_name bad = request;

        memset(bad.name, 'n', sizeof bad.name);
        assert_int_equal(raw_ask(&raw, op, &bad, sizeof bad, &frame), GRANARY_EINVAL);
    }
    request.expect = 3;
    assert_int_equal(raw_ask(&raw, GR_STORE_NAME_SET, &request, sizeof request, &frame), GRANARY_EINVAL);
    request.expect = GR_NAME_NEW;
    request.request = 0;
    assert_int_equal(raw_ask(&raw, GR_STORE_NAME_SET, &request, sizeof request, &frame), GRANARY_EINVAL);
    request.request = 7;
    assert_int_equal(raw_ask(&raw, GR_STORE_NAME_SET, &request, sizeof request, &frame), GRANARY_OK);
    gr_frame_in_reset(&frame);
    /* It was new the first time: so it is the second. */
    assert_int_equal(raw_ask(&raw, GR_STORE_NAME_SET, &request, sizeof request, &frame), GRANARY_OK);
    gr_frame_in_reset(&frame);
    assert_int_equal(granary_name_get(client, "n", &bound), GRANARY_OK);
    assert_memory_equal(&bound, &id, sizeof id);
    assert_int_equal(live_holds(client, 1), 1);
    /* Dropped, bound by another, dropped again by the same request: the other's stays, and the answer is the same. */
    request = (struct gr_name){.request = 8, .name = "n"};
    for (int round = 0; round < 2; round++) {
        struct gr_name reply;

        assert_int_equal(raw_ask(&raw, GR_STORE_NAME_SET, &request, sizeof request, &frame), GRANARY_OK);
        memcpy(&reply, frame.body, sizeof reply);
        gr_frame_in_reset(&frame);
        assert_memory_equal(reply.id, &id, sizeof id);
        if (round == 0) {
            assert_int_equal(granary_name_set(client, "n", live_id(2), GRANARY_NAME_NEW, (granary_id){{0}}, NULL),
                             GRANARY_OK);
        }
    }
    assert_int_equal(live_holds(client, 2), 1);
    raw_close(&raw);
    granary_disconnect(client);
    live_stop(&live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_seals_are_refused),
        cmocka_unit_test(broken_pages_drop_their_client_only),
        cmocka_unit_test(last_words_count),
        cmocka_unit_test(a_room_is_granted_once),
        cmocka_unit_test(babble_is_dropped),
        cmocka_unit_test(nonsense_requests_are_answered_or_dropped),
        cmocka_unit_test(a_lease_on_a_file_keeps_nobody_waiting),
        cmocka_unit_test(other_versions_are_told),
        cmocka_unit_test(deaf_clients_are_dropped),
        cmocka_unit_test(counted_leases_hold_objects),
        cmocka_unit_test(counted_leases_end_with_a_bit),
        cmocka_unit_test(hostile_holds_are_refused),
        cmocka_unit_test(hostile_families_are_refused),
        cmocka_unit_test(hostile_names_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
