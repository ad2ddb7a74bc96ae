/* Lines of the log, each written by one call, and the limits of warnings a second and of repeats. */
#include "base/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/text/text.h"

static const char *log_room = "granary";
static enum gr_log_level log_level = GR_LOG_WARN; /* in somebody else's program */
/* What strangers do is a warning: however often they do it, the log stays readable and the disk free. */
#define WARNINGS_A_SECOND 50u
static _Atomic int64_t warning_second;
static _Atomic uint32_t warnings;
static const char *const level_names[] = {"DEBUG", "INFO", "WARN", "ERROR"};

/* What all processes of an instance are told, where somebody may change it. */
static const struct gr_log_shared *shared;
/* Who begins a log anew takes less; one that was killed meanwhile does not delay a second line. */
#define TURN_NS 20000000
#define TRIES   100
static _Atomic uint32_t turn_given_up;
/* The journal's socket; -1: none. */
static int journal_fd = -1;
static char journal_instance[64];
/* The line before: how often it came in a row, and since when. */
#define REPEATS_SHOWN 3u
#define REPEATS_S     60
static _Atomic uint64_t last_hash;
static _Atomic int64_t last_second;
static _Atomic uint32_t repeats;

int
gr_log_level_of(const char *name)
{
    for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
        if (strcasecmp(name, level_names[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* The page has zeros behind the file's end. */
static void
share(const char *path)
{
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (shared != NULL) {
        (void)munmap((void *)(uintptr_t)shared, sizeof *shared);
        shared = NULL;
    }
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= 1) {
        void *page = mmap(NULL, sizeof *shared, PROT_READ, MAP_SHARED, fd, 0);

        shared = page == MAP_FAILED ? NULL : page;
    }
    gr_fd_close(&fd);
}

static void
open_journal(const char *where)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = where == NULL ? NULL : strchr(where, ':');

    gr_fd_close(&journal_fd);
    if (path == NULL || strlen(path + 1) >= sizeof address.sun_path) {
        return;
    }
    (void)snprintf(journal_instance, sizeof journal_instance, "%.*s", (int)(path - where), where);
    memcpy(address.sun_path, path + 1, strlen(path + 1) + 1);
    journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (journal_fd >= 0 && connect(journal_fd, (struct sockaddr *)&address, sizeof address) < 0) {
        gr_fd_close(&journal_fd);
    }
}

bool
gr_log_is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;

    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

void
gr_log_init(const char *room)
{
    const char *wish = getenv("GRANARY_LOG");
    int level = wish == NULL ? -1 : gr_log_level_of(wish);

    log_room = room;
    log_level = level < 0 ? GR_LOG_INFO : (enum gr_log_level)level;
    share(getenv(GR_LOG_LEVEL_FILE));
    open_journal(getenv(GR_LOG_JOURNAL));
}

static enum gr_log_level
level_now(void)
{
    uint8_t level = shared == NULL ? 0 : atomic_load_explicit(&shared->level, memory_order_relaxed);

    return level >= 1 && level <= GR_LOG_ERROR + 1 ? (enum gr_log_level)(level - 1) : log_level;
}

/* The turn that logs are in, when none begins anew. */
static uint32_t
await_turn(void)
{
    int64_t deadline_ns = gr_now_ns() + TURN_NS;
    uint32_t turn;

    while (((turn = atomic_load(&shared->turn)) & 1) != 0 && turn != atomic_load(&turn_given_up)) {
        gr_futex_wait(&shared->turn, turn, deadline_ns);
        if (gr_now_ns() >= deadline_ns) {
            atomic_store(&turn_given_up, turn);
        }
    }
    return turn;
}

/*
 * One write, so that lines of several processes do not mix; a log that cannot be written is no reason to stop. One that
 * began anew meanwhile may have lost the line: it is written again.
 */
static void
append(const char *line, size_t length)
{
    uint32_t turn;
    int tries = 0;

    do {
        turn = shared == NULL ? 0 : await_turn();
        (void)!write(STDERR_FILENO, line, length);
    } while (shared != NULL && atomic_load(&shared->turn) != turn && ++tries < TRIES);
}

/* Its native protocol: fields of one line each. A journal that is full, or gone, costs the line there, and nothing else. */
static void
tell_journal(enum gr_log_level level, const char *id, const char *text)
{
    static const int priorities[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};
    char fields[1400];
    int length;

    if (journal_fd < 0) {
        return;
    }
    length =
        snprintf(fields, sizeof fields,
                 "MESSAGE=%s %s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=granary-%s\nGRANARY_EVENT=%s\nGRANARY_INSTANCE=%s\n",
                 id, text, priorities[level], log_room, id, journal_instance);
    (void)send(journal_fd, fields, length < (int)sizeof fields ? (size_t)length : sizeof fields - 1, MSG_NOSIGNAL);
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
    append(line, (size_t)length);
    tell_journal(level, id, text);
}

static uint64_t
hash_of(const char *text, uint64_t hash)
{
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    }
    return hash;
}

/* Whether a line is news, or the one before it again. Threads that log at once may count one too few or too many. */
static bool
is_news(const struct timespec *now, const char *id, const char *text)
{
    uint64_t hash = hash_of(text, hash_of(id, 14695981039346656037u));
    bool again = hash == atomic_load(&last_hash) && now->tv_sec - atomic_load(&last_second) < REPEATS_S;
    uint32_t before;

    if (again) {
        return atomic_fetch_add(&repeats, 1) + 1 < REPEATS_SHOWN;
    }
    before = atomic_exchange(&repeats, 0);
    atomic_store(&last_hash, hash);
    atomic_store(&last_second, (int64_t)now->tv_sec);
    if (before >= REPEATS_SHOWN) {
        char times[64];

        (void)snprintf(times, sizeof times, "the line before came %u times more", before - (REPEATS_SHOWN - 1));
        write_line(now, GR_LOG_INFO, "LOG-REPEATED", times);
    }
    return true;
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

    if (level < level_now()) {
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
    if (is_news(&now, id, text)) {
        write_line(&now, level, id, text);
    }
}
