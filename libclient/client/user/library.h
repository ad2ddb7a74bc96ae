/* Exported libraries: what the scheduler is told. */
#ifndef CLIENT_LIBRARY_H
#define CLIENT_LIBRARY_H

#include "granary/granary.h"
#include "schema/granary.pb-c.h"

/*
 * Have the scheduler know a library of the client's session, whose file is a sealed object, and keep that referenced
 * (owner "export:NAME"). If it has that version already, the object given is deleted.
 *
 * library  complete but for session and sequence; only read
 * Errors   the scheduler's EINVAL · ENOENT no such object · EUNREACHABLE
 */
granary_err gr_export_send(granary_client *client, Granary__Library *library);

/* Have the scheduler forget the libraries of a session. Their objects go, too: now, if it is the client's own, or with the session. */
granary_err gr_unexport_all(granary_client *client, const char *session);

#endif
