/* Each message has a card, on which everything is noted that some reader saw of it. */
#include "torture/work/post.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAID 20u

void
post_clear(struct post *post)
{
    for (unsigned channel = 0; channel < POST_CHANNELS; channel++) {
        for (unsigned i = 0; i < POST_WRITERS; i++) {
            memset(&post->hands[channel][i], 0, sizeof post->hands[channel][i]);
        }
        for (unsigned i = 0; i <= POST_READERS; i++) {
            memset(post->boxes[channel][i].letters, 0,
                   atomic_load(&post->boxes[channel][i].count) * sizeof(struct letter));
            atomic_store(&post->boxes[channel][i].count, 0);
        }
    }
}

uint32_t
post_begin(struct post *post, enum post_channel channel, unsigned writer)
{
    struct post_hand *hand = &post->hands[channel][writer];
    uint32_t number = atomic_load(&hand->count);

    if (number < POST_MESSAGES) {
        atomic_store(&hand->count, number + 1);
    }
    return number;
}

void
post_end(struct post *post, enum post_channel channel, unsigned writer, uint32_t number, enum post_outcome outcome)
{
    atomic_store(&post->hands[channel][writer].outcomes[number], (uint8_t)outcome);
}

struct letter *
post_note(struct post *post, enum post_channel channel, unsigned reader, struct letter letter)
{
    struct post_box *box = &post->boxes[channel][reader];
    uint32_t count = atomic_load(&box->count);

    if (count == POST_LETTERS) {
        return NULL;
    }
    box->letters[count] = letter;
    box->letters[count].noted = atomic_fetch_add(&post->clock, 1) + 1;
    atomic_store(&box->count, count + 1);
    return &box->letters[count];
}

void
post_done(struct post *post, struct letter *letter)
{
    atomic_store(&letter->done, atomic_fetch_add(&post->clock, 1) + 1);
}

/* ---- the verdict ---- */

/* What is known of one message among readers that share it. */
struct card {
    uint32_t had, first; /* how often; without being said to come again */
    uint64_t done;       /* the first time; 0: never */
    uint64_t latest;     /* had */
};

struct court {
    const struct post *post;
    FILE *out;
    size_t findings;
    struct card *cards; /* of all writers' messages */
    int64_t *newest;    /* message of each life of a writer, that a life of a reader had */
    size_t sources;
};

static void
find(struct court *court, enum post_channel channel, const char *what, unsigned writer, uint32_t number)
{
    if (court->findings++ < SAID) {
        (void)fprintf(court->out, "torture: %s: message %" PRIu32 " of writer %u %s\n",
                      channel == POST_QUEUE ? "queue" : "broadcast", number, writer, what);
    }
}

static void
take(struct court *court, enum post_channel channel, const struct letter *letter)
{
    struct card *card;
    uint64_t done = atomic_load(&letter->done);

    if (letter->writer >= POST_WRITERS ||
        letter->number >= atomic_load(&court->post->hands[channel][letter->writer].count)) {
        find(court, channel, "was had, and never put", letter->writer, letter->number);
        return;
    }
    card = &court->cards[letter->writer * POST_MESSAGES + letter->number];
    card->had++;
    card->first += !letter->again;
    card->latest = letter->noted > card->latest ? letter->noted : card->latest;
    card->done = done > 0 && (card->done == 0 || done < card->done) ? done : card->done;
}

/* In one life, numbers of one life of a writer ascend. */
static void
check_order(struct court *court, enum post_channel channel, const struct post_box *box)
{
    const uint32_t count = atomic_load(&box->count);
    uint32_t life = UINT32_MAX;

    for (uint32_t i = 0; i < count; i++) {
        const struct letter *letter = &box->letters[i];

        if (i == 0 || letter->life != life) {
            life = letter->life;
            memset(court->newest, 0xff, court->sources * sizeof *court->newest);
        }
        if (letter->source >= court->sources || letter->again) {
            continue;
        }
        if ((int64_t)letter->number <= court->newest[letter->source]) {
            find(court, channel, "came behind a later one", letter->writer, letter->number);
        }
        court->newest[letter->source] = letter->number;
    }
}

static void
judge_cards(struct court *court, enum post_channel channel)
{
    for (unsigned writer = 0; writer < POST_WRITERS; writer++) {
        const struct post_hand *hand = &court->post->hands[channel][writer];
        const uint32_t count = atomic_load(&hand->count);

        for (uint32_t number = 0; number < count; number++) {
            const struct card *card = &court->cards[writer * POST_MESSAGES + number];
            const uint8_t outcome = atomic_load(&hand->outcomes[number]);

            if (outcome == POST_DONE && card->had == 0) {
                find(court, channel, "was put, and is lost", writer, number);
            }
            if (outcome == POST_REFUSED && card->had > 0) {
                find(court, channel, "was refused, and had", writer, number);
            }
            if (card->first > 1) {
                find(court, channel, "was had twice, and not said to come again", writer, number);
            }
            if (card->done > 0 && card->latest > card->done) {
                find(court, channel, "was had after a reader was done with it", writer, number);
            }
        }
    }
}

/* All letters of some boxes. named: of the run's box those of that reader alone. */
static void
judge_group(struct court *court, enum post_channel channel, unsigned from, unsigned to, bool named)
{
    const struct post_box *last = &court->post->boxes[channel][POST_READERS];

    memset(court->cards, 0, (size_t)POST_WRITERS * POST_MESSAGES * sizeof *court->cards);
    for (unsigned reader = from; reader < to; reader++) {
        const struct post_box *box = &court->post->boxes[channel][reader];
        const uint32_t count = atomic_load(&box->count);

        for (uint32_t i = 0; i < count; i++) {
            take(court, channel, &box->letters[i]);
        }
    }
    for (uint32_t i = 0; i < atomic_load(&last->count); i++) {
        if (!named || last->letters[i].life == from) {
            take(court, channel, &last->letters[i]);
        }
    }
    judge_cards(court, channel);
}

size_t
post_verdict(const struct post *post, FILE *out)
{
    const size_t sources = (size_t)atomic_load(&post->lives) + POST_WRITERS;
    struct court court = {.post = post,
                          .out = out,
                          .cards = calloc((size_t)POST_WRITERS * POST_MESSAGES, sizeof *court.cards),
                          .newest = calloc(sources, sizeof *court.newest),
                          .sources = sources};

    if (court.cards == NULL || court.newest == NULL) {
        free(court.cards);
        free(court.newest);
        return SIZE_MAX;
    }
    judge_group(&court, POST_QUEUE, 0, POST_READERS, false);
    for (unsigned reader = 0; reader < POST_READERS; reader++) {
        judge_group(&court, POST_CAST, reader, reader + 1, true);
    }
    for (unsigned channel = 0; channel < POST_CHANNELS; channel++) {
        for (unsigned reader = 0; reader <= POST_READERS; reader++) {
            check_order(&court, (enum post_channel)channel, &post->boxes[channel][reader]);
        }
    }
    free(court.cards);
    free(court.newest);
    return court.findings;
}
