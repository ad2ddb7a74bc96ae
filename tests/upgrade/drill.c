/*
 * Clients of an instance that is upgraded under them: drill INSTANCE COUNT. Each puts objects, gets them again, and deletes
 * every second one, until stdin ends. No call may fail, and at the end all that was kept must be there.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "granary/store.h"

#define SIZE  4096u
#define LATER 16u /* an object is read so many objects later */

static void
must(granary_err err, const char *what, unsigned client, unsigned object)
{
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "client %u, object %u: %s: %s\n", client, object, what, granary_error_message());
        _exit(1);
    }
}

static void
put(granary_client *client, unsigned number, unsigned object, granary_id *ret_id)
{
    granary_buffer buffer;

    memset(ret_id, 0, sizeof *ret_id);
    memcpy(ret_id->bytes, &number, sizeof number);
    memcpy(ret_id->bytes + sizeof number, &object, sizeof object);
    must(granary_object_create(client, *ret_id, SIZE, 0, 60000, &buffer), "create", number, object);
    for (unsigned i = 0; i < SIZE / sizeof(unsigned); i++) {
        ((unsigned *)buffer.data)[i] = number * 1000000 + object;
    }
    must(granary_object_seal(client, &buffer), "seal", number, object);
}

static void
check(granary_client *client, unsigned number, unsigned object, granary_id id)
{
    granary_view view;

    must(granary_object_get(client, id, 60000, &view), "get", number, object);
    for (unsigned i = 0; i < SIZE / sizeof(unsigned); i++) {
        if (view.data_size != SIZE || ((const unsigned *)view.data)[i] != number * 1000000 + object) {
            (void)fprintf(stderr, "client %u, object %u has other bytes\n", number, object);
            _exit(1);
        }
    }
    granary_object_release(client, &view);
}

static bool
is_over(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&in, 1, 2) > 0;
}

static int
work(const char *instance, unsigned number)
{
    granary_connect_options options = {.instance = instance, .reconnect_ms = 60000};
    granary_client *client = NULL;
    granary_id *ids = NULL;
    unsigned count = 0;

    must(granary_connect(&options, &client), "connect", number, 0);
    do {
        ids = realloc(ids, (count + 1) * sizeof *ids);
        put(client, number, count, &ids[count]);
        if (count >= LATER) {
            check(client, number, count - LATER, ids[count - LATER]);
        }
        if (count >= LATER && (count - LATER) % 2 == 1) {
            must(granary_object_delete(client, ids[count - LATER], 0), "delete", number, count - LATER);
        }
        count++;
    } while (!is_over());
    for (unsigned i = 0; i < count; i++) {
        if (i % 2 == 0 || i + LATER >= count) {
            check(client, number, i, ids[i]);
        }
    }
    granary_disconnect(client);
    free(ids);
    return 0;
}

int
main(int argc, char **argv)
{
    unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    int status, failed = 0;

    for (unsigned i = 0; i < count; i++) {
        if (fork() == 0) {
            _exit(work(argv[1], i + 1));
        }
    }
    while (wait(&status) > 0) {
        failed += status != 0;
    }
    (void)printf("%u clients, %d failed\n", count, failed);
    return failed > 0;
}
