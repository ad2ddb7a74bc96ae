/*
 * One process puts an object, another maps it: nothing is copied between them.
 *
 *     cc -o put_get put_get.c $(pkg-config --cflags --libs granary-store)
 *     granary up && ./put_get
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <granary/store.h>

#define COUNT 1000000

static int
fail(const char *who)
{
    fprintf(stderr, "%s: %s\n", who, granary_error_message());
    return 1;
}

/* Build the object where it will stay, then seal it: from then on nobody can change it. */
static int
produce(granary_id id)
{
    granary_client *client;
    granary_buffer buffer;
    double *numbers;

    if (granary_connect(NULL, &client) != GRANARY_OK) {
        return fail("producer");
    }
    granary_object_delete(client, id, 0); /* of an earlier run, if any */
    if (granary_object_create(client, id, COUNT * sizeof *numbers, 0, 1000, &buffer) != GRANARY_OK) {
        return fail("producer");
    }
    numbers = buffer.data;
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = i;
    }
    if (granary_object_seal(client, &buffer) != GRANARY_OK) {
        return fail("producer");
    }
    printf("the producer sealed %llu bytes\n", (unsigned long long)buffer.data_size);
    granary_disconnect(client);
    return 0;
}

/* Map the object, read it in place, let go. */
static int
consume(granary_id id)
{
    granary_client *client;
    granary_view view;
    double sum = 0;

    if (granary_connect(NULL, &client) != GRANARY_OK || granary_object_get(client, id, 5000, &view) != GRANARY_OK) {
        return fail("consumer");
    }
    for (size_t i = 0; i < view.data_size / sizeof(double); i++) {
        sum += ((const double *)view.data)[i];
    }
    printf("the consumer mapped %llu bytes: %d numbers, their sum is %.0f\n", (unsigned long long)view.data_size,
           (int)(view.data_size / sizeof(double)), sum);
    granary_object_release(client, &view);
    granary_object_delete(client, id, 0);
    granary_disconnect(client);
    return 0;
}

int
main(void)
{
    granary_id id = granary_id_from_name(NULL, "put_get/numbers");
    pid_t producer;
    int status;

    fflush(stdout);
    producer = fork(); /* before any connection: a connection belongs to the process that made it */
    if (producer == 0) {
        int result = produce(id);

        fflush(stdout);
        _exit(result);
    }
    if (producer < 0 || waitpid(producer, &status, 0) < 0 || status != 0) {
        return 1;
    }
    return consume(id);
}
