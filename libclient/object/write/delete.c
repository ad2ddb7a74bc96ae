/* Delete: one, or many with one wait. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "object/client.h"

static granary_err
push_delete(granary_client *client, granary_id id, struct ring_answer *answer, uint64_t *ret_position)
{
    struct gr_ring_entry entry = {.op = GR_RING_DELETE};

    memcpy(entry.id, id.bytes, sizeof entry.id);
    return ring_push(client, &entry, answer, true, ret_position);
}

granary_err
granary_object_delete(granary_client *client, granary_id id, int flags)
{
    bool wait = (flags & GRANARY_NOWAIT) == 0;
    struct ring_answer answer = {.done = false};
    granary_err err = gr_client_check(client);
    uint64_t position;

    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_mutex_lock(&client->lock);
    err = push_delete(client, id, wait ? &answer : NULL, &position);
    (void)pthread_mutex_unlock(&client->lock);
    if (err != GRANARY_OK || !wait) {
        return err;
    }
    err = ring_wait(client, position, &answer);
    if (answer.done && err != GRANARY_OK) {
        return gr_fail(err, "object %s: %s", id_text(id), granary_error_text(err));
    }
    return err;
}

/* Send all, wait for the last. Errors: why some have no answer */
static granary_err
delete_all(granary_client *client, const granary_id *ids, size_t count, struct ring_answer *answers)
{
    granary_err err = GRANARY_OK;
    uint64_t position = 0;
    size_t sent = 0;

    (void)pthread_mutex_lock(&client->lock);
    while (sent < count && (err = push_delete(client, ids[sent], &answers[sent], &position)) == GRANARY_OK) {
        sent++;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (err == GRANARY_OK) {
        err = ring_wait(client, position, &answers[count - 1]);
        err = answers[count - 1].done ? GRANARY_OK : err;
    }
    if (err != GRANARY_OK) {
        (void)pthread_mutex_lock(&client->lock);
        ring_forget(client, answers, count);
        (void)pthread_mutex_unlock(&client->lock);
    }
    return err;
}

granary_err
granary_object_delete_many(granary_client *client, const granary_id *ids, size_t count, granary_err *ret_errs)
{
    granary_err err = gr_client_check(client);
    granary_err lost;
    struct ring_answer *answers;

    if (err != GRANARY_OK || count == 0) {
        return err;
    }
    answers = calloc(count, sizeof *answers);
    if (answers == NULL) {
        return gr_fail(GRANARY_ENOMEM, "delete %zu objects: out of memory", count);
    }
    lost = delete_all(client, ids, count, answers);
    for (size_t i = 0; i < count; i++) {
        granary_err one = answers[i].done ? answers[i].err : lost;

        if (ret_errs != NULL) {
            ret_errs[i] = one;
        }
        if (one != GRANARY_OK && err == GRANARY_OK) {
            err = answers[i].done ? gr_fail(one, "object %s: %s", id_text(ids[i]), granary_error_text(one)) : one;
        }
    }
    free(answers);
    return err;
}
