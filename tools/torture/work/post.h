/*
 * What writers and readers of channels noted, and whether it can be true. A message is noted before it is put, and its outcome
 * when the call has returned. A reader notes a message when it has it, says that it is done, and notes that.
 *
 * A number taken from one clock of the run stands with each note: what has the lower one was noted first.
 */
#ifndef TORTURE_POST_H
#define TORTURE_POST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define POST_WRITERS  2u
#define POST_READERS  2u         /* and one more: the run itself, which takes what is left */
#define POST_MESSAGES (1u << 15) /* of a writer, in one round */
#define POST_LETTERS  (1u << 16) /* of a reader */

enum post_channel { POST_QUEUE, POST_CAST, POST_CHANNELS };

enum post_outcome {
    POST_UNKNOWN = 0, /* its writer died, or was not told */
    POST_DONE = 1,
    POST_REFUSED = 2, /* nothing was put */
};

/* A message as a reader had it. */
struct letter {
    uint32_t writer, number;
    uint32_t source; /* the life of the writer: each has a lane of its own, and lanes are mixed */
    uint32_t life;   /* of the reader */
    bool again;      /* the channel said that another one may have seen it */
    uint64_t noted;
    _Atomic uint64_t done; /* 0: not, as far as is known */
};

struct post_hand {
    _Atomic uint32_t count; /* begun */
    _Atomic uint8_t outcomes[POST_MESSAGES];
};

struct post_box {
    _Atomic uint32_t count;
    struct letter letters[POST_LETTERS];
};

struct post {
    _Atomic uint64_t clock;
    _Atomic uint32_t lives;
    struct post_hand hands[POST_CHANNELS][POST_WRITERS];
    struct post_box boxes[POST_CHANNELS][POST_READERS + 1];
};

/* Begin a round. */
void post_clear(struct post *post);

/* A message's number; POST_MESSAGES: there is no room for more. */
uint32_t post_begin(struct post *post, enum post_channel channel, unsigned writer);
void
post_end(struct post *post, enum post_channel channel, unsigned writer, uint32_t number, enum post_outcome outcome);

/* NULL: there is no room for more. */
struct letter *post_note(struct post *post, enum post_channel channel, unsigned reader, struct letter letter);
void post_done(struct post *post, struct letter *letter);

/*
 * In a queue, all readers have each message once, together. In a broadcast, each reader has each one once; box POST_READERS is
 * what the run took in the name of the readers, `life` saying of which. It is impossible that
 *
 *   - a message that was put is nobody's at the end
 *   - one is had that was refused, or never put
 *   - one is had twice without being said to come again, or once more after a reader was done with it
 *   - one life of a reader has messages of one life of a writer in another order than they were put, but for those that come again
 *
 * Returns how many of these there are; the first ones are said on `out`. SIZE_MAX: out of memory.
 */
size_t post_verdict(const struct post *post, FILE *out);

#endif
