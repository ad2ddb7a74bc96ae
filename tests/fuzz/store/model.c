#include "store/model.h"

#include <string.h>

#include "store/world.h"

struct model model;

struct model_session *
model_session_of(unsigned client)
{
    return &model.sessions[client == CLIENTS - 1 ? 1 : 0];
}

granary_id
model_id(unsigned n)
{
    granary_id id = {{0}};

    id.bytes[0] = (unsigned char)(n + 1);
    id.bytes[8] = (unsigned char)(n * 37);
    return id;
}

granary_id
model_alias_id(unsigned n)
{
    granary_id id = model_id(100 + n);

    return id;
}

static unsigned
keepers(const struct model_session *session, unsigned n)
{
    const struct thing *thing = &session->things[n];
    unsigned count = thing->containers;

    for (unsigned i = 0; i < OWNERS; i++) {
        count += thing->owners[i];
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        count += thing->clients[i];
    }
    for (unsigned i = 0; i < NAMES; i++) {
        count += session->names[i] == n + 1;
    }
    return count;
}

static bool
is_leased(const struct model_session *session, unsigned n)
{
    for (unsigned i = 0; i < HELD; i++) {
        if (model.held[i].taken && !model.held[i].buffer && model.held[i].id == n &&
            model_session_of(model.held[i].client) == session) {
            return true;
        }
    }
    return false;
}

void
model_settle(struct model_session *session, unsigned n, bool late)
{
    struct thing *thing = &session->things[n];
    struct thing before = *thing;

    if (!thing->there || !thing->dropped || keepers(session, n) != 0) {
        return;
    }
    if (late) {
        thing->maybe = true;
        late = true;
    } else {
        late = is_leased(session, n);
        *thing = (struct thing){.there = false};
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        if (before.children[i] != 0) {
            struct thing *child = &session->things[before.children[i] - 1];

            child->containers -= child->containers > 0;
            thing->children[i] = 0;
            model_settle(session, before.children[i] - 1, late);
        }
    }
}

void
model_fill(void *bytes, size_t size, unsigned seed)
{
    unsigned char *at = bytes;

    if (size > 0) {
        memset(at, (int)(seed & 0xff), size);
    }
    for (size_t i = 0; i + 4 <= size; i += 512) {
        uint32_t word = seed * 2654435761u + (uint32_t)i;

        memcpy(at + i, &word, sizeof word);
    }
}

static void
compare(const void *bytes, size_t size, unsigned seed, const char *what)
{
    static unsigned char want[1 << 20];

    model_fill(want, size, seed);
    MUST(memcmp(bytes, want, size) == 0, "%s of %zu bytes, seed %u", what, size, seed);
}

void
model_check_view(const struct held *h)
{
    MUST(h->view.data_size == h->what.data_size && h->view.meta_size == h->what.meta_size, "the sizes of object %u",
         h->id);
    compare(h->view.data, h->view.data_size, h->what.seed, "leased data");
    if (h->view.meta_size > 0) {
        compare(h->view.meta, h->view.meta_size, h->what.seed + 1, "leased metadata");
    }
}

void
model_check_views(void)
{
    for (unsigned i = 0; i < HELD; i++) {
        if (model.held[i].taken && !model.held[i].buffer) {
            model_check_view(&model.held[i]);
        }
    }
}

void
model_connect(unsigned n)
{
    granary_connect_options options = {
        .instance = world.instance, .session = model_session_of(n)->name, .tag = "model", .timeout_ms = PATIENT_MS};

    MUST(granary_connect(&options, &model.clients[n]) == GRANARY_OK, "client %u", n);
}

void
model_disconnect(unsigned n)
{
    struct model_session *session = model_session_of(n);

    for (unsigned i = 0; i < HELD; i++) {
        if (model.held[i].taken && model.held[i].client == n) {
            if (!model.held[i].buffer) {
                model_check_view(&model.held[i]);
            }
            model.held[i].taken = false;
        }
    }
    granary_disconnect(model.clients[n]);
    model.clients[n] = NULL;
    for (unsigned id = 0; id < IDS; id++) {
        session->things[id].pins[n] = 0;
        session->things[id].clients[n] = 0;
    }
    (void)world_turn(); /* the store hears of it */
    (void)world_turn();
    for (unsigned id = 0; id < IDS; id++) {
        model_settle(session, id, false);
    }
}

struct held *
model_free_place(void)
{
    for (unsigned i = 0; i < HELD; i++) {
        if (!model.held[i].taken) {
            return &model.held[i];
        }
    }
    return NULL;
}

struct held *
model_some_held(unsigned nth, bool buffer)
{
    for (unsigned i = 0; i < HELD; i++) {
        struct held *h = &model.held[(nth + i) % HELD];

        if (h->taken && h->buffer == buffer) {
            return h;
        }
    }
    return NULL;
}

bool
model_is_full(granary_err err)
{
    return err == GRANARY_EFULL || err == GRANARY_ETIMEDOUT;
}

void
model_check_got(const struct thing *thing, unsigned id, granary_err err)
{
    if (err == GRANARY_OK) {
        MUST(thing->there, "object %u is not there", id);
    } else {
        MUST(model_is_full(err) ? thing->there : err == GRANARY_ENOENT && (!thing->there || thing->maybe), "get %u: %d",
             id, (int)err);
    }
}
