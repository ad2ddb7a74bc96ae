/* Cleans up after a test that is killed. */
#ifndef TESTS_SUPPORT_GUARD_H
#define TESTS_SUPPORT_GUARD_H

#include <stdbool.h>

/* Start a guard of this process: guard.py tells what it does to the directory, which is to exist. False: it cannot. */
bool guard_start(const char *directory);

#endif
