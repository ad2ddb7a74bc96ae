/* What executors are at and how far graphs are, for `granary top`. */
#ifndef CLI_TOP_WORK_H
#define CLI_TOP_WORK_H

#include "cli/look/look.h"
#include "cli/print/json.h"

/* Zero is one that has not asked anybody yet. */
struct work {
    granary_client *client; /* for graphs: while store and scheduler answer */
};

/* Executors are told by their pages, whoever serves; graphs by the scheduler, when it answers. */
void work_print(struct work *work, const struct look *look);
void work_print_json(struct work *work, const struct look *look, struct json *json);
void work_fini(struct work *work);

#endif
