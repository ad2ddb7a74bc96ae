/* Arguments in the forms that several commands take. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "cli/command/command.h"

/* An object's id in full, into a granary_id. Errors: EINVAL */
granary_err arguments_id(const char *text, granary_id *ret_id);
/* "A:B", "A:", ":B": from A up to B. An end that is not given is left as it is. Errors: EINVAL */
granary_err arguments_range(const char *text, uint64_t *from, uint64_t *to);
/* The names in "a,b,c", which is taken apart; the array is to be freed, and has room for two more. NULL gives NULL, 0.
 * Errors: ENOMEM */
granary_err arguments_names(char *text, const char ***ret_names, size_t *ret_count);

#endif
