#include "state/state.h"

#include <string.h>

#include "base/error.h"

const struct state_ops *
state_find(const char *name)
{
    static const struct state_ops *const all[] = {&state_memory, &state_sqlite};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i]->name, name) == 0) {
            return all[i];
        }
    }
    return NULL;
}

granary_err
state_check(const char *space, const void *key, size_t key_size)
{
    if (space == NULL || space[0] == '\0' || strlen(space) > STATE_SPACE_MAX) {
        return gr_fail(GRANARY_EINVAL, "state: a space has 1 to %d characters", STATE_SPACE_MAX);
    }
    if (key == NULL || key_size == 0 || key_size > STATE_KEY_MAX) {
        return gr_fail(GRANARY_EINVAL, "state: a key in '%s' has 1 to %d bytes, not %zu", space, STATE_KEY_MAX,
                       key_size);
    }
    return GRANARY_OK;
}
