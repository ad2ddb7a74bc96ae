/*
 * A store that takes over what another left behind, damaged: root, sessions, indexes, ledgers, lease pages, spill
 * files; cut, or gone. It refuses with a message and leaves all as it lies, or serves: the account adds up, what it
 * gives out is right, and it can be used. See store/image.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "granary/session.h"
#include "image.h"
#include "world.h"

#define MEMORY ((uint64_t)4 << 20)

/* What the damage did not touch is what it was, or is not there. */
static void
check_objects(granary_client *const clients[2])
{
    static unsigned char want[1 << 16];

    for (unsigned n = 0; n < IMAGE_OBJECTS; n++) {
        const struct image_object *object = &image_objects[n];
        granary_client *client = clients[object->session[0] == 'b'];
        granary_view view;

        if (client == NULL || granary_object_get(client, object->id, 0, &view) != GRANARY_OK) {
            continue;
        }
        if (!object->touched) {
            image_fill(want, object->data_size, object->seed);
            MUST(view.data_size == object->data_size && memcmp(view.data, want, object->data_size) == 0,
                 "the bytes of object %u", n);
        }
        granary_object_release(client, &view);
    }
}

/* It can be used like any other. */
static void
use(granary_client *client, unsigned which)
{
    static unsigned char bytes[30000];
    granary_id id = {{200, 7}};
    granary_object_info *infos;
    granary_view view;
    size_t count;
    granary_err err;

    id.bytes[3] = (unsigned char)which;
    image_fill(bytes, sizeof bytes, 77);
    err = granary_object_put(client, id, bytes, sizeof bytes, NULL, 0, 0);
    if (err == GRANARY_OK) {
        MUST(granary_object_get(client, id, 0, &view) == GRANARY_OK, "a new object");
        MUST(view.data_size == sizeof bytes && memcmp(view.data, bytes, sizeof bytes) == 0, "its bytes");
        granary_object_release(client, &view);
        MUST(granary_object_delete(client, id, 0) == GRANARY_OK, "its deletion");
    } else { /* damage may have taken all the room, or all the numbers */
        MUST(granary_error_message()[0] != '\0', "an error has a message");
    }
    MUST(granary_object_list(client, &infos, &count) == GRANARY_OK, "a list");
    for (size_t i = 0; i < count && which != 0; i++) {
        (void)granary_object_delete(client, infos[i].id, 0);
    }
    free(infos);
}

static void
serve(void)
{
    static const char *const names[2] = {"a", "b"};
    granary_connect_options options = {.instance = world.instance, .tag = "after", .timeout_ms = 60000};
    granary_client *clients[2] = {NULL, NULL};

    world_audit("adoption");
    for (unsigned i = 0; i < 2; i++) {
        options.session = names[i];
        if (granary_connect(&options, &clients[i]) != GRANARY_OK) {
            clients[i] = NULL;
            MUST(granary_error_message()[0] != '\0', "a refusal has a message");
        }
    }
    check_objects(clients);
    for (unsigned i = 0; i < 2; i++) {
        if (clients[i] != NULL) {
            use(clients[i], i);
        }
    }
    world_audit("use");
    check_objects(clients);
    for (unsigned i = 0; i < 2; i++) {
        granary_disconnect(clients[i]);
    }
    world_settle();
    world_audit("everybody left");
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool taken;
    struct input input = {bytes, size};
    granary_err err;

    world_enter();
    if (!taken) {
        image_take(MEMORY);
        taken = true;
    }
    image_restore();
    image_damage(&input);
    err = store_create(&world.options, &world.store);
    if (err == GRANARY_OK) {
        serve();
    } else {
        world.store = NULL;
        MUST(granary_error_message()[0] != '\0', "a refusal has a message");
        world.options.fresh = true;
        MUST(store_create(&world.options, &world.store) == GRANARY_OK, "a fresh store starts all the same");
        world.options.fresh = false;
    }
    store_destroy(world.store);
    world.store = NULL;
    world_leave();
    return 0;
}
