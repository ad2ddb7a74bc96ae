/* A library loaded on trial by a process that nobody misses (granary-executor --try-library). */
#ifndef CLIENT_TRIAL_H
#define CLIENT_TRIAL_H

#include "granary/types.h"
#include "schema/granary.pb-c.h"

/*
 * What a shared object declares. It is loaded, with its constructors.
 *
 * bytes        the file
 * ret_library  *gives* a library of symbols only: granary__library__free_unpacked()
 * Errors       EINVAL it cannot be loaded, crashes when it is, does not end, or declares what makes no sense ·
 *              EUNREACHABLE there is no granary-executor to try it with · ENOMEM · EIO
 */
granary_err trial_run(const void *bytes, size_t size, Granary__Library **ret_library);

#endif
