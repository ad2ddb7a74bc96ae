/* What clients do, and what must come of it. */
#include <string.h>

#include "granary/session.h"
#include "store/model.h"
#include "store/world.h"

static uint64_t
some_size(uint8_t byte)
{
    static const uint64_t sizes[] = {0, 1, 100, 4096, 20000, 70000, 150000, 300000};

    return sizes[byte % 8] + (byte >> 5);
}

static void
do_create(struct input *input, unsigned c, unsigned id)
{
    struct thing *thing = &model_session_of(c)->things[id];
    struct held *h = model_free_place();
    uint8_t sizes = input_byte(input);
    granary_err err;

    if (h == NULL) {
        return;
    }
    h->what =
        (struct thing){.data_size = some_size(sizes), .meta_size = sizes % 3 == 0 ? 200 : 0, .seed = ++model.seeds};
    err = granary_object_create(model.clients[c], model_id(id), h->what.data_size, h->what.meta_size,
                                sizes & 16 ? 1000 : 0, &h->build);
    if (err != GRANARY_OK) {
        MUST(model_is_full(err) || (err == GRANARY_EEXIST && thing->there), "create %u: %d", id, (int)err);
        return;
    }
    MUST(!thing->there || thing->maybe, "object %u is there already", id);
    model_fill(h->build.data, h->what.data_size, h->what.seed);
    if (h->what.meta_size > 0) {
        model_fill(h->build.meta, h->what.meta_size, h->what.seed + 1);
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
    struct held *h = model_some_held(nth, true);
    struct model_session *session;
    struct thing *thing;
    granary_err err;

    if (h == NULL) {
        return;
    }
    session = model_session_of(h->client);
    thing = &session->things[h->id];
    h->taken = false;
    if (abort) {
        granary_object_abort(model.clients[h->client], &h->build);
        return;
    }
    err = granary_object_seal(model.clients[h->client], &h->build);
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
    struct model_session *session = model_session_of(c);
    struct thing *thing = &session->things[id];
    uint8_t how = input_byte(input);
    struct thing what = {.data_size = some_size(how), .meta_size = how % 5 == 0 ? 77 : 0, .seed = ++model.seeds};
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
        children[i] = model_id(child);
        options.contains_count++;
        all_there = all_there && session->things[child].there;
    }
    options.contains = children;
    model_fill(data, what.data_size, what.seed);
    model_fill(meta, what.meta_size, what.seed + 1);
    err = granary_object_put_with(model.clients[c], model_id(id), data, what.data_size, meta, what.meta_size, &options,
                                  0);
    if (err != GRANARY_OK) {
        bool missing = err == GRANARY_ENOENT && options.contains_count > 0;

        for (unsigned i = 0; missing && i < CHILDREN; i++) {
            if (what.children[i] != 0) {
                const struct thing *child = &session->things[what.children[i] - 1];

                all_there = all_there && !child->maybe;
            }
        }
        MUST(model_is_full(err) || (missing && !all_there) || (err == GRANARY_EEXIST && thing->there), "put %u: %d", id,
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

static void
do_get(struct input *input, unsigned c, unsigned id)
{
    struct model_session *session = model_session_of(c);
    struct held *h = model_free_place();
    uint8_t how = input_byte(input);
    granary_id wanted = model_id(id);
    granary_err err;

    if (h == NULL) {
        return;
    }
    if ((how & 128) != 0) { /* by an alias */
        unsigned alias = how % ALIASES;

        wanted = model_alias_id(alias);
        if (session->aliases[alias] == 0) {
            MUST(granary_object_get(model.clients[c], wanted, 0, &h->view) == GRANARY_ENOENT, "alias %u is none",
                 alias);
            return;
        }
        id = session->aliases[alias] - 1;
    }
    h->what = session->things[id];
    err = granary_object_get(model.clients[c], wanted, 0, &h->view);
    model_check_got(&h->what, id, err);
    if (err == GRANARY_OK) {
        h->client = c;
        h->id = id;
        h->buffer = false;
        h->taken = true;
        model_check_view(h);
    }
}

static void
do_range(struct input *input, unsigned c, unsigned id)
{
    static unsigned char want[1 << 20];
    const struct thing *thing = &model_session_of(c)->things[id];
    uint64_t offset = input_number(input);
    uint64_t length = input_number(input);
    granary_view view;
    granary_err err = granary_object_get_range(model.clients[c], model_id(id), offset, length, 0, &view);

    if (err == GRANARY_EINVAL && thing->there) {
        MUST(offset > thing->data_size || length > thing->data_size - offset, "a range of object %u", id);
        return;
    }
    model_check_got(thing, id, err);
    if (err == GRANARY_OK) {
        MUST(offset <= thing->data_size && length <= thing->data_size - offset && view.data_size == length,
             "the range of object %u", id);
        model_fill(want, thing->data_size, thing->seed);
        MUST(memcmp(view.data, want + offset, length) == 0, "the bytes of a range of object %u", id);
        granary_object_release(model.clients[c], &view);
    }
}

static void
do_release(unsigned nth)
{
    struct held *h = model_some_held(nth, false);

    if (h != NULL) {
        model_check_view(h);
        granary_object_release(model.clients[h->client], &h->view);
        h->taken = false;
    }
}

static void
do_delete(unsigned c, unsigned id)
{
    struct model_session *session = model_session_of(c);
    struct thing *thing = &session->things[id];
    bool there = thing->there && !thing->dropped;
    granary_err err = granary_object_delete(model.clients[c], model_id(id), 0);

    MUST((err == GRANARY_OK && there) || (err == GRANARY_ENOENT && (!there || thing->maybe)), "delete %u: %d", id,
         (int)err);
    if (err == GRANARY_OK) {
        thing->dropped = true;
        model_settle(session, id, false);
    }
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
    const struct thing *thing = &model_session_of(c)->things[id];
    uint8_t how = input_byte(input);
    granary_err err = granary_object_move(model.clients[c], model_id(id), moves[how % 8].to, moves[how % 8].from,
                                          (how & 64) != 0 ? 0 : 1000);

    MUST(err == GRANARY_OK || err == GRANARY_EBUSY || err == GRANARY_EINVAL || model_is_full(err) ||
             (err == GRANARY_ENOENT && (!thing->there || thing->maybe)),
         "move %u: %d", id, (int)err);
}

static void
do_info(unsigned c, unsigned id)
{
    const struct thing *thing = &model_session_of(c)->things[id];
    granary_object_info info;
    granary_err err = granary_object_info_get(model.clients[c], model_id(id), &info);
    unsigned pins = thing->session_pins;

    MUST(granary_object_contains(model.clients[c], model_id(id)) == thing->there || thing->maybe,
         "whether object %u is there", id);
    model_check_got(thing, id, err);
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

    model_check_views();
    MUST(granary_session_delete(model.clients[0], model.sessions[1].name, false) == GRANARY_OK, "a session is deleted");
    (void)world_turn();
    model_check_views(); /* of memory that was deleted, but is mapped still */
    memset(model.sessions[1].things, 0, sizeof model.sessions[1].things);
    memset(model.sessions[1].aliases, 0, sizeof model.sessions[1].aliases);
    memset(model.sessions[1].names, 0, sizeof model.sessions[1].names);
    model_disconnect(c);
    model_connect(c);
}

static void
restart(void)
{
    world_die();
    model_check_views();
    world_adopt();
    world_audit("adoption");
}

void
model_step(struct input *input)
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
        model_do_pin(input, c, id);
        break;
    case 14:
        model_do_reference(input, c, id);
        break;
    case 15:
        model_do_name(input, c, id);
        break;
    case 16:
        model_do_alias(input, c, id);
        break;
    case 17:
        do_move(input, c, id);
        break;
    case 18:
        do_info(c, id);
        break;
    case 19:
        (void)granary_object_hint(model.clients[c], model_id(id), input_byte(input), -1);
        break;
    case 20:
        model_disconnect(c);
        model_connect(c);
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
