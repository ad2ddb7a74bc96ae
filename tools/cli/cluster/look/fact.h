/* A fact of `granary cluster why`: a sentence, and with --json what it is of. */
#ifndef CLI_CLUSTER_FACT_H
#define CLI_CLUSTER_FACT_H

#include <stdint.h>

#include "cli/print/json.h"

/* What a fact is of; a member that is not set says nothing. */
struct about {
    const char *code, *stage, *node;
    int64_t partition; /* from 1 on; 0: none */
    int64_t since_ms;
};

/* Print it as a line, or, with json, as an object. */
void fact_print(struct json *json, const struct about *about, const char *sentence);

#endif
