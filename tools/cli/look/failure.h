/* Objects that are errors, for listings. */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include "cli/look/look.h"
#include "cli/print/show.h"

/* A connection to the store, made when the first object that may be an error is met; all zero to begin with. */
struct failures {
    granary_client *client;
    bool tried;
};

/* What an object failed with. false: it is no error, or its store does not answer. */
bool failures_read(struct failures *failures, const struct look *look, const granary_object_info *info,
                   granary_err *ret_err, char text[SHOW_TEXT]);
void failures_close(struct failures *failures);

#endif
