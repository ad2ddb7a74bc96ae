#include "leaks.h"

#include "object/client.h"

/* Of the leak checker, where it is there. */
void __lsan_register_root_region(const void *at, size_t size) __attribute__((weak));
void __lsan_unregister_root_region(const void *at, size_t size) __attribute__((weak));

static const size_t map_size = SEGMENT_TOP * sizeof(segment_leaf);

void
leaks_watch(const granary_client *client)
{
    if (__lsan_register_root_region != NULL) {
        __lsan_register_root_region(client->segments, map_size);
    }
}

void
leaks_forget(const granary_client *client)
{
    if (__lsan_unregister_root_region != NULL) {
        __lsan_unregister_root_region(client->segments, map_size);
    }
}
