/*
 * get_loop DIRECTORY COUNT: get and release objects of a store COUNT times. For `strace -f -c`, which must show that
 * the number of system calls does not depend on COUNT.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "granary/store.h"

#define OBJECTS 1000u

static granary_id
id_of(unsigned n)
{
    char name[32];

    (void)snprintf(name, sizeof name, "get-loop-%u", n);
    return granary_id_from_name(NULL, name);
}

int
main(int argc, char **argv)
{
    granary_client *client = NULL;
    granary_id ids[OBJECTS];
    unsigned long count;
    int64_t began;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: get_loop DIRECTORY COUNT\n");
        return 2;
    }
    count = strtoul(argv[2], NULL, 10);
    if (granary_connect(&(granary_connect_options){.instance = argv[1]}, &client) != GRANARY_OK) {
        goto fail;
    }
    for (unsigned n = 0; n < OBJECTS; n++) {
        ids[n] = id_of(n);
        if (!granary_object_contains(client, ids[n]) &&
            granary_object_put(client, ids[n], "granary", 7, NULL, 0, GRANARY_NOWAIT) != GRANARY_OK) {
            goto fail;
        }
    }
    if (granary_flush(client) != GRANARY_OK) {
        goto fail;
    }
    began = gr_now_ns();
    for (unsigned long i = 0; i < count; i++) {
        granary_view view;

        if (granary_object_get(client, ids[i % OBJECTS], 0, &view) != GRANARY_OK) {
            goto fail;
        }
        if (memcmp(view.data, "granary", 7) != 0) {
            (void)fprintf(stderr, "get_loop: wrong bytes\n");
            return 1;
        }
        granary_object_release(client, &view);
    }
    (void)printf("%lu gets, %.1f ns each\n", count, (double)(gr_now_ns() - began) / (double)(count > 0 ? count : 1));
    granary_disconnect(client);
    return 0;
fail:
    (void)fprintf(stderr, "get_loop: %s\n", granary_error_message());
    granary_disconnect(client);
    return 1;
}
