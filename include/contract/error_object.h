/*
 * An error that is stored under a result's id: an object without data, whose metadata is this and the message. Who gets
 * it gets the error. An ordinary object looks so only when somebody means it to.
 */
#ifndef CONTRACT_ERROR_OBJECT_H
#define CONTRACT_ERROR_OBJECT_H

#include <stdint.h>

#define GR_ERROR_MAGIC "granary error 1\n"

struct gr_error_object {
    char magic[16]; /* GR_ERROR_MAGIC without its NUL */
    int32_t err;    /* granary_err, not OK */
    uint32_t length;
    char message[]; /* length bytes of UTF-8 */
};

#endif
