/*
 * frames: a producer keeps the last frames of a stream, such as a camera's; consumers wait for the next one, and look at any
 * that is still kept. Nobody waits for a slow consumer: it misses frames, and knows which.
 *
 *      frames produce NAME COUNT KEEP [BYTES]      COUNT frames, of which the last KEEP stay
 *      frames consume NAME UNTIL                   each newest frame, up to number UNTIL
 *
 * A frame is an object whose id is made of the stream's name and the frame's number. A counter of that name tells the number
 * of the newest: it wakes who waits, without a message. (Where each message matters, use a channel: docs/channels.md.)
 */
#include <granary/session.h>
#include <granary/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
failed(const char *what)
{
    (void)fprintf(stderr, "frames: %s: %s\n", what, granary_error_message());
    return 1;
}

static granary_id
frame_id(const char *name, int64_t number)
{
    char text[128];

    (void)snprintf(text, sizeof text, "%s/%lld", name, (long long)number);
    return granary_id_from_name("frames", text);
}

static int
produce(granary_client *client, granary_counter *newest, const char *name, int64_t count, int64_t keep, uint64_t bytes)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t number = granary_counter_get(newest) + 1; /* this is the only producer */
        granary_buffer buffer;

        if (granary_object_create(client, frame_id(name, number), bytes, sizeof number, GRANARY_FOREVER, &buffer) !=
            GRANARY_OK) {
            return failed("create");
        }
        (void)memset(buffer.data, (int)(number & 0xff), bytes); /* here a camera writes its pixels */
        memcpy(buffer.meta, &number, sizeof number);
        if (granary_object_seal(client, &buffer) != GRANARY_OK) {
            return failed("seal");
        }
        (void)granary_counter_add(newest, 1); /* now it can be found: consumers wake */
        /* The bytes of the one that is too old go when the last who looks at it lets go. */
        if (number > keep &&
            granary_object_delete(client, frame_id(name, number - keep), GRANARY_NOWAIT) != GRANARY_OK) {
            return failed("delete");
        }
    }
    return 0;
}

static int
consume(granary_client *client, granary_counter *newest, const char *name, int64_t until)
{
    int64_t seen = 0, missed = 0, number;

    while (seen < until) {
        granary_view view;
        granary_err err;

        if (granary_counter_wait(newest, seen + 1, GRANARY_FOREVER, &number) != GRANARY_OK) {
            return failed("wait");
        }
        err = granary_object_get(client, frame_id(name, number), 0, &view);
        if (err == GRANARY_ENOENT ||
            err == GRANARY_ETIMEDOUT) { /* the producer has gone on, and this one is not kept */
            continue;
        }
        if (err != GRANARY_OK) {
            return failed("get");
        }
        missed += number - seen - 1;
        seen = number;
        (void)printf("frame %lld: %llu bytes of %d, %lld missed so far\n", (long long)number,
                     (unsigned long long)view.data_size, ((const unsigned char *)view.data)[0], (long long)missed);
        granary_object_release(client, &view);
    }
    return 0;
}

int
main(int argc, char **argv)
{
    int producing = argc >= 5 && strcmp(argv[1], "produce") == 0;
    granary_counter *newest = NULL;
    granary_client *client = NULL;
    int status = 1;

    if (!producing && (argc != 4 || strcmp(argv[1], "consume") != 0)) {
        (void)fprintf(stderr, "usage: frames produce NAME COUNT KEEP [BYTES] | consume NAME UNTIL\n");
        return 2;
    }
    if (granary_connect(NULL, &client) != GRANARY_OK) {
        return failed("connect");
    }
    if (granary_counter_open(client, argv[2], &newest) != GRANARY_OK) {
        status = failed("counter");
    } else if (producing) {
        status = produce(client, newest, argv[2], strtoll(argv[3], NULL, 10), strtoll(argv[4], NULL, 10),
                         argc > 5 ? strtoull(argv[5], NULL, 10) : 4096);
    } else {
        status = consume(client, newest, argv[2], strtoll(argv[3], NULL, 10));
    }
    granary_counter_close(newest);
    granary_disconnect(client);
    return status;
}
