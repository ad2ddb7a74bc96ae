/* Lines of the log, each written by one call, and the limit of warnings a second. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text/text.h"

static const char *log_room = "granary";
static enum gr_log_level log_level = GR_LOG_WARN; /* in somebody else's program */
/* What strangers do is a warning: however often they do it, the log stays readable and the disk free. */
#define WARNINGS_A_SECOND 50u
static _Atomic int64_t warning_second;
static _Atomic uint32_t warnings;
static const char *const level_names[] = {"DEBUG", "INFO", "WARN", "ERROR"};

void
gr_log_init(const char *room)
{
    const char *wish = getenv("GRANARY_LOG");

    log_room = room;
    log_level = GR_LOG_INFO;
    for (size_t i = 0; wish != NULL && i < sizeof level_names / sizeof level_names[0]; i++) {
        if (strcasecmp(wish, level_names[i]) == 0) {
            log_level = (enum gr_log_level)i;
        }
    }
}

static void
write_line(const struct timespec *now, enum gr_log_level level, const char *id, const char *text)
{
    char line[1200];
    struct tm utc;
    int length;

    (void)gmtime_r(&now->tv_sec, &utc);
    length = snprintf(line, sizeof line, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s %s %s %s\n", utc.tm_year + 1900,
                      utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, now->tv_nsec / 1000000,
                      log_room, level_names[level], id, text);
    if (length > (int)sizeof line - 1) {
        length = (int)sizeof line - 1;
    }
    /* One write, so that lines of several processes do not mix; a log that cannot be written is no reason to stop. */
    if (write(STDERR_FILENO, line, (size_t)length) < 0) {
        return;
    }
}

/* Whether there is room for one more warning in this second; the first of the next one tells how many there was none
 * for. */
static bool
warning_fits(const struct timespec *now)
{
    int64_t second = atomic_load(&warning_second);

    if (second != now->tv_sec && atomic_compare_exchange_strong(&warning_second, &second, (int64_t)now->tv_sec)) {
        uint32_t before = atomic_exchange(&warnings, 0);

        if (before > WARNINGS_A_SECOND) {
            char text[64];

            (void)snprintf(text, sizeof text, "lines=%u", before - WARNINGS_A_SECOND);
            write_line(now, GR_LOG_WARN, "LOG-SUPPRESSED", text);
        }
    }
    return atomic_fetch_add(&warnings, 1) < WARNINGS_A_SECOND;
}

void
gr_log(enum gr_log_level level, const char *id, const char *format, ...)
{
    char text[900];
    struct timespec now;
    va_list args;

    if (level < log_level) {
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (level == GR_LOG_WARN && !warning_fits(&now)) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gr_text_blank(text, strlen(text), "");
    write_line(&now, level, id, text);
}
