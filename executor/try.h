/*
 * A library loaded on trial, in a process of its own that nobody misses: granary_export() starts it as
 * `granary-executor --try-library FILE --answer-fd FD`. It answers with one packed Granary__Reply: an error with its
 * message, or a library with nothing but its symbols. No answer: loading it killed the process.
 */
#ifndef EXECUTOR_TRY_H
#define EXECUTOR_TRY_H

#include "granary/types.h"

/* Errors: EIO the answer could not be written */
granary_err try_library(const char *path, int answer_fd);

#endif
