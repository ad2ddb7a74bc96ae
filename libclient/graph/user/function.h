/* Functions of exported libraries, as nodes name them: 'NAME', 'LIBRARY:NAME' or 'LIBRARY@VERSION:NAME'. */
#ifndef GRAPH_FUNCTION_H
#define GRAPH_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"

#define GR_LIBRARY_MAX  48 /* bytes with the NUL: "export:NAME" is an owner of references */
#define GR_VERSION_MAX  33
#define GR_FUNCTION_MAX 128

struct gr_function_name {
    char library[GR_LIBRARY_MAX]; /* "": any */
    char version[GR_VERSION_MAX]; /* 32 lower-case hex digits; "": the newest */
    char name[GR_FUNCTION_MAX];
};

/* Errors: EINVAL; *ret_name is untouched then */
granary_err gr_function_parse(const char *text, struct gr_function_name *ret_name);

/* Letters, digits, '_', '-', '.' and '+', at most GR_LIBRARY_MAX - 1. */
bool gr_library_name_good(const char *name);
/* A C identifier of at most GR_FUNCTION_MAX - 1 bytes. */
bool gr_function_name_good(const char *name);
/* 32 lower-case hex digits. */
bool gr_version_good(const char *version);

/* A function there is. */
struct gr_function {
    struct gr_function_name name; /* complete */
    uint32_t inputs_min;
    uint32_t inputs_max; /* 0: any number */
    uint32_t outputs;    /* at least 1 */
    uint64_t sequence;   /* in the session's order of exports */
};

/* Whether it can be called with so many inputs. Errors: EINVAL */
granary_err gr_function_check_inputs(const struct gr_function *function, size_t count);

#define GR_FUNCTION_TEXT_MAX (GR_LIBRARY_MAX + GR_VERSION_MAX + GR_FUNCTION_MAX)
/* 'LIBRARY@VERSION:NAME' */
void gr_function_format(const struct gr_function_name *name, char ret_text[GR_FUNCTION_TEXT_MAX]);

#endif
