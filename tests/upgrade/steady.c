/*
 * steady N: a client that does not stop. It puts objects, gets and names them, and keeps some; whatever fails ends it with
 * a message. A line "ready" is printed at the first round, and the rounds at the end, which SIGTERM asks for.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <granary/hold.h>
#include <granary/store.h>

#define KEPT    16
#define SIZE    4096
#define WAIT_MS 60000

static volatile sig_atomic_t over;

static void
stop(int number)
{
    (void)number;
    over = 1;
}

static void
must(granary_err err, const char *what)
{
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "%s: %s: %s\n", what, granary_error_name(err), granary_error_message());
        exit(1);
    }
}

static granary_id
id_of(const char *who, uint64_t round)
{
    char name[64];

    (void)snprintf(name, sizeof name, "steady/%s/%" PRIu64, who, round % KEPT);
    return granary_id_from_name(NULL, name);
}

static void
put(granary_client *client, granary_id id, uint64_t round)
{
    granary_buffer buffer;

    must(granary_object_create(client, id, SIZE, 0, WAIT_MS, &buffer), "create");
    for (size_t i = 0; i < SIZE / sizeof round; i++) {
        ((uint64_t *)buffer.data)[i] = round + i;
    }
    must(granary_object_seal(client, &buffer), "seal");
}

static void
check(granary_client *client, granary_id id, uint64_t round)
{
    granary_view view;

    must(granary_object_get(client, id, WAIT_MS, &view), "get");
    for (size_t i = 0; i < SIZE / sizeof round; i++) {
        if (view.data_size != SIZE || ((const uint64_t *)view.data)[i] != round + i) {
            (void)fprintf(stderr, "round %" PRIu64 ": other bytes at %zu\n", round, i);
            exit(1);
        }
    }
    granary_object_release(client, &view);
}

int
main(int argc, char **argv)
{
    granary_client *client = NULL;
    const char *who = argc > 1 ? argv[1] : "0";
    uint64_t round;

    (void)signal(SIGTERM, stop);
    must(granary_connect(NULL, &client), "connect");
    for (round = 0; !over; round++) {
        granary_id id = id_of(who, round);
        granary_id named;

        if (round >= KEPT) { /* it has been there for a while */
            check(client, id, round - KEPT);
            must(granary_object_delete(client, id, 0), "delete");
        }
        put(client, id, round);
        check(client, id, round);
        must(granary_name_set(client, who, id, GRANARY_NAME_ANY, id, NULL), "name");
        must(granary_name_get(client, who, &named), "name get");
        if (memcmp(&named, &id, sizeof id) != 0) {
            (void)fprintf(stderr, "round %" PRIu64 ": the name means another object\n", round);
            return 1;
        }
        if (round == 0) {
            (void)puts("ready");
            (void)fflush(stdout);
        }
    }
    granary_disconnect(client);
    (void)printf("%" PRIu64 "\n", round);
    return 0;
}
