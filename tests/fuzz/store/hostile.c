#include "hostile.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/client/teardown.h"
#include "store/connection.h"
#include "store/leaks.h"
#include "store/object/session.h"
#include "store/world.h"
#include "support/store_requests.h"

#define MEMORY      ((uint64_t)4 << 20)
#define LIVES       512u /* inputs before a fresh store is made */
#define CONNECTIONS 4u
#define KEPT        4u
#define STEPS_MOST  200u

static struct connection connections[CONNECTIONS];
static granary_client *honest;
static unsigned lives;
static unsigned descriptors;

/* ---- the honest client ---- */

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

    MUST(granary_object_create(honest, hostile_id(n), kept_size(n), 0, 5000, &buffer) == GRANARY_OK, "room for %llu",
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
        granary_err err = granary_object_get(honest, hostile_id(n), surely ? 60000 : 0, &view);

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

    world_open(MEMORY, 0);
    /* A name that no input can have learnt from comparisons. */
    (void)snprintf(name, sizeof name, "h%llx", (unsigned long long)random() << 16 ^ (unsigned long long)random());
    options.session = name;
    options.instance = world.instance;
    MUST(granary_connect(&options, &honest) == GRANARY_OK, "an honest client");
    leaks_watch(honest);
    for (uint64_t n = 0; n < KEPT; n++) {
        honest_put(n);
    }
    world_settle();
    descriptors = world_descriptors();
}

static void
close_world(void)
{
    leaks_forget(honest);
    granary_disconnect(honest);
    world_settle();
    world_close();
    honest = NULL;
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
        connection_use_page(input, c, what & 7);
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
        connection_send_raw(input, c);
        break;
    case STEP_FRAME:
        connection_send_frame(input, c, (uint16_t)(input_byte(input) % (REQUESTS_BELOW + 1)), true);
        breathe(c);
        break;
    case STEP_DAMAGED:
        connection_send_frame(input, c, (uint16_t)(input_byte(input) % (REQUESTS_BELOW + 1)), false);
        break;
    case STEP_BODY:
        connection_send_body(input, c);
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
        connection_send_frame(input, c, GR_STORE_HELLO, true);
        (void)world_turn(); /* accepts */
        breathe(c);
        break;
    case STEP_ROOM:
        connection_send_frame(input, c, GR_STORE_ROOM, true);
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
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        connection_close(&connections[i]);
    }
    world_settle();
    world_audit("everybody left");
    list_each (struct session, session, &world.store->sessions.all, in_store) {
        if (session->client_count == 0) {
            session_delete(session);
        }
    }
    world_settle();
    world_audit("their sessions went");
    honest_look(true);
    MUST(world.store->sessions.count == 1 && world.store->clients.count == 1, "only the honest client is left");
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
