/* Rows of a table by their numbers, on the command line. */
#ifndef CLI_NUMBERS_H
#define CLI_NUMBERS_H

#include "granary/mutable.h"

/*
 * "3", "7:10", "7:", "3,5", each an argument. One range alone stays a range; what else there is becomes a list.
 *
 * ret_rows  its list is to be freed. Errors: EINVAL quotes the text · ENOMEM
 */
granary_err numbers_parse(char *const *texts, int count, granary_rows *ret_rows);

#endif
