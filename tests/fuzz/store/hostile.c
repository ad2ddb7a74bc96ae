#include "hostile.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/session.h"
#include "store/teardown.h"
#include "wire/frame.h"
#include "world.h"

#define MEMORY      ((uint64_t)4 << 20)
#define LIVES       512u /* inputs before a fresh store is made */
#define CONNECTIONS 4u
#define ROOMS       4u
#define KEPT        4u
#define BODY_MOST   4096u
#define STEPS_MOST  200u

struct room {
    uint32_t segment;
    uint64_t size;
    int fd;
};

struct connection {
    int fd; /* -1: none */
    int doorbell;
    struct gr_frame_reader *reader;
    struct gr_lease_page *page; /* NULL before HELLO */
    uint64_t head;
    struct room rooms[ROOMS];
    unsigned passing; /* descriptors that go with the next bytes */
};

static struct connection connections[CONNECTIONS];
static granary_client *honest;
static unsigned lives;
static unsigned descriptors;
static int passed = -1;

/* ---- the honest client ---- */

static granary_id
id_of(uint64_t n)
{
    granary_id id = {{0}};

    memcpy(id.bytes, &n, sizeof n);
    id.bytes[15] = 1;
    return id;
}

static void
fill(unsigned char *bytes, size_t size, uint64_t n)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(n * 31 + i * 7 + (i >> 8));
    }
}

static size_t
kept_size(uint64_t n)
{
    return 100 + n * 30000;
}

static void
honest_put(uint64_t n)
{
    granary_buffer buffer;

    MUST(granary_object_create(honest, id_of(n), kept_size(n), 0, 5000, &buffer) == GRANARY_OK, "room for %llu",
         (unsigned long long)n);
    fill(buffer.data, kept_size(n), n);
    MUST(granary_object_seal(honest, &buffer) == GRANARY_OK, "a seal of %llu", (unsigned long long)n);
}

/* What it put is there, or cannot come back while others hold all memory; never is it something else. */
static void
honest_look(bool surely)
{
    for (uint64_t n = 0; n < KEPT; n++) {
        static unsigned char want[100 + KEPT * 30000];
        granary_view view;
        granary_err err = granary_object_get(honest, id_of(n), surely ? 60000 : 0, &view);

        if (err != GRANARY_OK) {
            MUST(!surely && (err == GRANARY_EFULL || err == GRANARY_ETIMEDOUT), "object %llu is there: %d",
                 (unsigned long long)n, (int)err);
            continue;
        }
        fill(want, kept_size(n), n);
        MUST(view.data_size == kept_size(n) && memcmp(view.data, want, kept_size(n)) == 0, "the bytes of object %llu",
             (unsigned long long)n);
        granary_object_release(honest, &view);
    }
}

static void
open_world(void)
{
    granary_connect_options options = {.session = "honest", .tag = "honest"};
    char name[32];

    if (passed < 0) {
        passed = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    world_open(MEMORY, 0);
    /* A name that no input can have learnt from comparisons. */
    (void)snprintf(name, sizeof name, "h%llx", (unsigned long long)random() << 16 ^ (unsigned long long)random());
    options.session = name;
    options.instance = world.instance;
    MUST(granary_connect(&options, &honest) == GRANARY_OK, "an honest client");
    for (uint64_t n = 0; n < KEPT; n++) {
        honest_put(n);
    }
    world_settle();
    descriptors = world_descriptors();
}

static void
close_world(void)
{
    granary_disconnect(honest);
    world_settle();
    world_close();
    honest = NULL;
}

/* ---- connections ---- */

static void
connection_close(struct connection *c)
{
    if (c->page != NULL) {
        (void)munmap(c->page, sizeof *c->page);
    }
    for (unsigned i = 0; i < ROOMS; i++) {
        if (c->rooms[i].segment != 0) {
            gr_fd_close(&c->rooms[i].fd);
        }
    }
    gr_frame_reader_destroy(c->reader);
    gr_fd_close(&c->doorbell);
    gr_fd_close(&c->fd);
    *c = (struct connection){.fd = -1, .doorbell = -1};
}

static void
connection_open(struct connection *c)
{
    granary_err err;

    if (c->fd >= 0) {
        return;
    }
    *c = (struct connection){.fd = gr_unix_connect(world.paths.store_socket, &err), .doorbell = -1};
    MUST(c->fd >= 0, "a connection");
    (void)fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->reader = gr_frame_reader_create(true);
}

static void
take_hello(struct connection *c, struct gr_frame_in *frame)
{
    void *page;

    if (frame->fd_count != 3 || c->page != NULL) {
        return;
    }
    page = mmap(NULL, sizeof *c->page, PROT_READ | PROT_WRITE, MAP_SHARED, frame->fds[1], 0);
    MUST(page != MAP_FAILED, "a lease page");
    c->page = page;
    c->head = atomic_load(&c->page->ring_tail);
    gr_fd_close(&c->doorbell);
    c->doorbell = frame->fds[2];
    frame->fds[2] = -1;
}

static void
take_room(struct connection *c, struct gr_frame_in *frame)
{
    struct gr_room_reply reply;

    if (frame->fd_count != 1 || frame->head.size != sizeof reply) {
        return;
    }
    memcpy(&reply, frame->body, sizeof reply);
    for (unsigned i = 0; i < ROOMS; i++) {
        if (c->rooms[i].segment == 0) {
            c->rooms[i] = (struct room){reply.segment, reply.size_bytes, frame->fds[0]};
            frame->fds[0] = -1;
            return;
        }
    }
}

/* Everything that was answered. */
static void
connection_read(struct connection *c)
{
    struct gr_frame_in frame;
    granary_err err;

    for (unsigned i = 0; c->fd >= 0 && i < 64; i++) {
        granary_err filled = gr_frame_reader_fill(c->reader, c->fd);
        bool any = false;

        while (gr_frame_reader_next(c->reader, &frame, &err)) {
            any = true;
            if (frame.head.err == 0 && frame.head.op == GR_STORE_HELLO) {
                take_hello(c, &frame);
            } else if (frame.head.err == 0 && frame.head.op == GR_STORE_ROOM) {
                take_room(c, &frame);
            }
            gr_frame_in_reset(&frame);
        }
        MUST(err == GRANARY_OK, "what the store sends are frames");
        if (filled != GRANARY_OK) {
            connection_close(c); /* dropped */
            return;
        }
        if (!any) {
            return;
        }
    }
}

static void
connection_send(struct connection *c, const void *bytes, size_t size)
{
    char space[CMSG_SPACE(sizeof(int) * 8)] = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (c->fd < 0 || size == 0) {
        return;
    }
    if (c->passing > 0) {
        struct cmsghdr *control;

        message.msg_control = space;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * c->passing);
        control = CMSG_FIRSTHDR(&message);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int) * c->passing);
        for (unsigned i = 0; i < c->passing; i++) {
            memcpy(CMSG_DATA(control) + i * sizeof passed, &passed, sizeof passed);
        }
        c->passing = 0;
    }
    (void)!sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- frames ---- */

static const uint32_t body_sizes[] = {
    [0] = 0,
    [GR_STORE_HELLO] = sizeof(struct gr_hello),
    [GR_STORE_ROOM] = sizeof(struct gr_room),
    [GR_STORE_MAP] = sizeof(struct gr_map),
    [GR_STORE_RESTORE] = sizeof(struct gr_object_ref),
    [GR_STORE_LEASE] = sizeof(struct gr_object_ref),
    [GR_STORE_UNLEASE] = sizeof(struct gr_object_ref),
    [GR_STORE_PIN] = sizeof(struct gr_hold),
    [GR_STORE_UNPIN] = sizeof(struct gr_hold),
    [GR_STORE_DEAD] = 16,
    [GR_STORE_PING] = 0,
    [GR_STORE_SESSION_CREATE] = sizeof(struct gr_session_request),
    [GR_STORE_SESSION_HAS] = sizeof(struct gr_session_request),
    [GR_STORE_SESSION_DELETE] = sizeof(struct gr_session_request),
    [GR_STORE_SESSION_LIST] = sizeof(struct gr_session_request),
    [GR_STORE_REF] = sizeof(struct gr_hold),
    [GR_STORE_UNREF] = sizeof(struct gr_hold),
    [GR_STORE_CONTAIN] = sizeof(struct gr_contain) + 32,
    [GR_STORE_ALIAS] = sizeof(struct gr_alias),
    [GR_STORE_NAME_SET] = sizeof(struct gr_name),
    [GR_STORE_NAME_GET] = sizeof(struct gr_name),
    [GR_STORE_NAME_LIST] = sizeof(struct gr_name),
    [GR_STORE_MOVE] = sizeof(struct gr_move),
    [GR_STORE_SLICE] = sizeof(struct gr_slice),
    [GR_STORE_HINT] = sizeof(struct gr_hint),
    [GR_STORE_HOLDS] = sizeof(struct gr_holds),
};
#define OPS (sizeof body_sizes / sizeof body_sizes[0])

struct frame {
    struct gr_frame head;
    unsigned char body[BODY_MOST];
};

/* What begins with an id: mostly one of few, so that requests meet. */
static void
put_id(struct input *input, void *to)
{
    granary_id id = id_of(1 + input_byte(input) % 8);

    memcpy(to, id.bytes, sizeof id.bytes);
}

static size_t
build_hello(struct input *input, unsigned char *body)
{
    struct gr_hello hello = {.version = GR_STORE_VERSION, .shm_version = GR_SHM_VERSION, .tag = "hostile"};
    uint8_t which = input_byte(input);

    (void)snprintf(hello.session, sizeof hello.session, "e%u", which % 3u);
    hello.flags = which >> 6;
    hello.resume = which % 16 == 15 ? (uint32_t)input_number(input) : 0;
    memcpy(body, &hello, sizeof hello);
    return sizeof hello;
}

static size_t
build_session(struct input *input, unsigned char *body)
{
    struct gr_session_request request = {.flags = input_byte(input)};

    (void)snprintf(request.name, sizeof request.name, "e%u", input_byte(input) % 3u);
    request.quota_bytes = input_number(input);
    request.idle_ms = input_number(input);
    memcpy(body, &request, sizeof request);
    return sizeof request;
}

static size_t
build_name(struct input *input, unsigned char *body)
{
    struct gr_name name = {.request = input_byte(input), .expect = input_byte(input) % 4u};

    put_id(input, name.id);
    put_id(input, name.expected);
    if (name.request % 8 == 7) {
        memset(name.id, 0, sizeof name.id);
    }
    (void)snprintf(name.name, sizeof name.name, "n%u", input_byte(input) % 4u);
    memcpy(body, &name, sizeof name);
    return sizeof name;
}

static size_t
build_hold(struct input *input, unsigned char *body)
{
    struct gr_hold hold = {.token = input_number(input), .request = input_byte(input), .scope = input_byte(input) % 4u};

    put_id(input, hold.id);
    (void)snprintf(hold.text, sizeof hold.text, "o%u", input_byte(input) % 4u);
    memcpy(body, &hold, sizeof hold);
    return sizeof hold;
}

static size_t
build_contain(struct input *input, unsigned char *body)
{
    struct gr_contain contain = {.count = input_byte(input) % 8u, .first = input_byte(input) % 8u};
    size_t size = sizeof contain;

    put_id(input, contain.parent);
    memcpy(body, &contain, sizeof contain);
    for (unsigned i = 0; i < contain.count; i++, size += 16) {
        put_id(input, body + size);
    }
    return size;
}

/* Of any other request: numbers one after the other, behind an id where one belongs. */
static size_t
build_plain(struct input *input, uint16_t op, unsigned char *body)
{
    size_t size = body_sizes[op];
    size_t at = 0;

    if (size >= 16 && op != GR_STORE_ROOM && op != GR_STORE_DEAD) {
        put_id(input, body);
        at = 16;
        if (op == GR_STORE_ALIAS) {
            put_id(input, body + 16);
            at = 32;
        }
    }
    while (at < size) {
        uint64_t number = input_number(input);
        /* Sizes and offsets take eight bytes, kinds and numbers four. */
        size_t width = op == GR_STORE_MAP || op == GR_STORE_DEAD || op == GR_STORE_HINT || size - at < 8 ? 4 : 8;

        memcpy(body + at, &number, width);
        at += width;
    }
    if (op == GR_STORE_ROOM) {
        struct gr_room room;

        memcpy(&room, body, sizeof room);
        room.timeout_ms = room.timeout_ms % 1000; /* nobody waits for ever here */
        memcpy(body, &room, sizeof room);
    }
    return size;
}

static size_t
build_body(struct input *input, uint16_t op, unsigned char *body)
{
    switch (op) {
    case GR_STORE_HELLO:
        return build_hello(input, body);
    case GR_STORE_SESSION_CREATE:
    case GR_STORE_SESSION_HAS:
    case GR_STORE_SESSION_DELETE:
    case GR_STORE_SESSION_LIST:
        return build_session(input, body);
    case GR_STORE_NAME_SET:
    case GR_STORE_NAME_GET:
    case GR_STORE_NAME_LIST:
        return build_name(input, body);
    case GR_STORE_PIN:
    case GR_STORE_UNPIN:
    case GR_STORE_REF:
    case GR_STORE_UNREF:
        return build_hold(input, body);
    case GR_STORE_CONTAIN:
        return build_contain(input, body);
    default:
        return build_plain(input, op, body);
    }
}

static void
send_frame(struct input *input, struct connection *c, uint16_t op, bool whole)
{
    struct frame frame = {.head = {.magic = GR_STORE_MAGIC, .op = op, .seq = 7}};
    size_t size = op < OPS ? build_body(input, op, frame.body) : 0;

    frame.head.size = (uint32_t)size;
    size += sizeof frame.head;
    if (!whole) { /* cut, or with other bytes somewhere, or a size that is not so */
        uint8_t how = input_byte(input);

        if (how < 64) {
            size = 1 + input_byte(input) % size;
        } else if (how < 96) {
            frame.head.size = (uint32_t)input_number(input);
        } else {
            size_t at = input_number(input) % size;

            ((unsigned char *)&frame)[at] = input_byte(input);
        }
    }
    connection_send(c, &frame, size);
}

/* Bytes of the input as frames: only magic and size are put right. */
static void
send_body(struct input *input, struct connection *c)
{
    struct frame frame = {.head = {.magic = GR_STORE_MAGIC, .op = input_byte(input) % (OPS + 2)}};
    size_t most = frame.head.op < OPS && body_sizes[frame.head.op] > 0 ? body_sizes[frame.head.op] : input_byte(input);

    (void)input_bytes(input, frame.body, most);
    frame.head.size = (uint32_t)most;
    connection_send(c, &frame, sizeof frame.head + most);
}

static void
send_raw(struct input *input, struct connection *c)
{
    unsigned char bytes[256];
    size_t size = input_bytes(input, bytes, input_byte(input));

    connection_send(c, bytes, size);
}

/* ---- pages ---- */

static void
ring_bell(struct connection *c)
{
    const uint64_t one = 1;

    (void)!write(c->doorbell, &one, sizeof one);
}

static void
push_entry(struct input *input, struct connection *c)
{
    struct gr_ring_entry *entry = &c->page->ring[c->head++ % GR_RING_ENTRIES];
    uint8_t which = input_byte(input);
    const struct room *room = &c->rooms[which >> 4 & 3];

    atomic_store(&entry->status, 0);
    entry->op = (uint8_t)(which % 6);
    entry->flags = (uint8_t)(which >= 192 ? input_byte(input) : 0);
    put_id(input, entry->id);
    entry->segment = which < 248 ? room->segment : (uint32_t)input_number(input);
    entry->offset = input_number(input);
    entry->data_size = input_number(input);
    entry->meta_size = (uint32_t)input_number(input);
    entry->importance = input_byte(input);
    entry->next_use = input_byte(input);
    atomic_store(&c->page->ring_head, c->head);
    if ((which & 64) == 0) {
        ring_bell(c);
    }
}

/* A lease of an object that there may be: serials are small in a young store. */
static void
scribble_hazard(struct input *input, struct connection *c)
{
    uint64_t back = input_byte(input);
    uint64_t serial = world.store->root.serial > back ? world.store->root.serial - back : back;
    uint8_t way = input_byte(input);
    uint64_t hazard = way < 128 ? GR_HAZARD(serial, way >> 3) : input_number(input);

    atomic_store(&c->page->hazard[serial % GR_HAZARD_SETS][way % GR_HAZARD_WAYS], hazard);
}

static void
scribble_anywhere(struct input *input, struct connection *c)
{
    uint64_t at = input_number(input) % (sizeof *c->page - sizeof(uint64_t));
    uint64_t word = input_number(input);

    memcpy((unsigned char *)c->page + at, &word, sizeof word);
}

/* What a writer can do to the file it was given. */
static void
touch_room(struct input *input, struct connection *c)
{
    uint8_t which = input_byte(input);
    const struct room *room = &c->rooms[which & 3];
    uint64_t at = input_number(input);

    if (room->segment == 0) {
        return;
    }
    if (which < 128) {
        (void)!pwrite(room->fd, "granary", 7, (off_t)(at % (room->size + 64)));
    } else if (which < 224) {
        (void)!ftruncate(room->fd, (off_t)(at % (2 * room->size)));
    } else {
        (void)!fallocate(room->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(at % room->size), 65536);
    }
}

static void
use_page(struct input *input, struct connection *c, uint8_t kind)
{
    if (c->page == NULL) {
        return;
    }
    switch (kind) {
    case 0:
    case 1:
    case 2:
        push_entry(input, c);
        break;
    case 3:
        ring_bell(c);
        break;
    case 4:
        scribble_hazard(input, c);
        break;
    case 5:
        scribble_anywhere(input, c);
        break;
    case 6:
        atomic_store(&c->page->ring_head, c->head + input_number(input));
        break;
    default:
        touch_room(input, c);
        break;
    }
}

/* ---- steps ---- */

enum step {
    STEP_OPEN,
    STEP_CLOSE,
    STEP_RAW,
    STEP_FRAME,
    STEP_DAMAGED,
    STEP_BODY,
    STEP_PASS,
    STEP_TURN,
    STEP_READ,
    STEP_HELLO,
    STEP_ROOM,
    STEP_TIME,
    STEP_JOB,
    STEP_LOOK,
    STEPS,
};

/* What mostly comes next: turns, and what was answered. */
static void
breathe(struct connection *c)
{
    (void)world_turn();
    connection_read(c);
}

static void
take_step(struct input *input, bool pages)
{
    uint8_t what = input_byte(input);
    uint8_t which = input_byte(input);
    struct connection *c = &connections[which % CONNECTIONS];

    if (pages && what >= 128) {
        use_page(input, c, what & 7);
        if ((what & 8) != 0) {
            breathe(c);
        }
        return;
    }
    switch ((enum step)(what % STEPS)) {
    case STEP_OPEN:
        connection_open(c);
        break;
    case STEP_CLOSE:
        connection_close(c);
        break;
    case STEP_RAW:
        send_raw(input, c);
        break;
    case STEP_FRAME:
        send_frame(input, c, (uint16_t)(input_byte(input) % (OPS + 1)), true);
        breathe(c);
        break;
    case STEP_DAMAGED:
        send_frame(input, c, (uint16_t)(input_byte(input) % (OPS + 1)), false);
        break;
    case STEP_BODY:
        send_body(input, c);
        break;
    case STEP_PASS:
        c->passing = which / CONNECTIONS % 9u;
        break;
    case STEP_TURN:
        (void)world_turn();
        break;
    case STEP_READ:
        connection_read(c);
        break;
    case STEP_HELLO:
        connection_open(c);
        send_frame(input, c, GR_STORE_HELLO, true);
        (void)world_turn(); /* accepts */
        breathe(c);
        break;
    case STEP_ROOM:
        send_frame(input, c, GR_STORE_ROOM, true);
        breathe(c);
        break;
    case STEP_TIME:
        world_pass((int64_t)1000000 << which % 20);
        break;
    case STEP_JOB:
        (void)world_run_job(which);
        break;
    default:
        honest_look(false);
        break;
    }
}

/* Everybody is gone, with all they had; the honest client has what it had. */
static void
end_lives(void)
{
    struct list *node, *next;

    for (unsigned i = 0; i < CONNECTIONS; i++) {
        connection_close(&connections[i]);
    }
    world_settle();
    world_audit("everybody left");
    list_each (node, next, &world.store->sessions) {
        struct session *session = list_owner(node, struct session, in_store);

        if (session->client_count == 0) {
            session_delete(session);
        }
    }
    world_settle();
    world_audit("their sessions went");
    honest_look(true);
    MUST(world.store->session_count == 1 && world.store->client_count == 1, "only the honest client is left");
    MUST(world.store->account.bytes[GR_ACCOUNT_OBJECTS] == KEPT, "only its objects are left");
    MUST(world.store->account.bytes[GR_ACCOUNT_RETIRING] == 0, "nobody leases what is gone");
}

void
hostile_run(struct input *input, bool pages)
{
    world_enter();
    if (honest == NULL) {
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            connections[i] = (struct connection){.fd = -1, .doorbell = -1};
        }
        open_world();
    }
    for (unsigned steps = 0; input->left > 0 && steps < STEPS_MOST; steps++) {
        take_step(input, pages);
        world_audit("a step");
    }
    end_lives();
    if (++lives % LIVES == 0) {
        MUST(world_descriptors() <= descriptors + 64, "descriptors are given back");
        close_world();
    }
    world_leave();
}
