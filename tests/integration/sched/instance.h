/* A whole instance for a test, in a directory of its own. */
#ifndef TEST_INSTANCE_H
#define TEST_INSTANCE_H

#include "granary/granary.h"

/*
 * directory  a template of mkdtemp(): the instance's from then on
 * options    of `granary up`
 */
void instance_start(char *directory, const char *options, granary_client **ret_client);
/* Nothing stays. */
void instance_stop(const char *directory, granary_client *client);

#endif
