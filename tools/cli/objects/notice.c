/* A thread beside the command looks now and then. Twice in a row is waiting, once may be chance. */
#include "cli/objects/notice.h"

#include <stdio.h>

#include "base/clock.h"
#include "object/object.h"

#define LOOK_MS 500 /* waits that are over before the second look are not worth a word */

static void *
look(void *argument)
{
    struct notice *notice = argument;
    unsigned seen = 0;
    uint64_t bytes;
    char size[32];

    (void)pthread_mutex_lock(&notice->lock);
    while (!notice->ended && seen < 2) {
        (void)gr_cond_wait_ns(&notice->over, &notice->lock, gr_deadline_ns(LOOK_MS));
        seen = gr_client_waits_for_room(notice->client, &bytes) ? seen + 1 : 0;
    }
    if (seen == 2 && !notice->ended) {
        (void)fprintf(stderr, "granary: %s: waits for room, %s", notice->command, cli_format_size(bytes, size));
        if (notice->timeout_ms >= 0) {
            (void)fprintf(stderr, ", %g s at most (--timeout)", notice->timeout_ms / 1000.0);
        }
        (void)fprintf(stderr, ": `granary why` tells who holds it\n");
    }
    (void)pthread_mutex_unlock(&notice->lock);
    return NULL;
}

void
notice_begin(struct notice *notice, granary_client *client, const char *command, int timeout_ms)
{
    *notice = (struct notice){.client = client, .command = command, .timeout_ms = timeout_ms};
    (void)pthread_mutex_init(&notice->lock, NULL);
    (void)pthread_cond_init(&notice->over, NULL);
    notice->begun = pthread_create(&notice->thread, NULL, look, notice) == 0;
}

void
notice_end(struct notice *notice)
{
    (void)pthread_mutex_lock(&notice->lock);
    notice->ended = true;
    (void)pthread_cond_signal(&notice->over);
    (void)pthread_mutex_unlock(&notice->lock);
    if (notice->begun) {
        (void)pthread_join(notice->thread, NULL);
    }
    (void)pthread_cond_destroy(&notice->over);
    (void)pthread_mutex_destroy(&notice->lock);
}
