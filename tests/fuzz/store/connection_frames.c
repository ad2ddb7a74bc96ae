/* Requests as no library would send them. */
#include <stdio.h>

#include "store/connection.h"
#include "support/store_requests.h"

#define BODY_MOST 4096u

struct frame {
    struct gr_frame head;
    unsigned char body[BODY_MOST];
};

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

    hostile_put_id(input, name.id);
    hostile_put_id(input, name.expected);
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

    hostile_put_id(input, hold.id);
    (void)snprintf(hold.text, sizeof hold.text, "o%u", input_byte(input) % 4u);
    memcpy(body, &hold, sizeof hold);
    return sizeof hold;
}

static size_t
build_contain(struct input *input, unsigned char *body)
{
    struct gr_contain contain = {.count = input_byte(input) % 8u, .first = input_byte(input) % 8u};
    size_t size = sizeof contain;

    hostile_put_id(input, contain.parent);
    memcpy(body, &contain, sizeof contain);
    for (unsigned i = 0; i < contain.count; i++, size += 16) {
        hostile_put_id(input, body + size);
    }
    return size;
}

/* Of any other request: numbers one after the other, behind an id where one belongs. */
static size_t
build_plain(struct input *input, uint16_t op, unsigned char *body)
{
    size_t size = request_size(op);
    size_t at = 0;

    if (size >= 16 && op != GR_STORE_ROOM && op != GR_STORE_DEAD) {
        hostile_put_id(input, body);
        at = 16;
        if (op == GR_STORE_ALIAS) {
            hostile_put_id(input, body + 16);
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

void
connection_send_frame(struct input *input, struct connection *c, uint16_t op, bool whole)
{
    struct frame frame = {.head = {.magic = GR_STORE_MAGIC, .op = op, .seq = 7}};
    size_t size = op < REQUESTS_BELOW ? build_body(input, op, frame.body) : 0;

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

void
connection_send_body(struct input *input, struct connection *c)
{
    struct frame frame = {.head = {.magic = GR_STORE_MAGIC, .op = input_byte(input) % (REQUESTS_BELOW + 2)}};
    size_t most = request_size(frame.head.op);

    most = most > 0 ? most : input_byte(input);

    (void)input_bytes(input, frame.body, most);
    frame.head.size = (uint32_t)most;
    connection_send(c, &frame, sizeof frame.head + most);
}

void
connection_send_raw(struct input *input, struct connection *c)
{
    unsigned char bytes[256];
    size_t size = input_bytes(input, bytes, input_byte(input));

    connection_send(c, bytes, size);
}
