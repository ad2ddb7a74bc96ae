/*
 * What the commands share that look at an instance without its store: opening it, saying so when the store does not
 * answer, and how times and names are shown.
 */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include "cli/command/command.h"
#include "granary/inspect.h"

struct look {
    struct cli *cli;  /* once it is opened */
    const char *copy; /* --copy, or NULL */
    granary_inspector *inspector;
    granary_client *client;     /* look_access_or_join: instead of the inspector */
    granary_instance_info info; /* as it was when it was opened; all zero when the root is damaged */
    uint32_t session;           /* look_session() */
};

/* --copy, into the look that self begins with. */
extern const struct gr_option look_options[];

void look_close(struct look *look);

/* Opened read-only, from its name or a copy; and the same, but who may not look into the instance, yet connect to its store, gets a client instead: a
 * group's member. */
extern const struct access look_access;
extern const struct access look_access_or_join;

/*
 * Find the session that is meant: --session, else "default". A session that was not named need not be there yet:
 * then *ret_there is false and the status 0.
 */
int look_session(struct look *look, bool *ret_there);

/* As cli_find(), but without a store: a unique prefix of an object's id. Prints the error. Returns the exit status. */
int look_find(struct look *look, const char *text, granary_id *ret_id);

/* Bytes of pinned objects in memory, of all sessions. *ret_objects: so many more are added to it. */
uint64_t look_pinned(granary_inspector *inspector, uint64_t *ret_objects);

/* Tables that change, of all sessions, summed up. */
struct look_tables {
    uint64_t tables;
    uint64_t writers;
    uint64_t bytes;
    uint64_t memory_bytes;
};
struct look_tables look_tables(granary_inspector *inspector);

#endif
