/* Dice choose operation and object. What is read must be what some writer of that object has put. */
#include "torture/objects/tormented.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "granary/hold.h"
#include "torture/common/client.h"
#include "torture/common/random.h"

#define HELD  8   /* leases a client keeps while it does other things */
#define BATCH 8u  /* objects put without waiting, or got at once */
#define HOT   32u /* objects that many want */

/* What an object's data begins with; the rest follows from value. */
struct content {
    uint64_t value;
    uint64_t object;
};

/* A lease that is kept, and what its bytes have to be. */
struct held {
    granary_view view;
    uint64_t value;
    uint32_t object;
};

struct tormented {
    struct torment *torment;
    granary_client *client;
    struct history *history;
    unsigned self;
    uint64_t seed;
    struct held held[HELD];
};

static uint64_t
mixed(uint64_t n)
{
    n = (n + 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
    n ^= n >> 32;
    n *= 0xd6e8feb86659fd93ull;
    return n ^ n >> 32;
}

static granary_id
object_id(uint32_t object)
{
    uint64_t words[2] = {mixed(object), object + 1};
    granary_id id;

    memcpy(id.bytes, words, sizeof id.bytes);
    return id;
}

uint64_t
tormented_size(const struct torment *torment, uint32_t object)
{
    uint64_t random = mixed(object * 7919ull);
    uint64_t most = object % 10 == 0 ? torment->largest : object % 3 == 0 ? torment->largest / 16 : 4096;

    return sizeof(struct content) + random % (most < 64 ? 64 : most);
}

static uint64_t
meta_size(uint32_t object)
{
    return object % 5 == 0 ? 8 : 0;
}

static void
fill(char *bytes, uint64_t size, uint32_t object, uint64_t value)
{
    struct content content = {value, object};
    uint64_t word = mixed(value);

    memcpy(bytes, &content, sizeof content);
    bytes += sizeof content;
    size -= sizeof content;
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word, word += 0x9e3779b97f4a7c15ull) {
        memcpy(bytes, &word, sizeof word);
    }
    memcpy(bytes, &word, size);
}

/* Whether bytes are what fill() goes on with from this word. */
static bool
follows(const char *bytes, uint64_t size, uint64_t word)
{
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word, word += 0x9e3779b97f4a7c15ull) {
        if (memcmp(bytes, &word, sizeof word) != 0) {
            return false;
        }
    }
    return memcmp(bytes, &word, size) == 0;
}

static void
complain(const struct torment *torment, const char *what, uint32_t object)
{
    char id[GRANARY_ID_TEXT + 1];

    granary_id_format(object_id(object), id);
    (void)fprintf(stderr, "torture: %s: object %u of %u (%s): %s\n", what, object, torment->objects, id,
                  granary_error_message());
}

/* Look at every byte. Returns which put it is; 0 when it is none. */
static uint64_t
verify(struct torment *torment, const granary_view *view, uint32_t object)
{
    struct content content = {0};
    bool whole = view->data_size == tormented_size(torment, object) && view->meta_size == meta_size(object);

    if (whole) {
        memcpy(&content, view->data, sizeof content);
        whole = content.object == object &&
                follows((const char *)view->data + sizeof content, view->data_size - sizeof content,
                        mixed(content.value)) &&
                (view->meta_size == 0 || memcmp(view->meta, &content.value, sizeof content.value) == 0);
    }
    atomic_fetch_add(&torment->verified, 1);
    if (!whole || content.value == 0) {
        complain(torment, "damaged", object);
        atomic_fetch_add(&torment->damaged, 1);
        return 0;
    }
    return content.value;
}

/* An error that none of this justifies, or one that is fine. */
static void
count_error(struct torment *torment, granary_err err, const char *what, uint32_t object)
{
    if (err == GRANARY_EFULL) {
        atomic_fetch_add(&torment->full, 1);
    } else if (err == GRANARY_ETIMEDOUT) {
        atomic_fetch_add(&torment->late, 1);
    } else {
        complain(torment, what, object);
        atomic_fetch_add(err == GRANARY_ECORRUPT || err == GRANARY_EIO ? &torment->damaged : &torment->refused, 1);
    }
}

granary_client *
tormented_connect(struct torment *torment)
{
    granary_client *client = NULL;
    granary_err err = client_connect(torment->instance, torment->patience_ms, &client);

    if (err != GRANARY_OK) {
        count_error(torment, err, "connect", 0);
    }
    return client;
}

/* ---- operations ---- */

/* What a put or delete that returned err did. */
static enum op_outcome
outcome_of(granary_err err)
{
    switch (err) {
    case GRANARY_OK:
        return OP_YES;
    case GRANARY_EEXIST:
    case GRANARY_ENOENT:
        return OP_NO;
    default:
        return OP_UNKNOWN;
    }
}

/* Reserve and fill, up to the seal. False: there is nothing to seal, and it is noted. */
static bool
prepare(struct tormented *self, uint32_t object, struct op *op, granary_buffer *ret_buffer)
{
    struct torment *torment = self->torment;
    uint64_t value = op->value = history_value(self->history, self->self, op); /* before it can be killed */
    granary_err err = granary_object_create(self->client, object_id(object), tormented_size(torment, object),
                                            meta_size(object), torment->room_ms, ret_buffer);

    if (err != GRANARY_OK) {
        history_answer(op, err == GRANARY_EEXIST ? OP_NO : OP_NOTHING, value);
        if (err != GRANARY_EEXIST) {
            count_error(torment, err, "create", object);
        }
        return false;
    }
    fill(ret_buffer->data, ret_buffer->data_size, object, value);
    if (ret_buffer->meta_size > 0) {
        memcpy(ret_buffer->meta, &value, sizeof value);
    }
    return true;
}

static void
do_put(struct tormented *self, uint32_t object)
{
    struct op *op = history_begin(self->history, OP_PUT, OP_PLAIN, object);
    granary_buffer buffer;
    granary_err err;

    if (op == NULL || !prepare(self, object, op, &buffer)) {
        return;
    }
    if (random_next(&self->seed) % 16 == 0) {
        granary_object_abort(self->client, &buffer);
        history_answer(op, OP_NOTHING, 0);
        return;
    }
    err = granary_object_seal(self->client, &buffer);
    if (err != GRANARY_OK && err != GRANARY_EEXIST) {
        count_error(self->torment, err, "seal", object);
    }
    history_answer(op, outcome_of(err), 0);
}

/* Several puts without waiting: what became of them all is known at the end. */
static void
do_put_batch(struct tormented *self)
{
    static char bytes[sizeof(struct content) + 4096];
    struct op *ops[BATCH];
    size_t count = 0;
    granary_err err;

    for (uint32_t tries = 0; tries < 4 * BATCH && count < BATCH; tries++) {
        uint32_t object = (uint32_t)(random_next(&self->seed) % self->torment->objects);
        uint64_t size = tormented_size(self->torment, object);
        struct op *op;
        uint64_t value;

        if (size > sizeof bytes) {
            continue;
        }
        if ((op = history_begin(self->history, OP_PUT, OP_BATCH, object)) == NULL) {
            break;
        }
        op->value = value = history_value(self->history, self->self, op);
        fill(bytes, size, object, value);
        err =
            granary_object_put(self->client, object_id(object), bytes, size, &value, meta_size(object), GRANARY_NOWAIT);
        if (err == GRANARY_OK) {
            ops[count++] = op;
        } else {
            history_answer(op, err == GRANARY_EEXIST ? OP_NO : err == GRANARY_EFULL ? OP_NOTHING : OP_UNKNOWN, 0);
            if (err != GRANARY_EEXIST) {
                count_error(self->torment, err, "put", object);
            }
        }
    }
    err = granary_flush(self->client);
    if (err != GRANARY_OK && err != GRANARY_EEXIST) {
        count_error(self->torment, err, "flush", 0);
    }
    for (size_t i = 0; i < count; i++) {
        history_answer(ops[i], err == GRANARY_OK ? OP_YES : err == GRANARY_EEXIST ? OP_EITHER : OP_UNKNOWN, 0);
    }
}

static void
do_delete(struct tormented *self, uint32_t object)
{
    struct op *op = history_begin(self->history, OP_DELETE, OP_PLAIN, object);
    granary_err err;

    if (op == NULL) {
        return;
    }
    err = granary_object_delete(self->client, object_id(object), 0);
    if (err != GRANARY_OK && err != GRANARY_ENOENT) {
        count_error(self->torment, err, "delete", object);
    }
    history_answer(op, outcome_of(err), 0);
}

/* Get into a view, and note it. False: there is no view. */
static bool
get(struct torment *torment, granary_client *client, struct history *history, uint32_t object, struct held *ret_held)
{
    struct op *op = history_begin(history, OP_GET, OP_PLAIN, object);
    granary_err err;

    if (op == NULL) {
        return false;
    }
    err = granary_object_get(client, object_id(object), 0, &ret_held->view);
    if (err != GRANARY_OK) {
        history_answer(op, err == GRANARY_ENOENT ? OP_NO : OP_NOTHING, 0);
        if (err != GRANARY_ENOENT) {
            count_error(torment, err, "get", object);
        }
        return false;
    }
    ret_held->object = object;
    ret_held->value = verify(torment, &ret_held->view, object);
    history_answer(op, ret_held->value == 0 ? OP_NOTHING : OP_YES, ret_held->value);
    return true;
}

void
tormented_get(struct torment *torment, granary_client *client, unsigned self, uint32_t object)
{
    struct held held;

    if (get(torment, client, torment->histories[self], object, &held)) {
        granary_object_release(client, &held.view);
    }
}

/* Give a lease back after one more look at what it protects. */
static void
let_go(struct tormented *self, struct held *held)
{
    if (held->view.lease == 0) {
        return;
    }
    if (held->value != 0 && verify(self->torment, &held->view, held->object) != held->value) {
        complain(self->torment, "changed under a lease", held->object);
        atomic_fetch_add(&self->torment->damaged, 1);
    }
    granary_object_release(self->client, &held->view);
}

static void
do_get(struct tormented *self, uint32_t object)
{
    struct held *place = &self->held[random_next(&self->seed) % HELD];

    if (random_next(&self->seed) % 4 == 0) {
        let_go(self, place);
        if (!get(self->torment, self->client, self->history, object, place)) {
            place->view.lease = 0;
        }
    } else {
        tormented_get(self->torment, self->client, self->self, object);
    }
}

static void
do_get_batch(struct tormented *self)
{
    granary_view views[BATCH];
    granary_id ids[BATCH];
    struct op *ops[BATCH];
    uint32_t objects[BATCH];
    size_t failed = 0;
    granary_err err;

    for (size_t i = 0; i < BATCH; i++) {
        objects[i] = (uint32_t)(random_next(&self->seed) % self->torment->objects);
        ids[i] = object_id(objects[i]);
        if ((ops[i] = history_begin(self->history, OP_GET, OP_BATCH, objects[i])) == NULL) {
            return;
        }
    }
    err = granary_object_get_many(self->client, ids, BATCH, 0, views, &failed);
    for (size_t i = 0; i < BATCH; i++) {
        uint64_t value = err == GRANARY_OK ? verify(self->torment, &views[i], objects[i]) : 0;

        history_answer(ops[i], value != 0 ? OP_YES : err == GRANARY_ENOENT && failed == i ? OP_NO : OP_NOTHING, value);
    }
    if (err == GRANARY_OK) {
        granary_object_release_many(self->client, views, BATCH);
    } else if (err != GRANARY_ENOENT) {
        count_error(self->torment, err, "get_many", objects[failed]);
    }
}

/* A part of an object: of a spilled one, little else is read. */
static void
do_get_range(struct tormented *self, uint32_t object)
{
    uint64_t words = (tormented_size(self->torment, object) - sizeof(struct content)) / sizeof(uint64_t);
    uint64_t first = words == 0 ? 0 : random_next(&self->seed) % words;
    uint64_t count = words == 0 ? 0 : 1 + random_next(&self->seed) % (words - first);
    struct op *op = history_begin(self->history, OP_GET, OP_PART, object);
    granary_view view;
    uint64_t word = 0;
    granary_err err;

    if (op == NULL) {
        return;
    }
    err = granary_object_get_range(self->client, object_id(object), sizeof(struct content) + first * sizeof word,
                                   count * sizeof word, 0, &view);
    history_answer(op, err == GRANARY_OK ? OP_YES : err == GRANARY_ENOENT ? OP_NO : OP_NOTHING, 0);
    if (err != GRANARY_OK) {
        if (err != GRANARY_ENOENT) {
            count_error(self->torment, err, "get_range", object);
        }
        return;
    }
    /* Which put it is of, the part does not tell; but it must be of one only. */
    memcpy(&word, view.data, count == 0 ? 0 : sizeof word);
    if (view.data_size != count * sizeof word || !follows(view.data, view.data_size, word)) {
        complain(self->torment, "damaged part", object);
        atomic_fetch_add(&self->torment->damaged, 1);
    }
    atomic_fetch_add(&self->torment->verified, 1);
    granary_object_release(self->client, &view);
}

/* Advice and moves, which change nothing that a get can see. */
static void
do_move(struct tormented *self, uint32_t object)
{
    granary_id id = object_id(object);
    granary_err err;

    switch (random_next(&self->seed) % 4) {
    case 0:
        err = granary_object_move(self->client, id, GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, self->torment->room_ms);
        break;
    case 1:
        err = granary_object_move(self->client, id, GRANARY_LEVEL_DISK, 0, self->torment->room_ms);
        break;
    case 2:
        err = granary_object_prefetch(self->client, &id, 1);
        break;
    default:
        err = granary_object_hint(self->client, id, (int)(random_next(&self->seed) % 200), -1);
        break;
    }
    if (err != GRANARY_OK && err != GRANARY_ENOENT && err != GRANARY_EBUSY && err != GRANARY_ETIMEDOUT) {
        count_error(self->torment, err, "move", object);
    }
}

static void
do_pin(struct tormented *self, uint32_t object)
{
    granary_err err = granary_object_pin(self->client, object_id(object), GRANARY_PIN_CLIENT);

    if (err == GRANARY_OK) {
        err = granary_object_unpin(self->client, object_id(object), GRANARY_PIN_CLIENT);
    }
    if (err != GRANARY_OK && err != GRANARY_ENOENT) { /* deleted meanwhile */
        count_error(self->torment, err, "pin", object);
    }
}

static void
do_account(struct tormented *self)
{
    granary_store_stat stat;

    if (!client_account(self->client, &stat)) {
        complain(self->torment, "the account does not add up", 0);
        atomic_fetch_add(&self->torment->account_errors, 1);
    }
}

void
tormented_run(struct torment *torment, unsigned number, uint64_t seed)
{
    struct tormented self = {.torment = torment, .history = torment->histories[number], .self = number, .seed = seed};

    self.client = tormented_connect(torment);
    while (self.client != NULL && !atomic_load(&torment->stop)) {
        uint32_t dice = (uint32_t)(random_next(&self.seed) % 100);
        uint32_t among = random_next(&self.seed) % 4 == 0 && torment->objects > HOT ? HOT : torment->objects;
        uint32_t object = (uint32_t)(random_next(&self.seed) % among);

        if (dice < 28) {
            do_put(&self, object);
        } else if (dice < 32) {
            do_put_batch(&self);
        } else if (dice < 42) {
            do_delete(&self, object);
        } else if (dice < 87) {
            do_get(&self, object);
        } else if (dice < 90) {
            do_get_range(&self, object);
        } else if (dice < 93) {
            do_move(&self, object);
        } else if (dice < 95) {
            do_get_batch(&self);
        } else if (dice < 98) {
            do_pin(&self, object);
        } else {
            do_account(&self);
        }
        atomic_fetch_add(&torment->operations, 1);
        if (torment->pause_us > 0) {
            (void)nanosleep(&(struct timespec){.tv_sec = torment->pause_us / 1000000,
                                               .tv_nsec = torment->pause_us % 1000000 * 1000},
                            NULL);
        }
    }
    for (size_t i = 0; self.client != NULL && i < HELD; i++) {
        let_go(&self, &self.held[i]);
    }
    granary_disconnect(self.client);
}
