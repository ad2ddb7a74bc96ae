/*
 * The daemons' log: one line an event on stderr, `2026-11-21T10:22:31.123Z store WARN CLIENT-PROTOCOL client=7
 * opcode=99`. The id (CLIENT-PROTOCOL) never changes; values that come from outside have control characters escaped.
 * Of warnings at most 50 a second are written; LOG-SUPPRESSED then tells how many were not. The same line is written
 * three times in a row; LOG-REPEATED then tells how often it came. Libraries return errors instead.
 *
 * Where the instance is a service, each line goes to the journal, too, with fields: PRIORITY, SYSLOG_IDENTIFIER
 * (granary-store), GRANARY_EVENT (the id) and GRANARY_INSTANCE. The supervisor tells its daemons by the environment.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"

enum gr_log_level { GR_LOG_DEBUG, GR_LOG_INFO, GR_LOG_WARN, GR_LOG_ERROR };

/* "INSTANCE:PATH", of the journal's socket. */
#define GR_LOG_JOURNAL "GRANARY_JOURNAL"
/* A file of a struct gr_log_shared, which all processes of an instance map. */
#define GR_LOG_LEVEL_FILE "GRANARY_LOG_LEVEL_FILE"

struct gr_log_shared {
    _Atomic uint8_t level; /* level + 1, which may be changed while processes run; 0: none is set */
    uint8_t unused[3];
    _Atomic uint32_t turn; /* of gr_log_cut(): odd while a log begins anew. A file that ends before has 0 */
};

/*
 * room: how this process calls itself, kept by pointer. The level comes from the file of $GRANARY_LOG_LEVEL_FILE, or else
 * from $GRANARY_LOG (debug, info, warn, error).
 */
void gr_log_init(const char *room);

/* A level's position by its name; -1: there is none. */
int gr_log_level_of(const char *name);

/*
 * Copy a log from where log_fd stands to its end, and truncate it, while others append to it by gr_log(). Their lines are
 * in the copy or in the log: who wrote meanwhile writes again, so a line may be in both. log_fd is read and written.
 * level_path: of the file that they share. Errors: errno's, of the copy: then the log is as it was.
 */
granary_err gr_log_cut(const char *level_path, int log_fd, int copy_fd);

/* Whether this descriptor is the journal's ($JOURNAL_STREAM), so that lines for it need no file. */
bool gr_log_is_journal(int fd);

void gr_log(enum gr_log_level level, const char *id, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define gr_log_debug(...) gr_log(GR_LOG_DEBUG, __VA_ARGS__)
#define gr_log_info(...)  gr_log(GR_LOG_INFO, __VA_ARGS__)
#define gr_log_warn(...)  gr_log(GR_LOG_WARN, __VA_ARGS__)
#define gr_log_error(...) gr_log(GR_LOG_ERROR, __VA_ARGS__)

#endif
