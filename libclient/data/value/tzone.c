/* TZif files: a list of changes, and behind them a rule as of POSIX's TZ for all years to come. */
#include "data/value/tzone.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "data/value/calendar.h"

#define DAY_S      INT64_C(86400)
#define TWO_DAYS   (2 * DAY_S)
#define DIRECTORY  "/usr/share/zoneinfo/"
#define HEAD       44
#define FILE_MOST  (1 << 20)
#define NAME_MOST  64
#define FIRST_MOST (INT64_C(1) << 60) /* some files begin with the big bang */
#define FAR_AHEAD  (INT64_C(1) << 44) /* seconds: beyond what microseconds of 64 bits reach */

/* From an instant on, or from a clock's time. */
struct change {
    int64_t at;
    int32_t offset; /* ahead of UTC from then on */
};

/* A day of the year, and a time in it. */
struct rule_day {
    char kind; /* 'M': a weekday of a month, 'J': a day that is never February 29, 'D': a day */
    int month, week, day;
    int64_t time;
};

struct rule {
    bool known;
    bool changes; /* there is another time in summer */
    int32_t standard;
    int32_t summer;
    struct rule_day begin, end; /* of it */
};

struct gr_tzone {
    size_t count;
    struct change *changes; /* ascending */
    int32_t first;          /* before all of them */
    struct rule rule;       /* behind them */
};

/* ---- files ---- */

static granary_err
damaged(const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "time zone: %s", what);
}

static int64_t
big_endian(const uint8_t *bytes, size_t size)
{
    uint64_t value = (bytes[0] & 0x80) != 0 ? UINT64_MAX : 0;

    for (size_t i = 0; i < size; i++) {
        value = value << 8 | bytes[i];
    }
    return (int64_t)value;
}

/* How many there are of each kind in a block, and how large it is. */
struct counts {
    uint64_t universal, standard, leaps, changes, types, letters;
};

static struct counts
counts_of(const uint8_t *head)
{
    uint64_t n[6];

    for (size_t i = 0; i < 6; i++) {
        n[i] = (uint64_t)big_endian(head + 20 + 4 * i, 4) & 0xffffffffu;
    }
    return (struct counts){n[0], n[1], n[2], n[3], n[4], n[5]};
}

static uint64_t
block_size(const struct counts *counts, uint64_t width)
{
    return counts->changes * (width + 1) + counts->types * 6 + counts->letters + counts->leaps * (width + 4) +
           counts->standard + counts->universal;
}

static granary_err
read_changes(struct gr_tzone *zone, const uint8_t *at, const struct counts *counts)
{
    const uint8_t *types = at + counts->changes * 8;
    const uint8_t *offsets = types + counts->changes;

    if (counts->types == 0) {
        return damaged("it has no offset");
    }
    for (uint64_t i = 0; i < counts->types; i++) {
        int64_t offset = big_endian(offsets + 6 * i, 4);

        if (offset <= -TWO_DAYS || offset >= TWO_DAYS) {
            return damaged("an offset of days");
        }
    }
    zone->changes = calloc(counts->changes + 1, sizeof *zone->changes);
    if (zone->changes == NULL) {
        return gr_no_memory("time zone");
    }
    zone->count = counts->changes;
    zone->first = (int32_t)big_endian(offsets, 4);
    for (size_t i = 0; i < zone->count; i++) {
        struct change *change = &zone->changes[i];

        if (types[i] >= counts->types) {
            return damaged("a change to an offset that is not there");
        }
        *change = (struct change){big_endian(at + 8 * i, 8), (int32_t)big_endian(offsets + 6 * (size_t)types[i], 4)};
        if (change->at > FIRST_MOST || change->at < -FIRST_MOST || (i > 0 && change->at <= change[-1].at)) {
            return damaged("changes that are not in order");
        }
    }
    return GRANARY_OK;
}

/* ---- the rule ---- */

struct text {
    const char *at;
    const char *end;
};

static bool
take(struct text *text, char c)
{
    bool is = text->at < text->end && *text->at == c;

    text->at += is;
    return is;
}

static bool
take_number(struct text *text, int most, int *ret_number)
{
    const char *from = text->at;
    int number = 0;

    while (text->at < text->end && *text->at >= '0' && *text->at <= '9' && number <= most) {
        number = number * 10 + (*text->at++ - '0');
    }
    *ret_number = number;
    return text->at > from && number <= most;
}

/* "[+-]h[:m[:s]]" in seconds. */
static bool
take_time(struct text *text, int64_t *ret_seconds)
{
    bool negative = take(text, '-');
    int hours, minutes = 0, seconds = 0;

    if (!negative) {
        (void)take(text, '+');
    }
    if (!take_number(text, 167, &hours) ||
        (take(text, ':') &&
         (!take_number(text, 59, &minutes) || (take(text, ':') && !take_number(text, 59, &seconds))))) {
        return false;
    }
    *ret_seconds = (hours * INT64_C(60) + minutes) * 60 + seconds;
    *ret_seconds = negative ? -*ret_seconds : *ret_seconds;
    return true;
}

/* "CET" or "<+03>". */
static bool
take_name(struct text *text)
{
    const char *from = text->at;
    bool quoted = take(text, '<');

    while (text->at < text->end &&
           (quoted ? *text->at != '>' : (*text->at | 0x20) >= 'a' && (*text->at | 0x20) <= 'z')) {
        text->at++;
    }
    return quoted ? take(text, '>') : text->at - from >= 3;
}

static bool
take_offset(struct text *text, int32_t *ret_offset)
{
    int64_t west;

    if (!take_time(text, &west) || west <= -TWO_DAYS || west >= TWO_DAYS) {
        return false;
    }
    *ret_offset = (int32_t)-west;
    return true;
}

/* ",M3.5.0/2", ",J60", ",59/-1" */
static bool
take_day(struct text *text, struct rule_day *ret_day)
{
    struct rule_day day = {.kind = 'D', .time = 7200};
    bool good;

    if (!take(text, ',')) {
        return false;
    }
    if (take(text, 'M')) {
        day.kind = 'M';
        good = take_number(text, 12, &day.month) && day.month > 0 && take(text, '.') &&
               take_number(text, 5, &day.week) && day.week > 0 && take(text, '.') && take_number(text, 6, &day.day);
    } else {
        day.kind = take(text, 'J') ? 'J' : 'D';
        good = take_number(text, 365, &day.day) && (day.kind == 'D' || day.day > 0);
    }
    *ret_day = day;
    return good && (!take(text, '/') || take_time(text, &ret_day->time));
}

static bool
read_rule(struct text text, struct rule *ret_rule)
{
    struct rule rule = {.known = true};

    if (text.at == text.end) { /* none is known */
        return true;
    }
    if (!take_name(&text) || !take_offset(&text, &rule.standard)) {
        return false;
    }
    rule.changes = text.at < text.end;
    rule.summer = rule.standard + 3600;
    if (rule.changes &&
        (!take_name(&text) || (text.at < text.end && *text.at != ',' && !take_offset(&text, &rule.summer)) ||
         !take_day(&text, &rule.begin) || !take_day(&text, &rule.end) || text.at < text.end)) {
        return false;
    }
    *ret_rule = rule;
    return true;
}

/* Seconds since 1970, by the clock, when it is that day of a year. */
static int64_t
time_of(const struct rule_day *day, int64_t year)
{
    int64_t first = gr_date_days(year, day->kind == 'M' ? day->month : 1, 1);
    int64_t weekday, next;

    if (day->kind == 'M') {
        next = day->month == 12 ? gr_date_days(year + 1, 1, 1) : gr_date_days(year, day->month + 1, 1);
        weekday = ((first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday; Sunday is 0 */
        first += (day->day - weekday + 7) % 7 + 7 * (day->week - 1);
        first -= first >= next ? 7 : 0;
    } else if (day->kind == 'J') {
        bool leap = gr_date_days(year, 3, 1) - first == 60;

        first += day->day - 1 + (leap && day->day >= 60);
    } else {
        first += day->day;
    }
    return first * DAY_S + day->time;
}

/* ---- parsed ---- */

granary_err
gr_tzone_parse(const uint8_t *bytes, size_t size, struct gr_tzone **ret_zone)
{
    struct gr_tzone *zone;
    struct counts counts;
    struct text footer;
    uint64_t at;
    granary_err err;

    if (size < HEAD || memcmp(bytes, "TZif", 4) != 0) {
        return damaged("no TZif file");
    }
    if (bytes[4] < '2') { /* of 32 bits, which end in 2038; nobody writes it alone any more */
        return damaged("a TZif file of version 1");
    }
    counts = counts_of(bytes);
    at = HEAD + block_size(&counts, 4);
    if (at > size || size - at < HEAD || memcmp(bytes + at, "TZif", 4) != 0) {
        return damaged("cut short");
    }
    counts = counts_of(bytes + at);
    at += HEAD;
    if (block_size(&counts, 8) > size - at) {
        return damaged("cut short");
    }
    if (counts.leaps > 0) {
        return damaged("it counts leap seconds");
    }
    footer = (struct text){(const char *)bytes + at + block_size(&counts, 8), (const char *)bytes + size};
    zone = calloc(1, sizeof *zone);
    err = zone == NULL ? gr_no_memory("time zone") : read_changes(zone, bytes + at, &counts);
    if (err == GRANARY_OK) {
        const char *end = take(&footer, '\n') ? memchr(footer.at, '\n', (size_t)(footer.end - footer.at)) : NULL;

        footer.end = end;
        err = end == NULL || !read_rule(footer, &zone->rule) ? damaged("no rule at its end") : GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        gr_tzone_free(zone);
        return err;
    }
    *ret_zone = zone;
    return GRANARY_OK;
}

void
gr_tzone_free(struct gr_tzone *zone)
{
    if (zone != NULL) {
        free(zone->changes);
        free(zone);
    }
}

/* ---- offsets ---- */

/* What a change is compared with: when it was, or what clocks showed then. */
static int64_t
moment_of(const struct change *change, bool by_clock)
{
    return change->at + (by_clock ? change->offset : 0);
}

/* By the rule: the last change of the years around, which come in any order in a year. */
static int32_t
offset_by_rule(const struct rule *rule, int64_t moment, bool by_clock)
{
    int64_t year = gr_date_civil(moment / DAY_S).year;
    struct change last = {INT64_MIN, rule->standard};

    for (int64_t y = year - 1; rule->changes && y <= year + 1; y++) {
        const struct change two[2] = {{time_of(&rule->begin, y) - rule->standard, rule->summer},
                                      {time_of(&rule->end, y) - rule->summer, rule->standard}};

        for (int i = 0; i < 2; i++) {
            if (moment_of(&two[i], by_clock) <= moment && two[i].at > last.at) {
                last = two[i];
            }
        }
    }
    return last.offset;
}

static int64_t
offset_at(const struct gr_tzone *zone, int64_t moment, bool by_clock)
{
    size_t low = 0;
    size_t high = zone->count;

    while (low < high) { /* how many changes are before */
        size_t middle = low + (high - low) / 2;

        if (moment_of(&zone->changes[middle], by_clock) <= moment) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == zone->count && zone->rule.known) {
        if (moment > FAR_AHEAD || moment < -FAR_AHEAD) {
            return zone->rule.standard;
        }
        return offset_by_rule(&zone->rule, moment, by_clock);
    }
    return low > 0 ? zone->changes[low - 1].offset : zone->first;
}

int64_t
gr_tzone_offset(const struct gr_tzone *zone, int64_t instant)
{
    return offset_at(zone, instant, false);
}

int64_t
gr_tzone_offset_of_clock(const struct gr_tzone *zone, int64_t clock)
{
    return offset_at(zone, clock, true);
}

/* ---- by name ---- */

/* Those that were asked for, which stay. */
struct known {
    struct known *next;
    struct gr_tzone *zone;
    size_t size;
    char name[NAME_MOST];
};

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_first;

/* No path leads out of the directory. */
static bool
is_name(const char *name, size_t size)
{
    static const char others[] = "_+-/";
    bool good = size > 0 && size < NAME_MOST && name[0] != '/';

    for (size_t i = 0; good && i < size; i++) {
        char small = (char)(name[i] | 0x20);

        good = (small >= 'a' && small <= 'z') || (name[i] >= '0' && name[i] <= '9') ||
               memchr(others, name[i], sizeof others - 1) != NULL;
    }
    return good;
}

static granary_err
no_zone(const char *name, size_t size)
{
    return gr_fail(GRANARY_ENOENT, "there is no time zone '%.*s' in %s: names are such as 'Europe/Berlin'",
                   (int)(size > NAME_MOST ? NAME_MOST : size), name, DIRECTORY);
}

/* *ret_bytes is to be freed. */
static granary_err
read_file(const char *name, uint8_t **ret_bytes, size_t *ret_size)
{
    char path[sizeof DIRECTORY + NAME_MOST];
    uint8_t *bytes = NULL;
    struct stat info;
    ssize_t size = -1;
    int fd;

    (void)snprintf(path, sizeof path, DIRECTORY "%s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < FILE_MOST &&
        (bytes = malloc((size_t)info.st_size + 1)) != NULL) {
        size = read(fd, bytes, (size_t)info.st_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (size < 0) {
        free(bytes);
        return no_zone(name, strlen(name));
    }
    *ret_bytes = bytes;
    *ret_size = (size_t)size;
    return GRANARY_OK;
}

static granary_err
zone_read(const char *name, struct gr_tzone **ret_zone)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    granary_err err;

    if (strcmp(name, "UTC") == 0) {
        *ret_zone = calloc(1, sizeof **ret_zone);
        return *ret_zone == NULL ? gr_no_memory("time zone") : GRANARY_OK;
    }
    err = read_file(name, &bytes, &size);
    if (err == GRANARY_OK) {
        err = gr_tzone_parse(bytes, size, ret_zone);
        err = err == GRANARY_OK ? err : gr_fail_in(err, DIRECTORY "%s", name);
    }
    free(bytes);
    return err;
}

static granary_err
known_add(const char *name, size_t size, struct known **ret_known)
{
    struct known *one = calloc(1, sizeof *one);
    granary_err err;

    if (one == NULL) {
        return gr_no_memory("time zone");
    }
    memcpy(one->name, name, size);
    one->size = size;
    err = zone_read(one->name, &one->zone);
    if (err != GRANARY_OK) {
        free(one);
        return err;
    }
    one->next = known_first;
    known_first = one;
    *ret_known = one;
    return GRANARY_OK;
}

granary_err
gr_tzone_find(const char *name, size_t size, const struct gr_tzone **ret_zone)
{
    struct known *one;
    granary_err err = GRANARY_OK;

    if (!is_name(name, size)) {
        return no_zone(name, size);
    }
    (void)pthread_mutex_lock(&known_lock);
    for (one = known_first; one != NULL && (one->size != size || memcmp(one->name, name, size) != 0);) {
        one = one->next;
    }
    if (one == NULL) {
        err = known_add(name, size, &one);
    }
    (void)pthread_mutex_unlock(&known_lock);
    if (err == GRANARY_OK) {
        *ret_zone = one->zone;
    }
    return err;
}
