/*
 * Frames as a broken or hostile client might send them, some hundred thousand of them, from a seed: valid requests of
 * every kind with values that are plausible, extreme or random, then flipped, cut, stretched, repeated, or with
 * descriptors nobody asked for; and rings and lease pages full of noise. The store must go on serving an honest client,
 * and keep its account.
 *
 * GRANARY_MUTANTS=1000000 GRANARY_SEED=7 build/.../test_store_mutants is the long form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "contract/shm.h"
#include "live.h"
#include "support/store_requests.h"
#include "wire/frame.h"

#define MIB        ((uint64_t)1 << 20)
#define FRAMES_CI  20000u
#define LAST_OP    32u
#define BODY_MOST  4096u
#define TIMEOUT_MS 60000

struct mutator {
    uint64_t random;
    uint64_t frames;
};

static uint64_t
draw(struct mutator *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

static uint64_t
below(struct mutator *m, uint64_t limit)
{
    return draw(m) % limit;
}

/* A number as it might be sent: small, at an edge, or anything. */
static uint64_t
number(struct mutator *m)
{
    static const uint64_t edges[] = {0,          1,         63,         64,         4095,          4096,
                                     UINT32_MAX, INT32_MAX, INT64_MAX,  UINT64_MAX, GR_MAX_OBJECT, GR_MAX_META,
                                     1u << 20,   1u << 28,  UINT16_MAX, GR_MAX_PINS};

    switch (below(m, 4)) {
    case 0:
        return below(m, 16);
    case 1:
        return edges[below(m, sizeof edges / sizeof edges[0])];
    case 2:
        return (uint64_t)1 << below(m, 64);
    default:
        return draw(m);
    }
}

/* A body of a request's size, or of any, made of such numbers, ids of objects that exist, and texts. */
static size_t
make_body(struct mutator *m, uint16_t op, unsigned char *body)
{
    size_t size = below(m, 20) == 0 ? below(m, BODY_MOST) : request_size(op);
    granary_id id = live_id(1 + below(m, 8));

    for (size_t at = 0; at + 8 <= BODY_MOST; at += 8) {
        uint64_t value = number(m);

        memcpy(body + at, &value, sizeof value);
    }
    if (below(m, 4) != 0) {
        memcpy(body, id.bytes, sizeof id.bytes);
    }
    if (op == GR_STORE_ROOM) {
        struct gr_room room = {.min_bytes = number(m) % (4 * MIB), .want_bytes = number(m) % (4 * MIB)};

        room.timeout_ms = (int64_t)below(m, 3);
        memcpy(body, &room, sizeof room);
    }
    if (op == GR_STORE_HELLO && below(m, 4) != 0) {
        struct gr_hello hello = {.version = GR_STORE_VERSION, .shm_version = GR_SHM_VERSION, .tag = "mutant"};

        hello.resume = below(m, 4) == 0 ? (uint32_t)below(m, 64) : 0;
        memcpy(body, &hello, sizeof hello);
    }
    if (op >= GR_STORE_SESSION_CREATE && op <= GR_STORE_SESSION_LIST) {
        struct gr_session_request request = {.flags = (uint32_t)number(m), .quota_bytes = number(m), .idle_ms = 1};

        (void)snprintf(request.name, sizeof request.name, "m%u", (unsigned)below(m, 4));
        memcpy(body, &request, sizeof request);
    }
    return size;
}

static void
send_bytes(int fd, const void *bytes, size_t size, int passed)
{
    char space[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (passed >= 0) {
        struct cmsghdr *control;

        message.msg_control = space;
        message.msg_controllen = sizeof space;
        control = CMSG_FIRSTHDR(&message);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(control), &passed, sizeof passed);
    }
    (void)!sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
send_mutant(struct mutator *m, int fd, uint16_t op, int passed)
{
    unsigned char bytes[sizeof(struct gr_frame) + BODY_MOST];
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = op, .seq = (uint32_t)draw(m)};
    size_t size = make_body(m, op, bytes + sizeof head);

    head.size = (uint32_t)size;
    size += sizeof head;
    memcpy(bytes, &head, sizeof head);
    switch (below(m, 8)) {
    case 0: /* flipped */
        for (uint64_t flips = 1 + below(m, 8); flips > 0; flips--) {
            bytes[below(m, size)] ^= (unsigned char)(1u << below(m, 8));
        }
        break;
    case 1: /* cut: what comes next is read as its rest */
        size = below(m, size) + 1;
        break;
    case 2: /* a size that is not so */
        head.size = (uint32_t)number(m);
        memcpy(bytes, &head, sizeof head);
        break;
    default:
        break;
    }
    send_bytes(fd, bytes, size, below(m, 16) == 0 ? passed : -1);
    m->frames++;
}

/* Noise in the own lease page: hazards, the ring, and everything the store keeps there. */
static void
scribble(struct mutator *m, struct gr_lease_page *page, int doorbell)
{
    const uint64_t one = 1;
    unsigned char *bytes = (unsigned char *)page;

    switch (below(m, 3)) {
    case 0:
        for (int i = 0; i < 2000; i++) {
            bytes[below(m, sizeof *page)] = (unsigned char)draw(m);
        }
        break;
    case 1: /* entries that look like entries */
        for (size_t i = 0; i < GR_RING_ENTRIES; i++) {
            struct gr_ring_entry *entry = &page->ring[i];
            granary_id id = live_id(1 + below(m, 8));

            entry->op = (uint8_t)below(m, 6);
            entry->flags = (uint8_t)draw(m);
            entry->importance = (uint8_t)draw(m);
            memcpy(entry->id, id.bytes, sizeof entry->id);
            entry->segment = (uint32_t)below(m, 40);
            entry->meta_size = (uint32_t)number(m);
            entry->offset = number(m);
            entry->data_size = number(m);
        }
        atomic_store(&page->ring_head, atomic_load(&page->ring_tail) + below(m, GR_RING_ENTRIES + 2));
        break;
    default:
        atomic_store(&page->ring_head, number(m));
        break;
    }
    (void)!write(doorbell, &one, sizeof one);
}

static int
open_connection(const struct live *live)
{
    granary_err err;
    int fd = gr_unix_connect(live->paths.store_socket, &err);

    assert_true(fd >= 0);
    return fd;
}

/* Greet as one should, and get the lease page. False: refused, for there are too many clients just now. */
static bool
greet(int fd, struct gr_lease_page **ret_page, int *ret_doorbell)
{
    struct gr_hello hello = {.version = GR_STORE_VERSION, .shm_version = GR_SHM_VERSION, .tag = "mutant"};
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = GR_STORE_HELLO, .size = sizeof hello};
    struct gr_frame_reader *reader = gr_frame_reader_create(true);
    struct gr_frame_in frame = {.fd_count = 0};
    void *page = MAP_FAILED;

    if (gr_frame_send(fd, &head, &hello, NULL, 0) == GRANARY_OK &&
        gr_frame_receive(reader, fd, gr_deadline_ns(TIMEOUT_MS), &frame) == GRANARY_OK && frame.fd_count == 3) {
        page = mmap(NULL, sizeof **ret_page, PROT_READ | PROT_WRITE, MAP_SHARED, frame.fds[1], 0);
        *ret_doorbell = frame.fds[2];
        frame.fds[2] = -1;
    }
    gr_frame_in_reset(&frame);
    gr_frame_reader_destroy(reader);
    *ret_page = page;
    return page != MAP_FAILED;
}

static void
read_answers(int fd)
{
    char bytes[8192];

    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) { /* descriptors that come along are dropped */
    }
}

static void
one_connection(struct mutator *m, const struct live *live, int passed)
{
    struct gr_lease_page *page = NULL;
    int fd = open_connection(live);
    int doorbell = -1;

    if (below(m, 4) != 0 && !greet(fd, &page, &doorbell)) {
        page = NULL;
    }
    for (uint64_t frames = 1 + below(m, 24); frames > 0; frames--) {
        send_mutant(m, fd, (uint16_t)below(m, LAST_OP), passed);
        if (below(m, 3) == 0) {
            read_answers(fd);
        }
        if (page != NULL && below(m, 12) == 0) {
            scribble(m, page, doorbell);
        }
    }
    if (page != NULL) {
        (void)munmap(page, sizeof *page);
    }
    gr_fd_close(&doorbell);
    gr_fd_close(&fd);
}

static void
check_honest(const struct live *live, granary_client *client, uint64_t round)
{
    granary_store_stat stat;

    (void)live;
    for (uint64_t n = 1; n <= 8; n++) { /* mutants may have deleted them: they are of the same session */
        if (!granary_object_contains(client, live_id(n))) {
            granary_err err = live_put(client, n, 1000 + n);

            assert_true(err == GRANARY_OK || err == GRANARY_EEXIST);
        }
    }
    assert_int_equal(live_put(client, 1000000 + round, 5000), GRANARY_OK);
    assert_int_equal(live_verify(client, 1000000 + round, 5000), GRANARY_OK);
    assert_int_equal(granary_object_delete(client, live_id(1000000 + round), 0), GRANARY_OK);
    assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
    assert_int_equal(stat.free_bytes + stat.reserved_bytes + stat.writing_bytes + stat.sealed_bytes +
                         stat.retiring_bytes + stat.pooled_bytes,
                     stat.capacity_bytes);
}

static uint64_t
setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void
mutants_harm_nobody(void **state)
{
    struct mutator m = {.random = setting("GRANARY_SEED", 1) * 0x9e3779b97f4a7c15ull | 1};
    uint64_t most = setting("GRANARY_MUTANTS", FRAMES_CI);
    granary_client *client;
    struct live live;
    int passed = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    live_init(&live);
    live_start(&live, 64 * MIB, 0);
    client = live_connect(&live, "");
    for (uint64_t round = 0; m.frames < most; round++) {
        one_connection(&m, &live, passed);
        if (round % 64 == 0) {
            check_honest(&live, client, round);
        }
    }
    check_honest(&live, client, UINT32_MAX);
    granary_disconnect(client);
    gr_fd_close(&passed);
    live_stop(&live); /* audits the account */
    live_fini(&live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutants_harm_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
