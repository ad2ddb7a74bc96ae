/* Names of libraries, versions and functions, read and written. */
#include "graph/user/function.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static bool
consists_of(const char *text, size_t least, size_t most, bool (*is_good)(char c))
{
    size_t length = strlen(text);

    if (length < least || length > most) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_good(text[i])) {
            return false;
        }
    }
    return true;
}

static bool
in_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool
in_library(char c)
{
    return in_identifier(c) || c == '-' || c == '.' || c == '+';
}

static bool
in_version(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool
gr_library_name_good(const char *name)
{
    return consists_of(name, 1, GR_LIBRARY_MAX - 1, in_library);
}

bool
gr_function_name_good(const char *name)
{
    return consists_of(name, 1, GR_FUNCTION_MAX - 1, in_identifier) && !(name[0] >= '0' && name[0] <= '9');
}

bool
gr_version_good(const char *version)
{
    return consists_of(version, GR_VERSION_MAX - 1, GR_VERSION_MAX - 1, in_version);
}

/* Copy size bytes of text and a NUL, when they fit. */
static bool
copy_part(char *to, size_t room, const char *text, size_t size)
{
    if (size >= room) {
        return false;
    }
    memcpy(to, text, size);
    to[size] = '\0';
    return true;
}

granary_err
gr_function_parse(const char *text, struct gr_function_name *ret_name)
{
    struct gr_function_name name = {{0}, {0}, {0}};
    const char *colon = strchr(text, ':');
    const char *at = strchr(text, '@');
    const char *function = colon == NULL ? text : colon + 1;
    bool good = copy_part(name.name, sizeof name.name, function, strlen(function)) && gr_function_name_good(name.name);

    if (at != NULL && (colon == NULL || at > colon)) {
        good = false;
    } else if (good && colon != NULL) {
        const char *end = at == NULL ? colon : at;

        good = copy_part(name.library, sizeof name.library, text, (size_t)(end - text)) &&
               gr_library_name_good(name.library);
        if (good && at != NULL) {
            good = copy_part(name.version, sizeof name.version, at + 1, (size_t)(colon - at - 1)) &&
                   gr_version_good(name.version);
        }
    }
    if (!good) {
        return gr_fail(
            GRANARY_EINVAL,
            "'%.200s' names no function: write NAME, LIBRARY:NAME or LIBRARY@VERSION:NAME, with a version of "
            "32 hex digits",
            text);
    }
    *ret_name = name;
    return GRANARY_OK;
}

void
gr_function_format(const struct gr_function_name *name, char ret_text[GR_FUNCTION_TEXT_MAX])
{
    (void)snprintf(ret_text, GR_FUNCTION_TEXT_MAX, "%s@%s:%s", name->library, name->version, name->name);
}

granary_err
gr_function_check_inputs(const struct gr_function *function, size_t count)
{
    if (count >= function->inputs_min && (function->inputs_max == 0 || count <= function->inputs_max)) {
        return GRANARY_OK;
    }
    if (function->inputs_max == function->inputs_min) {
        return gr_fail(GRANARY_EINVAL, "function %s takes %u inputs, but is given %zu chunks", function->name.name,
                       function->inputs_min, count);
    }
    return gr_fail(GRANARY_EINVAL, "function %s takes %s%u inputs, but is given %zu chunks", function->name.name,
                   count < function->inputs_min ? "at least " : "at most ",
                   count < function->inputs_min ? function->inputs_min : function->inputs_max, count);
}
