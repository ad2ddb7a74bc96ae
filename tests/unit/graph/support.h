/* What the tests of this folder share. Include after cmocka.h. */
#ifndef TEST_GRAPH_SUPPORT_H
#define TEST_GRAPH_SUPPORT_H

#include <string.h>

#include "base/error.h"
#include "granary/types.h"

/* The call fails with that error, and the message has that text. */
#define assert_fails(call, error, text)                                                                                \
    do {                                                                                                               \
        granary_err failed_ = (call);                                                                                  \
        if (failed_ != (error) || strstr(granary_error_message(), (text)) == NULL) {                                   \
            fail_msg("%s: got %s, \"%s\"; wanted %s, \"%s\"", #call, granary_error_name(failed_),                      \
                     granary_error_message(), granary_error_name(error), (text));                                      \
        }                                                                                                              \
    } while (0)

/* The call succeeds; else its message is shown. */
#define assert_succeeds(call)                                                                                          \
    do {                                                                                                               \
        granary_err failed_ = (call);                                                                                  \
        if (failed_ != GRANARY_OK) {                                                                                   \
            fail_msg("%s: %s, \"%s\"", #call, granary_error_name(failed_), granary_error_message());                   \
        }                                                                                                              \
    } while (0)

#endif
