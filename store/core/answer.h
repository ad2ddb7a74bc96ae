/* Answers to requests of clients, now or later. */
#ifndef STORE_ANSWER_H
#define STORE_ANSWER_H

#include <stddef.h>

#include "store/core/core.h"

/* Answer a request; a client that does not read its answers is dropped soon. */
void client_answer(struct client *client, const struct gr_frame *request, const void *body, size_t size, const int *fds,
                   int fd_count);
/* ... with the thread's error message. Returns err. */
granary_err client_answer_error(struct client *client, const struct gr_frame *request, granary_err err);

#endif
