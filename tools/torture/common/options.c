#include "torture/common/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/error.h"
#include "base/size.h"

uint64_t
options_number(const char *text, uint64_t least, uint64_t most, struct argp_state *state)
{
    char *end;
    uint64_t number;

    errno = 0;
    number = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most) {
        argp_error(state, "'%s' is no number that makes sense here", text);
    }
    return number;
}

void
options_settle(struct options *options, uint64_t data, uint64_t largest)
{
    options->scale = options->scale == 0 ? options->memory : options->scale;
    if (options->one_object) {
        options->memory = largest;
    } else if (options->share > 0) {
        options->memory = data / options->share;
    }
}

error_t
options_key(int key, char *text, struct argp_state *state, struct options *options)
{
    uint64_t ns = 0;

    switch (key) {
    case 's':
        if (gr_duration_parse(text, &ns) != GRANARY_OK) {
            argp_error(state, "--seconds: %s", granary_error_message());
        }
        options->duration_ms = (int64_t)(ns / 1000000);
        return 0;
    case 'S':
        options->seed = options_number(text, 0, UINT64_MAX, state);
        return 0;
    case 'k':
        options->kills = options_number(text, 0, UINT64_MAX, state);
        return 0;
    case 'c':
        options->clients = (unsigned)options_number(text, 1, options->clients_most, state);
        return 0;
    case 'e':
        options->executors = (unsigned)options_number(text, 1, 64, state);
        return 0;
    case 'd':
        options->schedulers = (unsigned)options_number(text, 1, 8, state);
        return 0;
    case 'p':
        options->spare_store = true;
        return 0;
    case 'm':
        options->one_object = options->shares && strcmp(text, "one") == 0;
        if (options->one_object || (options->shares && strncmp(text, "1/", 2) == 0)) {
            options->share = options->one_object ? 0 : (unsigned)options_number(text + 2, 1, 64, state);
            return 0;
        }
        if (gr_size_parse(text, &options->memory) != GRANARY_OK || options->memory < options->memory_least) {
            argp_error(state, "--memory %s: a size of at least %" PRIu64 "M is expected", text,
                       options->memory_least >> 20);
        }
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}
