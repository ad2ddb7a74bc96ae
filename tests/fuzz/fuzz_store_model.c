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
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "granary/hold.h"
#include "granary/session.h"
#include "store/input.h"
#include "store/session.h"
#include "store/world.h"

#define MEMORY     ((uint64_t)2 << 20)
#define LIVES      256u
#define SESSIONS   2u
#define CLIENTS    4u
#define IDS        10u /* objects of a session */
#define ALIASES    3u
#define OWNERS     2u
#define NAMES      3u
#define HELD       10u /* views, and buffers */
#define CHILDREN   2u
#define STEPS_MOST 120u
#define PATIENT_MS 60000

struct thing {
    bool there;
    bool maybe;   /* ... or gone: with a container that is deleted and leased */
    bool dropped; /* deleted, but kept */
    uint64_t data_size, meta_size;
    unsigned seed;
    unsigned owners[OWNERS];   /* references by name */
    unsigned clients[CLIENTS]; /* ... that end with a client */
    unsigned containers;
    unsigned children[CHILDREN]; /* id + 1 */
    unsigned session_pins;
    unsigned pins[CLIENTS];
};

struct held {
    unsigned client, id;
    bool buffer;
    bool taken;
    struct thing what; /* when it was leased */
    granary_view view;
    granary_buffer build;
};

struct model_session {
    char name[32];
    struct thing things[IDS];
    unsigned aliases[ALIASES]; /* id + 1 of the target */
    unsigned names[NAMES];     /* id + 1 */
};

static struct model_session sessions[SESSIONS];
static struct held held[HELD];
static granary_client *clients[CLIENTS];
static unsigned lives, seeds, generation;

/* ---- the model ---- */

static struct model_session *
session_of(unsigned client)
{
    return &sessions[client == CLIENTS - 1 ? 1 : 0];
}

static granary_id
id_of(unsigned n)
{
    granary_id id = {{0}};

    id.bytes[0] = (unsigned char)(n + 1);
    id.bytes[8] = (unsigned char)(n * 37);
    return id;
}

static granary_id
alias_id(unsigned n)
{
    granary_id id = id_of(100 + n);

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
        if (held[i].taken && !held[i].buffer && held[i].id == n && session_of(held[i].client) == session) {
            return true;
        }
    }
    return false;
}

/* Something that kept it is gone, or it was deleted. */
static void
settle(struct model_session *session, unsigned n, bool late)
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
            settle(session, before.children[i] - 1, late);
        }
    }
}

static void
fill(void *bytes, size_t size, unsigned seed)
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

    fill(want, size, seed);
    MUST(memcmp(bytes, want, size) == 0, "%s of %zu bytes, seed %u", what, size, seed);
}

static void
check_view(const struct held *h)
{
    MUST(h->view.data_size == h->what.data_size && h->view.meta_size == h->what.meta_size, "the sizes of object %u",
         h->id);
    compare(h->view.data, h->view.data_size, h->what.seed, "leased data");
    if (h->view.meta_size > 0) {
        compare(h->view.meta, h->view.meta_size, h->what.seed + 1, "leased metadata");
    }
}

static void
check_views(void)
{
    for (unsigned i = 0; i < HELD; i++) {
        if (held[i].taken && !held[i].buffer) {
            check_view(&held[i]);
        }
    }
}

/* ---- clients ---- */

static void
connect_client(unsigned n)
{
    granary_connect_options options = {
        .instance = world.instance, .session = session_of(n)->name, .tag = "model", .timeout_ms = PATIENT_MS};

    MUST(granary_connect(&options, &clients[n]) == GRANARY_OK, "client %u", n);
}

/* What ends with a client: buffers, views, pins and references. */
static void
disconnect_client(unsigned n)
{
    struct model_session *session = session_of(n);

    for (unsigned i = 0; i < HELD; i++) {
        if (held[i].taken && held[i].client == n) {
            if (!held[i].buffer) {
                check_view(&held[i]);
            }
            held[i].taken = false;
        }
    }
    granary_disconnect(clients[n]);
    clients[n] = NULL;
    for (unsigned id = 0; id < IDS; id++) {
        session->things[id].pins[n] = 0;
        session->things[id].clients[n] = 0;
    }
    (void)world_turn(); /* the store hears of it */
    (void)world_turn();
    for (unsigned id = 0; id < IDS; id++) {
        settle(session, id, false);
    }
}

static struct held *
free_place(void)
{
    for (unsigned i = 0; i < HELD; i++) {
        if (!held[i].taken) {
            return &held[i];
        }
    }
    return NULL;
}

/* The nth, around, of that kind. */
static struct held *
some_held(unsigned nth, bool buffer)
{
    for (unsigned i = 0; i < HELD; i++) {
        struct held *h = &held[(nth + i) % HELD];

        if (h->taken && h->buffer == buffer) {
            return h;
        }
    }
    return NULL;
}

/* ---- what clients do ---- */

static uint64_t
some_size(uint8_t byte)
{
    static const uint64_t sizes[] = {0, 1, 100, 4096, 20000, 70000, 150000, 300000};

    return sizes[byte % 8] + (byte >> 5);
}

static bool
is_full(granary_err err)
{
    return err == GRANARY_EFULL || err == GRANARY_ETIMEDOUT;
}

static void
do_create(struct input *input, unsigned c, unsigned id)
{
    struct thing *thing = &session_of(c)->things[id];
    struct held *h = free_place();
    uint8_t sizes = input_byte(input);
    granary_err err;

    if (h == NULL) {
        return;
    }
    h->what = (struct thing){.data_size = some_size(sizes), .meta_size = sizes % 3 == 0 ? 200 : 0, .seed = ++seeds};
    err = granary_object_create(clients[c], id_of(id), h->what.data_size, h->what.meta_size, sizes & 16 ? 1000 : 0,
                                &h->build);
    if (err != GRANARY_OK) {
        MUST(is_full(err) || (err == GRANARY_EEXIST && thing->there), "create %u: %d", id, (int)err);
        return;
    }
    MUST(!thing->there || thing->maybe, "object %u is there already", id);
    fill(h->build.data, h->what.data_size, h->what.seed);
    if (h->what.meta_size > 0) {
        fill(h->build.meta, h->what.meta_size, h->what.seed + 1);
    }
    h->client = c;
    h->id = id;
    h->buffer = h->taken = true;
}

static void
became(struct model_session *session, unsigned id, const struct thing *what)
{
    session->things[id] = *what;
    session->things[id].there = true;
}

static void
do_seal(unsigned nth, bool abort)
{
    struct held *h = some_held(nth, true);
    struct model_session *session;
    struct thing *thing;
    granary_err err;

    if (h == NULL) {
        return;
    }
    session = session_of(h->client);
    thing = &session->things[h->id];
    h->taken = false;
    if (abort) {
        granary_object_abort(clients[h->client], &h->build);
        return;
    }
    err = granary_object_seal(clients[h->client], &h->build);
    MUST(err == GRANARY_OK ? !thing->there || thing->maybe : err == GRANARY_EEXIST && thing->there, "seal %u: %d",
         h->id, (int)err);
    if (err == GRANARY_OK) {
        became(session, h->id, &h->what);
    }
}

/* A put in one step: importance, copies on disk, and what it contains. */
static void
do_put(struct input *input, unsigned c, unsigned id)
{
    static unsigned char data[1 << 20], meta[256];
    struct model_session *session = session_of(c);
    struct thing *thing = &session->things[id];
    uint8_t how = input_byte(input);
    struct thing what = {.data_size = some_size(how), .meta_size = how % 5 == 0 ? 77 : 0, .seed = ++seeds};
    granary_object_options options = {.timeout_ms = 1000, .importance = how & 63};
    granary_id children[CHILDREN];
    bool all_there = true;
    granary_err err;

    how = input_byte(input);
    options.next_use = how >> 2 & 7;
    options.persist = (how & 64) != 0 ? GRANARY_LEVEL_DISK : 0;
    for (unsigned i = 0; i < (how & 3) && i < CHILDREN; i++) {
        unsigned child = input_byte(input) % IDS;

        if (child == id || (i > 0 && what.children[0] == child + 1)) {
            break;
        }
        what.children[i] = child + 1;
        children[i] = id_of(child);
        options.contains_count++;
        all_there = all_there && session->things[child].there;
    }
    options.contains = children;
    fill(data, what.data_size, what.seed);
    fill(meta, what.meta_size, what.seed + 1);
    err = granary_object_put_with(clients[c], id_of(id), data, what.data_size, meta, what.meta_size, &options, 0);
    if (err != GRANARY_OK) {
        bool missing = err == GRANARY_ENOENT && options.contains_count > 0;

        for (unsigned i = 0; missing && i < CHILDREN; i++) {
            if (what.children[i] != 0) {
                const struct thing *child = &session->things[what.children[i] - 1];

                all_there = all_there && !child->maybe;
            }
        }
        MUST(is_full(err) || (missing && !all_there) || (err == GRANARY_EEXIST && thing->there), "put %u: %d", id,
             (int)err);
        return;
    }
    MUST((!thing->there || thing->maybe) && all_there, "object %u can be made", id);
    became(session, id, &what);
    for (unsigned i = 0; i < CHILDREN; i++) {
        if (what.children[i] != 0) {
            session->things[what.children[i] - 1].containers++;
            session->things[what.children[i] - 1].maybe = false;
        }
    }
}

/* What was got, or that it was not. */
static void
check_got(const struct thing *thing, unsigned id, granary_err err)
{
    if (err == GRANARY_OK) {
        MUST(thing->there, "object %u is not there", id);
    } else {
        MUST(is_full(err) ? thing->there : err == GRANARY_ENOENT && (!thing->there || thing->maybe), "get %u: %d", id,
             (int)err);
    }
}

static void
do_get(struct input *input, unsigned c, unsigned id)
{
    struct model_session *session = session_of(c);
    struct held *h = free_place();
    uint8_t how = input_byte(input);
    granary_id wanted = id_of(id);
    granary_err err;

    if (h == NULL) {
        return;
    }
    if ((how & 128) != 0) { /* by an alias */
        unsigned alias = how % ALIASES;

        wanted = alias_id(alias);
        if (session->aliases[alias] == 0) {
            MUST(granary_object_get(clients[c], wanted, 0, &h->view) == GRANARY_ENOENT, "alias %u is none", alias);
            return;
        }
        id = session->aliases[alias] - 1;
    }
    h->what = session->things[id];
    err = granary_object_get(clients[c], wanted, 0, &h->view);
    check_got(&h->what, id, err);
    if (err == GRANARY_OK) {
        h->client = c;
        h->id = id;
        h->buffer = false;
        h->taken = true;
        check_view(h);
    }
}

static void
do_range(struct input *input, unsigned c, unsigned id)
{
    static unsigned char want[1 << 20];
    const struct thing *thing = &session_of(c)->things[id];
    uint64_t offset = input_number(input);
    uint64_t length = input_number(input);
    granary_view view;
    granary_err err = granary_object_get_range(clients[c], id_of(id), offset, length, 0, &view);

    if (err == GRANARY_EINVAL && thing->there) {
        MUST(offset > thing->data_size || length > thing->data_size - offset, "a range of object %u", id);
        return;
    }
    check_got(thing, id, err);
    if (err == GRANARY_OK) {
        MUST(offset <= thing->data_size && length <= thing->data_size - offset && view.data_size == length,
             "the range of object %u", id);
        fill(want, thing->data_size, thing->seed);
        MUST(memcmp(view.data, want + offset, length) == 0, "the bytes of a range of object %u", id);
        granary_object_release(clients[c], &view);
    }
}

static void
do_release(unsigned nth)
{
    struct held *h = some_held(nth, false);

    if (h != NULL) {
        check_view(h);
        granary_object_release(clients[h->client], &h->view);
        h->taken = false;
    }
}

static void
do_delete(unsigned c, unsigned id)
{
    struct model_session *session = session_of(c);
    struct thing *thing = &session->things[id];
    bool there = thing->there && !thing->dropped;
    granary_err err = granary_object_delete(clients[c], id_of(id), 0);

    MUST((err == GRANARY_OK && there) || (err == GRANARY_ENOENT && (!there || thing->maybe)), "delete %u: %d", id,
         (int)err);
    if (err == GRANARY_OK) {
        thing->dropped = true;
        settle(session, id, false);
    }
}

static void
do_pin(struct input *input, unsigned c, unsigned id)
{
    struct thing *thing = &session_of(c)->things[id];
    uint8_t how = input_byte(input);
    bool of_session = (how & 1) != 0;
    unsigned *pins = of_session ? &thing->session_pins : &thing->pins[c];
    granary_pin_scope scope = of_session ? GRANARY_PIN_SESSION : GRANARY_PIN_CLIENT;
    granary_err err;

    if ((how & 2) != 0) {
        err = granary_object_unpin(clients[c], id_of(id), scope);
        MUST(thing->maybe || (err == GRANARY_OK) == (*pins > 0), "unpin %u: %d", id, (int)err);
        *pins -= err == GRANARY_OK && *pins > 0;
        return;
    }
    err = granary_object_pin(clients[c], id_of(id), scope);
    check_got(thing, id, err);
    *pins += err == GRANARY_OK;
}

static void
do_reference(struct input *input, unsigned c, unsigned id)
{
    static const char *const owners[OWNERS + 1] = {"a", "b", NULL};
    struct model_session *session = session_of(c);
    struct thing *thing = &session->things[id];
    uint8_t how = input_byte(input);
    unsigned owner = (how >> 1) % (OWNERS + 1);
    unsigned *count = owner == OWNERS ? &thing->clients[c] : &thing->owners[owner];
    granary_err err;

    if ((how & 1) == 0) {
        err = granary_reference(clients[c], id_of(id), owners[owner], NULL);
        MUST((err == GRANARY_OK && thing->there) || (err == GRANARY_ENOENT && (!thing->there || thing->maybe)),
             "reference %u: %d", id, (int)err);
        *count += err == GRANARY_OK;
        thing->maybe = err == GRANARY_OK ? false : thing->maybe;
        return;
    }
    err = granary_unreference(clients[c], id_of(id), owners[owner]);
    MUST(thing->maybe || (err == GRANARY_OK) == (*count > 0), "unreference %u: %d", id, (int)err);
    if (err == GRANARY_OK && *count > 0) {
        --*count;
        settle(session, id, false);
    }
}

static void
do_name(struct input *input, unsigned c, unsigned id)
{
    struct model_session *session = session_of(c);
    uint8_t how = input_byte(input);
    unsigned name = how % NAMES;
    unsigned before = session->names[name];
    bool drop = (how & 64) != 0;
    bool fresh = (how & 32) != 0;
    granary_id none = {{0}};
    granary_id got;
    char text[8];
    granary_err err;

    (void)snprintf(text, sizeof text, "n%u", name);
    if ((how & 128) != 0) {
        err = granary_name_get(clients[c], text, &got);
        MUST(before == 0 ? err == GRANARY_ENOENT : err == GRANARY_OK, "name %u: %d", name, (int)err);
        none = before == 0 ? none : id_of(before - 1);
        MUST(before == 0 || memcmp(&got, &none, sizeof got) == 0, "name %u means %u", name, before);
        return;
    }
    err = granary_name_set(clients[c], text, drop ? none : id_of(id), fresh ? GRANARY_NAME_NEW : GRANARY_NAME_ANY, none,
                           NULL);
    if (err == GRANARY_OK) {
        MUST(drop || session->things[id].there, "name %u is bound to what is not there", name);
        MUST(!fresh || before == 0 || before == id + 1, "name %u was bound", name);
        session->things[id].maybe = drop && session->things[id].maybe;
        session->names[name] = drop ? 0 : id + 1;
        if (before != 0) {
            settle(session, before - 1, false);
        }
    } else if (err == GRANARY_EEXIST) {
        MUST(fresh && before != 0, "name %u is not bound", name);
    } else {
        MUST(err == GRANARY_ENOENT && !drop && (!session->things[id].there || session->things[id].maybe), "name %u: %d",
             name, (int)err);
    }
}

static void
do_alias(struct input *input, unsigned c, unsigned id)
{
    struct model_session *session = session_of(c);
    uint8_t how = input_byte(input);
    unsigned alias = how % ALIASES;
    unsigned *target = &session->aliases[alias];
    granary_err err;

    if ((how & 64) != 0) {
        err = granary_object_delete(clients[c], alias_id(alias), 0);
        MUST(err == (*target == 0 ? GRANARY_ENOENT : GRANARY_OK), "delete of alias %u: %d", alias, (int)err);
        *target = 0;
        return;
    }
    err = granary_alias(clients[c], alias_id(alias), id_of(id));
    MUST(err == (*target == 0 || *target == id + 1 ? GRANARY_OK : GRANARY_EEXIST), "alias %u: %d", alias, (int)err);
    *target = err == GRANARY_OK ? id + 1 : *target;
}

static void
do_move(struct input *input, unsigned c, unsigned id)
{
    static const struct {
        granary_levels to, from;
    } moves[] = {
        {GRANARY_LEVEL_DISK, 0},
        {GRANARY_LEVEL_MEMORY, 0},
        {0, GRANARY_LEVEL_MEMORY},
        {GRANARY_LEVEL_REMOTE, GRANARY_LEVEL_DISK},
        {GRANARY_LEVEL_REMOTE, GRANARY_LEVEL_MEMORY},
        {GRANARY_LEVEL_MEMORY, GRANARY_LEVEL_REMOTE},
        {GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY},
        {GRANARY_LEVEL_DISK, GRANARY_LEVEL_REMOTE},
    };
    const struct thing *thing = &session_of(c)->things[id];
    uint8_t how = input_byte(input);
    granary_err err =
        granary_object_move(clients[c], id_of(id), moves[how % 8].to, moves[how % 8].from, (how & 64) != 0 ? 0 : 1000);

    MUST(err == GRANARY_OK || err == GRANARY_EBUSY || err == GRANARY_EINVAL || is_full(err) ||
             (err == GRANARY_ENOENT && (!thing->there || thing->maybe)),
         "move %u: %d", id, (int)err);
}

static void
do_info(unsigned c, unsigned id)
{
    const struct thing *thing = &session_of(c)->things[id];
    granary_object_info info;
    granary_err err = granary_object_info_get(clients[c], id_of(id), &info);
    unsigned pins = thing->session_pins;

    MUST(granary_object_contains(clients[c], id_of(id)) == thing->there || thing->maybe, "whether object %u is there",
         id);
    check_got(thing, id, err);
    if (err != GRANARY_OK || thing->maybe) {
        return;
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        pins += thing->pins[i];
    }
    MUST(info.data_size == thing->data_size && info.meta_size == thing->meta_size, "the sizes of object %u", id);
    MUST(info.dropped == thing->dropped && info.pins == pins, "object %u: %u pins", id, info.pins);
    MUST(pins == 0 || info.state == GRANARY_OBJECT_SEALED, "object %u is pinned, and in memory", id);
}

static void
delete_session(void)
{
    unsigned c = CLIENTS - 1;

    check_views();
    MUST(granary_session_delete(clients[0], sessions[1].name, false) == GRANARY_OK, "a session is deleted");
    (void)world_turn();
    check_views(); /* of memory that was deleted, but is mapped still */
    memset(sessions[1].things, 0, sizeof sessions[1].things);
    memset(sessions[1].aliases, 0, sizeof sessions[1].aliases);
    memset(sessions[1].names, 0, sizeof sessions[1].names);
    disconnect_client(c);
    connect_client(c);
}

static void
restart(void)
{
    world_die();
    check_views();
    world_adopt();
    world_audit("adoption");
}

/* ---- steps ---- */

static void
take_step(struct input *input)
{
    uint8_t what = input_byte(input);
    uint8_t which = input_byte(input);
    unsigned c = which % CLIENTS;
    unsigned id = which / CLIENTS % IDS;

    switch (what % 24) {
    case 0:
    case 1:
        do_create(input, c, id);
        break;
    case 2:
    case 3:
        do_seal(which, false);
        break;
    case 4:
        do_seal(which, true);
        break;
    case 5:
    case 6:
        do_put(input, c, id);
        break;
    case 7:
    case 8:
        do_get(input, c, id);
        break;
    case 9:
        do_range(input, c, id);
        break;
    case 10:
    case 11:
        do_release(which);
        break;
    case 12:
        do_delete(c, id);
        break;
    case 13:
        do_pin(input, c, id);
        break;
    case 14:
        do_reference(input, c, id);
        break;
    case 15:
        do_name(input, c, id);
        break;
    case 16:
        do_alias(input, c, id);
        break;
    case 17:
        do_move(input, c, id);
        break;
    case 18:
        do_info(c, id);
        break;
    case 19:
        (void)granary_object_hint(clients[c], id_of(id), input_byte(input), -1);
        break;
    case 20:
        disconnect_client(c);
        connect_client(c);
        break;
    case 21:
        if (which % 4 == 0) {
            restart();
        } else if (which % 4 == 1) {
            delete_session();
        } else {
            world_pass((int64_t)1000000 << which % 16);
        }
        break;
    case 22:
        world_hold_jobs(which % 2 == 0);
        (void)world_run_job(which / 2);
        break;
    default:
        (void)world_turn();
        break;
    }
}

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
    memset(sessions, 0, sizeof sessions);
    memset(held, 0, sizeof held);
    seeds = 0;
    for (unsigned i = 0; i < SESSIONS; i++) {
        (void)snprintf(sessions[i].name, sizeof sessions[i].name, "m%u-%u", generation, i);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        connect_client(i);
    }
}

/* With nothing leased, pinned or being built, everything that is there can be got; then it goes. */
static void
end(void)
{
    world_hold_jobs(false);
    for (unsigned c = 1; c < CLIENTS; c++) {
        disconnect_client(c);
        connect_client(c);
    }
    disconnect_client(0);
    connect_client(0);
    for (unsigned i = 0; i < SESSIONS; i++) {
        unsigned c = i == 0 ? 0 : CLIENTS - 1;

        for (unsigned id = 0; id < IDS; id++) {
            struct thing *thing = &sessions[i].things[id];

            for (; thing->session_pins > 0 && !thing->maybe; thing->session_pins--) {
                MUST(granary_object_unpin(clients[c], id_of(id), GRANARY_PIN_SESSION) == GRANARY_OK, "unpin %u", id);
            }
        }
    }
    for (unsigned i = 0; i < SESSIONS * IDS; i++) {
        const struct thing *thing = &sessions[i / IDS].things[i % IDS];
        unsigned c = i / IDS == 0 ? 0 : CLIENTS - 1;
        struct held h = {.client = c, .id = i % IDS, .what = *thing};
        granary_err err = granary_object_get(clients[c], id_of(h.id), 0, &h.view);

        MUST((err == GRANARY_OK) == thing->there || thing->maybe, "object %u is there in the end: %d", h.id, (int)err);
        if (err == GRANARY_OK) {
            check_view(&h);
            granary_object_release(clients[c], &h.view);
        }
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        granary_disconnect(clients[i]);
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
        MUST(granary_session_delete(janitor, sessions[i].name, false) == GRANARY_OK, "session %u goes", i);
    }
    granary_disconnect(janitor);
    world_settle();
    world_audit("the sessions went");
    MUST(world.store->session_count == 1 && world.store->client_count == 0, "nobody is left");
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
        take_step(&input);
        world_audit("a step");
    }
    check_views();
    end();
    delete_all();
    world_leave();
    return 0;
}
