/*
 * Two writers put messages into a queue and a broadcast; two readers take them. A writer that is killed is followed by one that
 * goes on with the next number. What is left at a rest the run takes itself, and judges all (post.h).
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/id.h"
#include "granary/channel.h"
#include "torture/common/random.h"
#include "torture/work/post.h"
#include "torture/work/work.h"

#define RING_BYTES 65536u
#define PUT_MS     1000  /* a reader that stands still holds writers up: then nothing was put */
#define GET_MS     20    /* ... and then the other channel has its turn */
#define DRAIN_MS   20000 /* for what dead readers had to come back */
#define PAD_MOST   700u
#define LARGE      40000u /* becomes an object */

static const char *const names[POST_CHANNELS] = {"torture-queue", "torture-cast"};

struct body {
    uint32_t channel, writer, number, source, pad, zero;
    uint64_t check; /* of what is before, and of the bytes behind */
};

static uint64_t
check_of(const struct body *body, const unsigned char *pad)
{
    return gr_hash64_seeded(
        pad, body->pad, random_mix(((uint64_t)body->channel << 48) ^ ((uint64_t)body->writer << 32) ^ body->number));
}

/* ---- writers ---- */

static void
put_one(struct work *work, granary_channel *channel, enum post_channel which, unsigned writer, uint32_t source,
        uint64_t *seed)
{
    static _Alignas(16) unsigned char bytes[sizeof(struct body) + LARGE];
    struct post *post = work->journal;
    const uint32_t number = post_begin(post, which, writer);
    struct body body = {.channel = which, .writer = writer, .number = number, .source = source};
    granary_err err;

    if (number == POST_MESSAGES) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); /* enough for this round */
        return;
    }
    body.pad = random_next(seed) % 64 == 0 ? LARGE : (uint32_t)(random_next(seed) % PAD_MOST);
    memset(bytes + sizeof body, (int)(number & 0xff), body.pad);
    body.check = check_of(&body, bytes + sizeof body);
    memcpy(bytes, &body, sizeof body);
    err = granary_channel_put(channel, bytes, sizeof body + body.pad, PUT_MS);
    if (err == GRANARY_OK) {
        post_end(post, which, writer, number, POST_DONE);
    } else if (err == GRANARY_ETIMEDOUT) {
        post_end(post, which, writer, number, POST_REFUSED);
        return;
    }
    (void)work_count(work, err, "put");
}

static void
run_writer(struct work *work, granary_channel *const channels[static POST_CHANNELS], unsigned writer, uint64_t seed)
{
    const uint32_t life = atomic_fetch_add(&((struct post *)work->journal)->lives, 1);

    while (work_goes_on(work)) {
        const enum post_channel which = random_next(&seed) % POST_CHANNELS;

        put_one(work, channels[which], which, writer, life, &seed);
        random_pause(&seed, 2000000);
    }
}

/* ---- readers ---- */

/* Note a message and be done with it. False: it is none that was ever put. */
static bool
take(struct work *work, granary_channel *channel, enum post_channel which, unsigned reader, uint32_t life,
     const granary_message *message)
{
    struct post *post = work->journal;
    struct body body = {0};
    struct letter *letter;

    if (message->size >= sizeof body) {
        memcpy(&body, message->data, sizeof body);
    }
    if (message->size != sizeof body + body.pad || body.channel != which || body.writer >= POST_WRITERS ||
        check_of(&body, (const unsigned char *)message->data + sizeof body) != body.check) {
        work_wrong(work, "a message of %" PRIu64 " bytes is damaged", message->size);
        return false;
    }
    letter = post_note(post, which, reader,
                       (struct letter){.writer = body.writer,
                                       .number = body.number,
                                       .source = body.source,
                                       .life = life,
                                       .again = message->again});
    granary_channel_done(channel);
    if (letter != NULL) {
        post_done(post, letter);
    }
    return letter != NULL;
}

static void
run_reader(struct work *work, granary_channel *const channels[static POST_CHANNELS], unsigned reader)
{
    struct post *post = work->journal;
    const uint32_t life = atomic_fetch_add(&post->lives, 1);

    for (unsigned turn = 0; work_goes_on(work); turn++) {
        const enum post_channel which = turn % POST_CHANNELS;
        granary_message message;
        granary_err err = granary_channel_get(channels[which], GET_MS, &message);

        if (err == GRANARY_ETIMEDOUT) {
            continue;
        }
        if (work_count(work, err, "get") && !take(work, channels[which], which, reader, life, &message)) {
            return;
        }
    }
}

static const char *
reader_name(unsigned reader)
{
    return reader == 0 ? "even" : "odd";
}

/* As reader `reader` of the broadcast; POST_READERS: of none. The process before may not be known to be dead yet. */
static granary_err
open_both(granary_client *client, unsigned reader, granary_channel *ret[static POST_CHANNELS])
{
    granary_err err = GRANARY_OK;

    for (unsigned i = 0; err == GRANARY_OK && i < POST_CHANNELS; i++) {
        err = granary_channel_open(client, names[i], &ret[i]);
    }
    return err == GRANARY_OK && reader < POST_READERS
               ? granary_channel_join(ret[POST_CAST], reader_name(reader), GRANARY_CHANNEL_OLDEST)
               : err;
}

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    granary_channel *channels[POST_CHANNELS] = {NULL, NULL};
    const bool writes = number < POST_WRITERS;
    granary_err err = open_both(client, writes ? POST_READERS : number - POST_WRITERS, channels);

    if (!work_count(work, err, "open")) {
        /* again, by the next worker */
    } else if (writes) {
        run_writer(work, channels, number, seed);
    } else {
        run_reader(work, channels, number - POST_WRITERS);
    }
    granary_channel_close(channels[POST_QUEUE]);
    granary_channel_close(channels[POST_CAST]);
}

/* ---- the run's own part ---- */

static bool
set(struct work *work, granary_client *client)
{
    granary_err err = GRANARY_OK;

    post_clear(work->journal);
    for (unsigned i = 0; err == GRANARY_OK && i < POST_CHANNELS; i++) {
        const granary_channel_options options = {.flags = i == POST_CAST ? GRANARY_CHANNEL_BROADCAST : 0,
                                                 .ring_bytes = RING_BYTES};
        granary_channel *channel = NULL;

        err = granary_channel_create(client, names[i], &options, &channel);
        granary_channel_close(channel);
    }
    for (unsigned reader = 0; err == GRANARY_OK && reader < POST_READERS; reader++) {
        granary_channel *channel = NULL;

        err = granary_channel_open(client, names[POST_CAST], &channel);
        err = err == GRANARY_OK ? granary_channel_join(channel, reader_name(reader), GRANARY_CHANNEL_OLDEST) : err;
        granary_channel_close(channel);
    }
    return err == GRANARY_OK;
}

struct rest {
    granary_channel *channel;
    enum post_channel which;
    unsigned reader;
};

static granary_err
take_one(struct work *work, const struct rest *rest, bool *ret_empty)
{
    granary_channel_info info = {.waiting = 1};
    granary_message message;
    granary_err err = granary_channel_get(rest->channel, GET_MS, &message);

    if (err == GRANARY_OK) {
        *ret_empty = false;
        return take(work, rest->channel, rest->which, POST_READERS, rest->reader, &message) ? GRANARY_OK
                                                                                            : GRANARY_ECORRUPT;
    }
    err = err == GRANARY_ETIMEDOUT ? granary_channel_describe(rest->channel, &info) : err;
    *ret_empty = *ret_empty && info.waiting == 0;
    return err;
}

/* What is left, in each reader's name; what dead readers had comes as soon as they are known to be dead. */
static granary_err
drain(struct work *work, const struct rest *rests, size_t count)
{
    const int64_t deadline = gr_deadline_ns(DRAIN_MS);
    granary_err err = GRANARY_OK;
    bool empty = false;

    while (err == GRANARY_OK && !empty && gr_now_ns() < deadline) {
        empty = true;
        for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
            err = take_one(work, &rests[i], &empty);
        }
    }
    return err;
}

static size_t
judge(struct work *work, granary_client *client, FILE *out)
{
    struct post *post = work->journal;
    granary_channel *channels[POST_READERS][POST_CHANNELS] = {{NULL, NULL}, {NULL, NULL}};
    granary_err err = GRANARY_OK;
    size_t impossible;

    for (unsigned reader = 0; err == GRANARY_OK && reader < POST_READERS; reader++) {
        err = open_both(client, reader, channels[reader]);
    }
    if (err == GRANARY_OK) {
        const struct rest rests[] = {{channels[0][POST_QUEUE], POST_QUEUE, 0},
                                     {channels[0][POST_CAST], POST_CAST, 0},
                                     {channels[1][POST_CAST], POST_CAST, 1}};

        err = drain(work, rests, sizeof rests / sizeof rests[0]);
    }
    (void)work_count(work, err, "what is left");
    for (unsigned reader = 0; reader < POST_READERS; reader++) {
        granary_channel_close(channels[reader][POST_QUEUE]);
        granary_channel_close(channels[reader][POST_CAST]);
    }
    impossible = post_verdict(post, out);
    atomic_fetch_add(&work->board->special, atomic_exchange(&post->clock, 0) / 2);
    for (unsigned i = 0; i < POST_CHANNELS; i++) {
        (void)work_count(work, granary_channel_delete(client, names[i]), "delete");
    }
    return impossible;
}

const struct work_kind work_channels = {
    .special = "messages had", .journal_bytes = sizeof(struct post), .set = set, .run = run, .judge = judge};
