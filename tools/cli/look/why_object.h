/* granary why: what explains an object, one sentence a fact. */
#ifndef CLI_WHY_OBJECT_H
#define CLI_WHY_OBJECT_H

#include "cli/look/look.h"
#include "cli/print/json.h"

struct why {
    struct look look;
    const char *text; /* what was asked for */
    struct json json;
    bool begun;
    unsigned hops; /* from alias to alias */
};

/* Print a fact. code: its kind, the same in every version. */
void why_fact(struct why *why, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* An object that is there: where it is, and who holds it. */
void why_object(struct why *why, const granary_object_info *info);

/* What became of an object that is not in the index. Returns the exit status. */
int why_missing(struct why *why, granary_err err);

#endif
