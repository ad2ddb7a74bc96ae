/*
 * Answers to questions, as JSON or text. A table of the scheduler is asked for over a connection that its thread keeps; a
 * command of granary runs as a process, so that what it reads may hang or be damaged: it is killed when it takes too long.
 */
#ifndef WEB_ASK_H
#define WEB_ASK_H

#include "base/instance.h"
#include "granary/info.h"
#include "web/ask/question.h"

struct answer {
    unsigned status; /* HTTP's */
    const char *type;
    char *body; /* to be freed; NULL: none */
    size_t size;
};

/* An error as JSON, with the thread's message. */
struct answer answer_failure(granary_err err);
struct answer answer_message(unsigned status, const char *message);

/* client: *client is connected when it is NULL, and closed when the connection is of no use any more. */
struct answer ask_table(const struct gr_instance *instance, granary_client **client, const struct question *question);
/* deadline_ns: of the monotonic clock. */
struct answer ask_command(const struct gr_instance *instance, const char *program, const struct question *question,
                          int64_t deadline_ns);

#endif
