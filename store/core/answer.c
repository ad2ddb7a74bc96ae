/* Answers to requests: sent at once, and a client that does not read its own is dropped when the turn ends. */
#include "store/core/answer.h"

#include <string.h>

#include "base/error.h"
#include "wire/frame.h"

static void
send_answer(struct client *client, const struct gr_frame *head, const void *body, const int *fds, int fd_count)
{
    granary_err err = client->gone ? GRANARY_OK : gr_frame_send(client->fd, head, body, fds, fd_count);

    if (err != GRANARY_OK) {
        /* Dropped at the end of the turn: whoever is answering may still be using it. */
        client->doomed = true;
        client->deaf = err == GRANARY_EBUSY;
        client->store->clients.any_doomed = true;
    }
}

void
client_answer(struct client *client, const struct gr_frame *request, const void *body, size_t size, const int *fds,
              int fd_count)
{
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = request->op, .seq = request->seq, .size = (uint32_t)size};

    send_answer(client, &head, body, fds, fd_count);
}

granary_err
client_answer_error(struct client *client, const struct gr_frame *request, granary_err err)
{
    const char *message = granary_error_message();
    struct gr_frame head = {
        .magic = GR_STORE_MAGIC, .op = request->op, .seq = request->seq, .err = err, .size = (uint32_t)strlen(message)};

    send_answer(client, &head, message, NULL, 0);
    return err;
}
