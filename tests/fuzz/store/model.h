/*
 * What must be there: the objects of two sessions and all that keeps them, as a few numbers, and the clients that use
 * the store. A step is done to both (model_steps.c, model_holds.c), which must then agree.
 */
#ifndef FUZZ_STORE_MODEL_H
#define FUZZ_STORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/store.h"
#include "store/input.h"

#define SESSIONS   2u
#define CLIENTS    4u
#define IDS        10u /* objects of a session */
#define ALIASES    3u
#define OWNERS     2u
#define NAMES      3u
#define HELD       10u /* views, and buffers */
#define CHILDREN   2u
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

struct model {
    struct model_session sessions[SESSIONS];
    struct held held[HELD];
    granary_client *clients[CLIENTS];
    unsigned seeds;
};

extern struct model model;

/* ---- model.c ---- */

struct model_session *model_session_of(unsigned client);
granary_id model_id(unsigned n);
granary_id model_alias_id(unsigned n);

void model_connect(unsigned n);
/* What ends with a client: buffers, views, pins and references. */
void model_disconnect(unsigned n);

/* Something that kept it is gone, or it was deleted. late: it may be there for a while, and so what it contains */
void model_settle(struct model_session *session, unsigned n, bool late);

/* NULL: there is none. */
struct held *model_free_place(void);
/* The nth, around, of that kind. */
struct held *model_some_held(unsigned nth, bool buffer);

void model_fill(void *bytes, size_t size, unsigned seed);
/* What is leased is what was sealed. */
void model_check_view(const struct held *h);
void model_check_views(void);
/* What was got, or that it was not. */
void model_check_got(const struct thing *thing, unsigned id, granary_err err);
bool model_is_full(granary_err err);

/* ---- model_steps.c ---- */

/* One step, as the input says. */
void model_step(struct input *input);

/* ---- model_holds.c ---- */

void model_do_pin(struct input *input, unsigned c, unsigned id);
void model_do_reference(struct input *input, unsigned c, unsigned id);
void model_do_name(struct input *input, unsigned c, unsigned id);
void model_do_alias(struct input *input, unsigned c, unsigned id);

#endif
