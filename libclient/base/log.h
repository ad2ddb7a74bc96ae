/*
 * The daemons' log: one line an event on stderr, `2026-11-21T10:22:31.123Z store WARN CLIENT-PROTOCOL client=7
 * opcode=99`. The id (CLIENT-PROTOCOL) never changes; values that come from outside have control characters escaped.
 * Of warnings at most 50 a second are written; LOG-SUPPRESSED then tells how many were not. Libraries return errors
 * instead.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum gr_log_level { GR_LOG_DEBUG, GR_LOG_INFO, GR_LOG_WARN, GR_LOG_ERROR };

/* room: how this process calls itself, kept by pointer. The level comes from $GRANARY_LOG (debug, info, warn, error).
 */
void gr_log_init(const char *room);

void gr_log(enum gr_log_level level, const char *id, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define gr_log_debug(...) gr_log(GR_LOG_DEBUG, __VA_ARGS__)
#define gr_log_info(...)  gr_log(GR_LOG_INFO, __VA_ARGS__)
#define gr_log_warn(...)  gr_log(GR_LOG_WARN, __VA_ARGS__)
#define gr_log_error(...) gr_log(GR_LOG_ERROR, __VA_ARGS__)

#endif
