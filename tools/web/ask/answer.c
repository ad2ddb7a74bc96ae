/* Errors as answers: each has the name of errors.def and a sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/print/json.h"
#include "web/ask/ask.h"

static unsigned
status_of(granary_err err)
{
    switch (err) {
    case GRANARY_EINVAL:
        return 400;
    case GRANARY_EPERM:
        return 403;
    case GRANARY_ENOENT:
        return 404;
    case GRANARY_EUNREACHABLE:
    case GRANARY_ELOST:
        return 503;
    case GRANARY_ETIMEDOUT:
        return 504;
    default:
        return 500;
    }
}

static struct answer
make(unsigned status, const char *name, const char *message)
{
    struct answer answer = {.status = status, .type = "application/json"};
    FILE *out = open_memstream(&answer.body, &answer.size);
    struct json json = {.out = out};

    if (out != NULL) {
        json_open(&json, NULL, '{');
        json_text(&json, "error", name);
        json_text(&json, "message", message);
        json_close(&json);
        (void)fclose(out);
    }
    return answer;
}

struct answer
answer_failure(granary_err err)
{
    return make(status_of(err), granary_error_name(err), granary_error_message());
}

struct answer
answer_message(unsigned status, const char *message)
{
    return make(status, "REFUSED", message);
}
