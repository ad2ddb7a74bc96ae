/* Whose files and directories may be believed. */
#ifndef BASE_PROCESS_TRUST_H
#define BASE_PROCESS_TRUST_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this user may be trusted not to lead the running one astray: it is that one, or root, also root outside. */
bool gr_uid_trusted(uid_t uid);

#endif
