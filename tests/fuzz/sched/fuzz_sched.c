/* What clients and executors tell the scheduler, in any order: requests, registrations and reports made by the schema
 * from what the scheduler itself has said, deaths, time and restarts. In the end an honest graph must run. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "fuzz/fuzz.h"
#include "play.h"

#define EVENTS_MAX 64

static void
hostile_request(struct play *play, struct choices *choices)
{
    struct message_words words = play_words(play);
    Granary__Request *request = (Granary__Request *)make_unpacked(choices, &words, &granary__request__descriptor);

    if (request != NULL) {
        play_requests(play, request);
        granary__request__free_unpacked(request, NULL);
    }
}

static void
hostile_report(struct play *play, struct choices *choices)
{
    struct message_words words = play_words(play);
    uint32_t executor = play_executor(play, choices);
    Granary__Done *done = (Granary__Done *)make_unpacked(choices, &words, &granary__done__descriptor);

    if (done != NULL && executor != 0) {
        manager_done(play->manager, executor, done);
    }
    if (done != NULL) {
        granary__done__free_unpacked(done, NULL);
    }
}

/* Of a subtask that was given, by anybody, with anything in it; it may be answered again. */
static void
half_honest_report(struct play *play, struct choices *choices)
{
    struct message_words words = play_words(play);
    uint32_t executor = play_executor(play, choices);
    const struct play_given *given;
    Granary__Done *done;

    if (play->given_count == 0 || executor == 0) {
        return;
    }
    given = &play->given[choose(choices, (uint32_t)play->given_count)];
    done = (Granary__Done *)make_unpacked(choices, &words, &granary__done__descriptor);
    if (done != NULL) {
        done->number = given->subtask->number;
        done->attempt = given->subtask->attempt + choose(choices, 3) % 2;
        done->err = choose(choices, 3) == 0 ? 0 : done->err;
        manager_done(play->manager, choose(choices, 3) == 0 ? executor : given->executor, done);
        granary__done__free_unpacked(done, NULL);
    }
}

static void
hostile_claims(struct play *play, struct choices *choices)
{
    struct message_words words = play_words(play);
    uint32_t executor = play_executor(play, choices);
    Granary__Register *message = (Granary__Register *)make_unpacked(choices, &words, &granary__register__descriptor);

    if (message != NULL && executor != 0) {
        manager_executor_claims(play->manager, executor, message);
    }
    if (message != NULL) {
        granary__register__free_unpacked(message, NULL);
    }
}

static void
executor_event(struct play *play, struct choices *choices)
{
    uint32_t executor = play_executor(play, choices);
    struct message_words words = play_words(play);
    uint64_t number = words.number_count == 0 ? 1 : words.numbers[choose(choices, (uint32_t)words.number_count)];

    if (executor == 0) {
        return;
    }
    switch (choose(choices, 8)) {
    case 0:
        manager_executor_pulls(play->manager, executor, choose(choices, 5));
        break;
    case 1:
        manager_executor_drain(play->manager, executor, choose(choices, 2) == 1);
        break;
    case 2:
        manager_executor_death(play->manager, executor, (int32_t)choose(choices, 40), (int32_t)choose(choices, 256));
        break;
    case 3:
        manager_executor_was_at(play->manager, executor, number, choose(choices, 3), "log\n\xff\x1b");
        break;
    case 4:
        manager_freed(play->manager, executor, choose(choices, 2) == 0 ? number : UINT64_MAX);
        break;
    case 5:
        manager_executor_busy(play->manager, number, choose(choices, 3));
        break;
    case 6:
        manager_executor_busy_died(play->manager, number, choose(choices, 3));
        break;
    default:
        manager_executor_ended(play->manager, executor);
        break;
    }
}

static void
watch(struct play *play, struct choices *choices)
{
    for (uint32_t i = 0; i < PLAY_EXECUTORS; i++) {
        struct message_words words = play_words(play);
        struct manager_seen seen = {
            .subtask = words.number_count == 0 ? 0 : words.numbers[choose(choices, (uint32_t)words.number_count)],
            .attempt = choose(choices, 3),
            .running_ns = (int64_t)choose(choices, 1000) * 1000000 - 1,
            .private_bytes = (uint64_t)choose(choices, 3) << 40,
            .waits_since_ns = (int64_t)choose(choices, 256),
            .idle = choose(choices, 2) == 1};

        if (words.id_count > 0 && choose(choices, 2) == 0) {
            memcpy(seen.waits_for.bytes, words.ids[choose(choices, (uint32_t)words.id_count)], 16);
        }
        if (play->executors[i] != 0) {
            manager_watch(play->manager, play->executors[i], &seen, play->now_ns);
        }
    }
    manager_watched(play->manager, play->now_ns);
}

static void
event(struct play *play, struct choices *choices)
{
    static const char *const keys[] = {"k0", "k1", "k2", ""};

    switch (choose(choices, 16)) {
    case 0:
    case 1:
        play_submits(play, CHOOSE_FROM(choices, keys), choose(choices, 16));
        break;
    case 2:
        play_joins(play, choose(choices, PLAY_EXECUTORS));
        break;
    case 3:
        play_dies(play, choose(choices, PLAY_EXECUTORS));
        break;
    case 4:
    case 5:
        if (play->given_count > 0) {
            play_answers(play, choose(choices, (uint32_t)play->given_count), GRANARY_OK);
        }
        break;
    case 6:
        if (play->given_count > 0) {
            play_answers(play, choose(choices, (uint32_t)play->given_count), (granary_err)choose(choices, 24));
        }
        break;
    case 7:
        hostile_report(play, choices);
        break;
    case 8:
    case 9:
        half_honest_report(play, choices);
        break;
    case 10:
        hostile_claims(play, choices);
        break;
    case 11:
        executor_event(play, choices);
        break;
    case 12:
        watch(play, choices);
        break;
    case 13:
        play->now_ns += (int64_t)choose(choices, 65536) * 1000000;
        break;
    case 14:
        play_restarts(play);
        break;
    default:
        hostile_request(play, choices);
        break;
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
    for (int i = 0; i < EVENTS_MAX && choices.left > 0; i++) {
        event(play, &choices);
        if (choose(&choices, 2) == 0) {
            play_turn(play);
        }
    }
    play_honestly(play);
    play_end(play);
    free(play);
    return 0;
}
