/* What all kinds of states share: found by name, checks of keys, and the lock with its fence. */
#include "state/state.h"

#include <stdlib.h>
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

/* A lock is an entry of its own space, "FENCE OWNER". */
#define LOCKS "locks"

granary_err
state_fence(const struct state_ops *ops, void *self, const char *name, uint64_t *ret_fence)
{
    struct gr_buf value = {0};
    granary_err err = ops->get(self, LOCKS, name, strlen(name), &value, NULL);

    if (err == GRANARY_OK) {
        *ret_fence = strtoull(value.bytes, NULL, 10);
    } else if (err == GRANARY_ENOENT) {
        *ret_fence = 0;
        err = GRANARY_OK;
    }
    gr_buf_free(&value);
    return err;
}

granary_err
state_lock(const struct state_ops *ops, void *self, const char *name, const char *owner, uint64_t at_least,
           uint64_t *ret_fence)
{
    struct gr_buf value = {0};
    uint64_t fence = 0;
    granary_err err = state_fence(ops, self, name, &fence);

    if (err != GRANARY_OK) {
        return err;
    }
    fence = fence + 1 > at_least ? fence + 1 : at_least;
    gr_buf_addf(&value, "%llu %s", (unsigned long long)fence, owner);
    err = gr_buf_ok(&value) ? ops->put(self,
                                       &(struct state_put){.space = LOCKS,
                                                           .key = name,
                                                           .key_size = strlen(name),
                                                           .value = value.bytes,
                                                           .value_size = value.size,
                                                           .expected = STATE_ANY},
                                       NULL)
                            : gr_fail(GRANARY_ENOMEM, "state: out of memory");
    if (err == GRANARY_OK) {
        err = ops->commit(self);
    }
    if (err == GRANARY_OK && ops->sync != NULL) {
        err = ops->sync(self);
    }
    if (err == GRANARY_OK) {
        *ret_fence = fence;
    }
    gr_buf_free(&value);
    return err;
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
