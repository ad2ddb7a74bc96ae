/* Any bytes as a configuration file: names and values lie within them, lines count up, or there is an error with a place. */
#include <string.h>

#include "base/error.h"
#include "fuzz.h"
#include "options/config.h"

struct seen {
    const char *text;
    size_t size;
    unsigned line;
};

static granary_err
take(void *context, unsigned line, const char *name, char *value)
{
    struct seen *seen = context;

    must(line > seen->line);
    must(name >= seen->text && name + strlen(name) < value);
    must(value + strlen(value) <= seen->text + seen->size);
    must(name[0] != '\0' && name[0] != '#' && value[0] != '\0');
    must(strchr(name, '\n') == NULL && strchr(value, '\n') == NULL && strchr(name, '=') == NULL);
    seen->line = line;
    return strcmp(name, "refuse") == 0 ? gr_fail(GRANARY_EINVAL, "refused") : GRANARY_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    struct seen seen = {text, size, 0};

    must(text != NULL);
    if (size > 0) {
        memcpy(text, bytes, size);
    }
    text[size] = '\0';
    if (gr_config_parse("FILE", text, size, take, &seen) != GRANARY_OK) {
        must(strncmp(granary_error_message(), "FILE:", 5) == 0);
    }
    free(text);
    return 0;
}
