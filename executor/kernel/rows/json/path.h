/* Inside json: the steps of paths. */
#ifndef KERNEL_ROWS_JSON_PATH_H
#define KERNEL_ROWS_JSON_PATH_H

#include "kernel/rows/json/json.h"

enum json_quoting {
    JSON_PLAIN,
    JSON_QUOTED, /* \" and \\ */
    JSON_SLASHED /* ~0 and ~1 */
};

struct json_step {
    struct rows_text key;
    enum json_quoting quoting;
    bool has_key;
    bool has_index;
    bool from_end;
    bool any;      /* each member, or each item */
    bool deep;     /* of the value and of all values in it */
    int64_t index; /* -1: no item has it */
};

enum json_step_found { JSON_STEP, JSON_NO_MORE, JSON_NO_PATH };

/* The next step of a path; *at begins as NULL. */
enum json_step_found json_path_step(const struct json_path *path, const char **at, struct json_step *ret_step);
/* Whether a member's name, in quotes, is that of the step. */
bool json_is_named(const struct rows_text *name, const struct json_step *step);

#endif
