/* Errors as values with a message. The message is the thread's; the value travels by return. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#include "granary/types.h"

/*
 * Set the thread's message and yield err: `return gr_fail(GRANARY_ENOENT, "object %s: not found", text);`
 * A macro, so that compilers see that a failure is no success.
 */
#define gr_fail(err, ...)                                                                                              \
    (__extension__({                                                                                                   \
        granary_err gr_fail_err_ = (err);                                                                              \
        gr_fail_message(__VA_ARGS__);                                                                                  \
        gr_fail_err_;                                                                                                  \
    }))
void gr_fail_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "what: out of memory". */
#define gr_no_memory(what) gr_fail(GRANARY_ENOMEM, "%s: out of memory", (what))

/* Stands before GRANARY_VERSION in every program and library of granary: which one a process runs can be read. */
#define GR_VERSION_MARK "granary-version:"

/* Put "what: " in front of the message of an error that is passed on; returns err. */
granary_err gr_fail_in(granary_err err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Translate errno where it arises: "what: strerror". Call before anything can change errno. */
granary_err gr_fail_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));
granary_err gr_err_from_errno(int error);

/* Whether it is one of errors.def, success included. */
bool gr_err_is_known(granary_err err);

#endif
