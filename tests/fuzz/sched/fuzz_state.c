/* What a scheduler kept, damaged: entries of every keyspace changed, cut, exchanged, left out or made up, some by the
 * schema, then another scheduler begins with that. It passes over what it cannot read, and an honest graph runs. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/log.h"
#include "fuzz/fuzz.h"
#include "play.h"
#include "sched/recall/recalls.h"

#define ENTRIES_MAX 64
#define STEPS_MAX   24

static const char *const spaces[] = {MANAGER_METAS, MANAGER_SESSIONS, MANAGER_FUNCTIONS, MANAGER_GRAPHS,
                                     MANAGER_ENDS,  MANAGER_RESULTS,  MANAGER_EVENTS,    MANAGER_FREES,
                                     MANAGER_HELD,  MANAGER_RECALLS};

struct entry {
    struct gr_buf key;
    struct gr_buf value;
};

struct entries {
    struct entry items[ENTRIES_MAX];
    size_t count;
};

static granary_err
collect(void *context, const struct state_entry *entry)
{
    struct entries *entries = context;

    if (entries->count < ENTRIES_MAX) {
        struct entry *item = &entries->items[entries->count++];

        *item = (struct entry){0};
        gr_buf_add(&item->key, entry->key, entry->key_size);
        gr_buf_add(&item->value, entry->value, entry->value_size);
    }
    return GRANARY_OK;
}

/* By the schema of what stands in that space, or bytes. */
static void
make_value(const struct play *play, struct choices *choices, const char *space, struct gr_buf *out)
{
    static const struct {
        const char *space;
        const ProtobufCMessageDescriptor *descriptor;
    } kinds[] = {
        {MANAGER_SESSIONS, &granary__session_set__descriptor}, {MANAGER_FUNCTIONS, &granary__library__descriptor},
        {MANAGER_GRAPHS, &granary__submit__descriptor},        {MANAGER_ENDS, &granary__graph_status__descriptor},
        {MANAGER_RESULTS, &granary__result__descriptor},       {MANAGER_RECALLS, &granary__recall__descriptor}};
    struct message_words words = play_words(play);

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(space, kinds[i].space) == 0) {
            make_message(choices, &words, kinds[i].descriptor, out);
            return;
        }
    }
    for (uint32_t left = choose(choices, 40); left > 0; left--) {
        uint8_t byte = choose_byte(choices);

        gr_buf_add(out, &byte, 1);
    }
}

static void
damage_bytes(struct choices *choices, struct gr_buf *bytes)
{
    if (bytes->size == 0) {
        return;
    }
    if (choose(choices, 4) == 0) {
        bytes->size = choose(choices, (uint32_t)(bytes->size < 65536 ? bytes->size : 65535));
        return;
    }
    for (uint32_t times = 1 + choose(choices, 3); times > 0; times--) {
        size_t at = choose(choices, (uint32_t)(bytes->size < 65536 ? bytes->size : 65535));

        bytes->bytes[at] =
            (char)(choose(choices, 2) == 0 ? bytes->bytes[at] ^ 1 << choose(choices, 8) : choose_byte(choices));
    }
}

static void
put(struct play *play, const char *space, const struct gr_buf *key, const struct gr_buf *value)
{
    (void)play->keeper.state->put(play->keeper.self,
                                  &(struct state_put){.space = space,
                                                      .key = key->bytes,
                                                      .key_size = key->size,
                                                      .value = value->size > 0 ? value->bytes : "",
                                                      .value_size = value->size,
                                                      .expected = STATE_ANY},
                                  NULL);
}

static void
damage_space(struct play *play, struct choices *choices, const char *space)
{
    struct entries entries = {.count = 0};
    struct gr_buf made = {0};
    struct entry *entry;
    const struct entry *other;

    (void)play->keeper.state->scan(play->keeper.self, &(struct state_range){.space = space}, collect, &entries);
    if (entries.count == 0) {
        entries.items[0] = (struct entry){0};
        gr_buf_add(&entries.items[0].key, "k0", 2);
        entries.count = 1;
    }
    entry = &entries.items[choose(choices, (uint32_t)entries.count)];
    other = &entries.items[choose(choices, (uint32_t)entries.count)];
    switch (choose(choices, 6)) {
    case 0:
        (void)play->keeper.state->delete (play->keeper.self, space, entry->key.bytes, entry->key.size);
        break;
    case 1:
        make_value(play, choices, space, &made);
        put(play, space, &entry->key, &made);
        break;
    case 2:
        damage_bytes(choices, &entry->key);
        put(play, space, &entry->key, &entry->value);
        break;
    case 3:
        put(play, space, &entry->key, &other->value);
        break;
    default:
        damage_bytes(choices, &entry->value);
        put(play, space, &entry->key, &entry->value);
        break;
    }
    gr_buf_free(&made);
    for (size_t i = 0; i < entries.count; i++) {
        gr_buf_free(&entries.items[i].key);
        gr_buf_free(&entries.items[i].value);
    }
}

/* A file of saved results: its hash is right, and what is in it need not be. */
static void
restore_saved(struct play *play, struct choices *choices)
{
    static const char magic[] = "GRANRCL\1";
    struct gr_buf entries = {0};
    struct gr_buf file = {0};
    uint64_t hash;

    for (uint32_t left = choose(choices, 4); left > 0; left--) {
        struct gr_buf value = {0};
        uint32_t length;

        make_value(play, choices, MANAGER_RECALLS, &value);
        length = (uint32_t)value.size + (choose(choices, 8) == 0 ? choose(choices, 300) : 0);
        gr_buf_add(&entries, &length, sizeof length);
        gr_buf_add(&entries, value.bytes, value.size);
        gr_buf_free(&value);
    }
    hash = gr_hash64(entries.bytes, entries.size);
    gr_buf_add(&file, magic, sizeof magic - 1);
    gr_buf_add(&file, &hash, sizeof hash);
    gr_buf_add(&file, entries.bytes, entries.size);
    if (choose(choices, 4) == 0) {
        damage_bytes(choices, &file);
    }
    (void)manager_restore_saved(play->manager, file.bytes, file.size);
    gr_buf_free(&entries);
    gr_buf_free(&file);
}

/* What there is to be kept: graphs at any point, ended and not. */
static void
live(struct play *play, struct choices *choices)
{
    static const char *const keys[] = {"k0", "k1", "k2"};

    for (uint32_t steps = choose(choices, STEPS_MAX); steps > 0; steps--) {
        switch (choose(choices, 4)) {
        case 0:
            play_submits(play, CHOOSE_FROM(choices, keys), choose(choices, 16));
            break;
        case 1:
            play_joins(play, choose(choices, PLAY_EXECUTORS));
            break;
        default:
            if (play->given_count > 0) {
                play_answers(play, choose(choices, (uint32_t)play->given_count),
                             choose(choices, 6) == 0 ? GRANARY_EFAILED : GRANARY_OK);
            }
            break;
        }
        play_turn(play);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct choices choices = {.bytes = bytes, .left = size};
    struct play *play = malloc(sizeof *play);

    (void)setenv("GRANARY_LOG", "error", 0);
    gr_log_init("fuzz");
    if (play == NULL) {
        return 0;
    }
    play_begin(play);
    play_joins(play, 0);
    live(play, &choices);
    for (uint32_t rounds = 1 + choose(&choices, 2); rounds > 0; rounds--) {
        for (uint32_t times = 1 + choose(&choices, 8); times > 0; times--) {
            damage_space(play, &choices, CHOOSE_FROM(&choices, spaces));
        }
        play_restarts(play);
        if (choose(&choices, 3) == 0) {
            restore_saved(play, &choices);
        }
        live(play, &choices);
    }
    play_honestly(play);
    play_end(play);
    free(play);
    return 0;
}
