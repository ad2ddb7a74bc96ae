/* Sets of levels and their text. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

/* Fastest first: a level spills to the next one. */
static const struct {
    const char *name;
    granary_level level;
} names[] = {
    {"gpu", GRANARY_LEVEL_GPU},
    {"memory", GRANARY_LEVEL_MEMORY},
    {"disk", GRANARY_LEVEL_DISK},
    {"remote", GRANARY_LEVEL_REMOTE},
};
enum { NAMES = sizeof names / sizeof names[0] };

static const char between[] = "|&+, \t";

static bool
find_level(const char *word, size_t length, granary_levels *ret_level)
{
    for (size_t i = 0; i < NAMES; i++) {
        if (strlen(names[i].name) == length && strncasecmp(names[i].name, word, length) == 0) {
            *ret_level = names[i].level;
            return true;
        }
    }
    if (length == 4 && strncasecmp(word, "none", length) == 0) {
        *ret_level = 0;
        return true;
    }
    return false;
}

granary_err
granary_levels_parse(const char *text, granary_levels *ret_levels)
{
    const char *word = text + strspn(text, between);
    granary_levels levels = 0;

    if (*word == '\0') {
        return gr_fail(GRANARY_EINVAL, "levels '%s': name at least one of gpu, memory, disk, remote", text);
    }
    while (*word != '\0') {
        size_t length = strcspn(word, between);
        granary_levels level;

        if (!find_level(word, length, &level)) {
            return gr_fail(GRANARY_EINVAL, "levels '%s': '%.*s' is no level; there are gpu, memory, disk, remote", text,
                           (int)length, word);
        }
        levels |= level;
        word += length;
        word += strspn(word, between);
    }
    *ret_levels = levels;
    return GRANARY_OK;
}

const char *
granary_levels_format(granary_levels levels, char *ret_text, size_t size)
{
    size_t used = 0;

    if (size == 0) {
        return ret_text;
    }
    ret_text[0] = '\0';
    for (size_t i = 0; i < NAMES && used < size; i++) {
        if (levels & names[i].level) {
            used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used == 0 ? "" : "|", names[i].name);
        }
    }
    if (used == 0) {
        (void)snprintf(ret_text, size, "none");
    }
    return ret_text;
}

granary_levels
granary_level_below(granary_level level)
{
    return level == GRANARY_LEVEL_GPU || level == GRANARY_LEVEL_MEMORY || level == GRANARY_LEVEL_DISK ? level * 2u : 0;
}
