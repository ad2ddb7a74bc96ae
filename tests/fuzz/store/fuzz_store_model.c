/*
 * The whole store, used by several clients of two sessions as an input says, against a simple model of what must be
 * there: create, seal, abort, get, release, delete, pins, references, names, containers, aliases, moves between levels,
 * ranges, clients that leave, sessions that are deleted, jobs that are late, and stores that die and are followed by
 * others. One process, one thread, its own time: see store/world.h.
 *
 *   what is there can be got, and is what was sealed      what is not there cannot
 *   leased bytes never change                             pinned objects are in memory
 *   the account adds up after each step                   at the end nothing is left
 */
#include <stdio.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "granary/hold.h"
#include "granary/session.h"
#include "model.h"
#include "store/object/session.h"
#include "world.h"

#define MEMORY     ((uint64_t)2 << 20)
#define LIVES      256u
#define STEPS_MOST 120u

static unsigned lives, generation;

static void
begin(void)
{
    if (lives++ % LIVES == 0) {
        if (world.store != NULL) {
            world_close();
        }
        world_open(MEMORY, GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK | GRANARY_LEVEL_REMOTE);
    }
    generation++;
    memset(&model, 0, sizeof model);
    for (unsigned i = 0; i < SESSIONS; i++) {
        (void)snprintf(model.sessions[i].name, sizeof model.sessions[i].name, "m%u-%u", generation, i);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        model_connect(i);
    }
}

/* With nothing leased, pinned or being built, everything that is there can be got; then it goes. */
static void
end(void)
{
    world_hold_jobs(false);
    for (unsigned c = 1; c < CLIENTS; c++) {
        model_disconnect(c);
        model_connect(c);
    }
    model_disconnect(0);
    model_connect(0);
    for (unsigned i = 0; i < SESSIONS; i++) {
        unsigned c = i == 0 ? 0 : CLIENTS - 1;

        for (unsigned id = 0; id < IDS; id++) {
            struct thing *thing = &model.sessions[i].things[id];

            for (; thing->session_pins > 0 && !thing->maybe; thing->session_pins--) {
                MUST(granary_object_unpin(model.clients[c], model_id(id), GRANARY_PIN_SESSION) == GRANARY_OK,
                     "unpin %u", id);
            }
        }
    }
    for (unsigned i = 0; i < SESSIONS * IDS; i++) {
        const struct thing *thing = &model.sessions[i / IDS].things[i % IDS];
        unsigned c = i / IDS == 0 ? 0 : CLIENTS - 1;
        struct held h = {.client = c, .id = i % IDS, .what = *thing};
        granary_err err = granary_object_get(model.clients[c], model_id(h.id), 0, &h.view);

        MUST((err == GRANARY_OK) == thing->there || thing->maybe, "object %u is there in the end: %d", h.id, (int)err);
        if (err == GRANARY_OK) {
            model_check_view(&h);
            granary_object_release(model.clients[c], &h.view);
        }
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        granary_disconnect(model.clients[i]);
    }
    world_settle();
    world_audit("everybody left");
}

static void
delete_all(void)
{
    granary_connect_options options = {.instance = world.instance, .session = "janitor", .timeout_ms = PATIENT_MS};
    granary_client *janitor;

    MUST(granary_connect(&options, &janitor) == GRANARY_OK, "a janitor");
    for (unsigned i = 0; i < SESSIONS; i++) {
        MUST(granary_session_delete(janitor, model.sessions[i].name, false) == GRANARY_OK, "session %u goes", i);
    }
    granary_disconnect(janitor);
    world_settle();
    world_audit("the sessions went");
    MUST(world.store->sessions.count == 1 && world.store->clients.count == 0, "nobody is left");
    MUST(world.store->account.bytes[GR_ACCOUNT_OBJECTS] == 0 &&
             world.store->account.bytes[GR_ACCOUNT_FREE] == world.store->account.bytes[GR_ACCOUNT_CAPACITY],
         "nothing is left");
    MUST(world.store->account.bytes[GR_ACCOUNT_DISK] == 0 && world.store->account.bytes[GR_ACCOUNT_REMOTE] == 0,
         "no file is left");
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input input = {bytes, size};

    world_enter();
    begin();
    for (unsigned steps = 0; input.left > 0 && steps < STEPS_MOST; steps++) {
        model_step(&input);
        world_audit("a step");
    }
    model_check_views();
    end();
    delete_all();
    world_leave();
    return 0;
}
