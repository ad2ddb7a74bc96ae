/* A file into the store, for other commands than `put`. */
#ifndef CLI_PUT_H
#define CLI_PUT_H

#include "granary/granary.h"

/* Put a file into the store under a fresh id. Errors: as for files, and granary_object_create() */
granary_err put_path(granary_client *client, const char *path, granary_id *ret_id);

#endif
