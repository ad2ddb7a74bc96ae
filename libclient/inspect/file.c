/*
 * The files of an instance. They are read with pread(): a file that somebody truncates is a short read, where a
 * mapping of it would be a SIGBUS.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/barrier.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/memory/grow.h"
#include "contract/versions.h"
#include "inspect/inspector.h"

#define STABLE_TRIES 64
#define HOLES_LEAST  ((size_t)256 << 10)

void
file_name(char ret_name[96], uint32_t session, const char *kind, uint32_t number)
{
    if (number == NO_NUMBER) {
        (void)snprintf(ret_name, 96, "s%u.%s", session, kind);
    } else {
        (void)snprintf(ret_name, 96, "s%u.%s%u", session, kind, number);
    }
}

granary_err
file_open(const struct granary_inspector *inspector, const char *name, struct file *ret_file)
{
    char path[PATH_MAX];
    struct file file = FILE_NONE;
    struct stat st;
    granary_err err;

    (void)snprintf(file.name, sizeof file.name, "%s", name);
    if (snprintf(path, sizeof path, "%s/%s%s", inspector->directory, inspector->prefix, name) >= (int)sizeof path) {
        return gr_fail(GRANARY_EINVAL, "%s: path too long", inspector->directory);
    }
    /* A pipe in a copy must not make us wait. */
    file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file.fd < 0 || fstat(file.fd, &st) < 0) {
        err = gr_fail_errno("%s", path);
        file_close(&file);
        return err;
    }
    if (!S_ISREG(st.st_mode)) {
        file_close(&file);
        return gr_fail(GRANARY_ECORRUPT, "%s: no regular file", path);
    }
    if (!inspector->copy && strtoul(inspector->prefix + strlen("granary."), NULL, 10) != st.st_uid) {
        file_close(&file);
        return gr_fail(GRANARY_EPERM, "%s: uid %u put it there, whose store this is not", path, (unsigned)st.st_uid);
    }
    file.size = (uint64_t)st.st_size;
    file.resident = (uint64_t)st.st_blocks * 512;
    *ret_file = file;
    return GRANARY_OK;
}

void
file_close(struct file *file)
{
    gr_fd_close(&file->fd);
}

granary_err
file_check_version(const struct file *file, uint32_t version)
{
    return gr_shm_known(version)
               ? GRANARY_OK
               : gr_fail(
                     GRANARY_EVERSION,
                     "%s: shared memory of version %u, this granary reads %u: use the granary that made it, or give "
                     "up what is in it with `granary down`",
                     file->name, version, GR_SHM_VERSION);
}

granary_err
file_read(const struct file *file, uint64_t at, void *bytes, size_t size)
{
    size_t done = 0;

    if (at > INT64_MAX - size) {
        return gr_fail(GRANARY_ECORRUPT, "%s: byte %llu is beyond every file", file->name, (unsigned long long)at);
    }
    while (done < size) {
        ssize_t n = pread(file->fd, (char *)bytes + done, size - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return gr_fail_errno("%s", file->name);
        }
        if (n == 0) {
            return gr_fail(GRANARY_ECORRUPT, "%s: ends at byte %llu, but bytes %llu to %llu are needed", file->name,
                           (unsigned long long)(at + done), (unsigned long long)at, (unsigned long long)(at + size));
        }
        done += (size_t)n;
    }
    return GRANARY_OK;
}

static granary_err
read_records(const struct file *file, uint64_t at, void *records, size_t record_size, size_t count)
{
    size_t size = record_size * count;
    char *again = malloc(size == 0 ? 1 : size);
    char *first = records;
    granary_err err;

    if (again == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: no memory for %zu bytes", file->name, size);
    }
    err = file_read(file, at, first, size);
    barrier_full();
    if (err == GRANARY_OK) {
        err = file_read(file, at, again, size);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        char *one = first + i * record_size;
        char *two = again + i * record_size;

        for (int tries = 0; err == GRANARY_OK && tries < STABLE_TRIES && memcmp(one, two, record_size) != 0; tries++) {
            memcpy(one, two, record_size);
            barrier_full();
            err = file_read(file, at + i * record_size, two, record_size);
        }
    }
    free(again);
    return err;
}

/* Large tables are mostly holes, which need not be read. */
granary_err
file_read_records(const struct file *file, uint64_t at, void *records, size_t record_size, size_t count)
{
    uint64_t end = at + record_size * count;
    uint64_t next = at;
    struct stat st;

    if (record_size * count < HOLES_LEAST || fstat(file->fd, &st) < 0 || (uint64_t)st.st_size < end) {
        return read_records(file, at, records, record_size, count);
    }
    (void)memset(records, 0, record_size * count);
    while (next < end) {
        off_t data = lseek(file->fd, (off_t)next, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(file->fd, data, SEEK_HOLE);
        uint64_t from;
        uint64_t to;
        granary_err err;

        if (data < 0 && errno == ENXIO) {
            break; /* the rest is a hole */
        }
        if (data < 0 || hole < 0) {
            return read_records(file, at, records, record_size, count);
        }
        if ((uint64_t)data >= end) {
            break;
        }
        from = ((uint64_t)data - at) / record_size;
        to = ((uint64_t)hole < end ? (uint64_t)hole : end) - at;
        to = (to + record_size - 1) / record_size;
        err = read_records(file, at + from * record_size, (char *)records + from * record_size, record_size,
                           (size_t)(to - from));
        if (err != GRANARY_OK) {
            return err;
        }
        next = at + to * record_size;
    }
    return GRANARY_OK;
}

/* ---- names ---- */

/* A decimal number without leading zeros that ends the text. */
static bool
parse_number(const char *text, uint32_t *ret_number)
{
    char *end;
    unsigned long number;

    if (!isdigit((unsigned char)text[0]) || (text[0] == '0' && text[1] != '\0')) {
        return false;
    }
    errno = 0;
    number = strtoul(text, &end, 10);
    if (*end != '\0' || errno != 0 || number >= NO_NUMBER) {
        return false;
    }
    *ret_number = (uint32_t)number;
    return true;
}

static void
parse_name(struct file_entry *entry)
{
    static const struct {
        const char *kind;
        bool numbered;
    } kinds[] = {{"control", false},  {"index", false},    {"ledger", false}, {"events", false},
                 {"counters", false}, {"mutables", false}, {"data", true},    {"lease", true}};
    const char *dot = strchr(entry->name, '.');
    char digits[16];

    entry->number = NO_NUMBER;
    if (strcmp(entry->name, "root") == 0 || strcmp(entry->name, "events") == 0) {
        (void)snprintf(entry->kind, sizeof entry->kind, "%s", entry->name);
        return;
    }
    if (entry->name[0] != 's' || dot == NULL || dot - entry->name > 11) {
        return;
    }
    (void)snprintf(digits, sizeof digits, "%.*s", (int)(dot - entry->name - 1), entry->name + 1);
    if (!parse_number(digits, &entry->session)) {
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t length = strlen(kinds[i].kind);

        if (strncmp(dot + 1, kinds[i].kind, length) == 0 &&
            (kinds[i].numbered ? parse_number(dot + 1 + length, &entry->number) : dot[1 + length] == '\0')) {
            (void)snprintf(entry->kind, sizeof entry->kind, "%s", kinds[i].kind);
            return;
        }
    }
}

static int
by_name(const void *left, const void *right)
{
    const struct file_entry *a = left;
    const struct file_entry *b = right;

    return strcmp(a->name, b->name);
}

granary_err
files_list(const struct granary_inspector *inspector, struct file_entry **ret_entries, size_t *ret_count)
{
    size_t length = strlen(inspector->prefix);
    struct file_entry *entries = NULL;
    size_t count = 0;
    size_t room = 0;
    granary_err err = GRANARY_OK;
    struct dirent *found;
    DIR *dir = opendir(inspector->directory);

    if (dir == NULL) {
        return gr_fail_errno("%s", inspector->directory);
    }
    while (err == GRANARY_OK && (found = readdir(dir)) != NULL) {
        struct file_entry entry = {.number = NO_NUMBER};
        struct stat st;

        if (strncmp(found->d_name, inspector->prefix, length) != 0 ||
            strlen(found->d_name + length) >= sizeof entry.name ||
            fstatat(dirfd(dir), found->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) {
            continue;
        }
        (void)snprintf(entry.name, sizeof entry.name, "%.95s", found->d_name + length);
        entry.size = (uint64_t)st.st_size;
        entry.resident = (uint64_t)st.st_blocks * 512;
        parse_name(&entry);
        if (!gr_grow(&entries, &room, count, sizeof *entries)) {
            err = gr_fail(GRANARY_ENOMEM, "no memory to list the files of %s", inspector->about);
        } else {
            entries[count++] = entry;
        }
    }
    (void)closedir(dir);
    if (err != GRANARY_OK) {
        free(entries);
        return err;
    }
    if (count > 0) {
        qsort(entries, count, sizeof *entries, by_name);
    }
    *ret_entries = entries;
    *ret_count = count;
    return GRANARY_OK;
}

/* ---- little helps ---- */

void
copy_text(char *to, size_t to_size, const char *from, size_t from_size)
{
    size_t length = strnlen(from, from_size);

    if (length >= to_size) {
        length = to_size - 1;
    }
    memcpy(to, from, length);
    to[length] = '\0';
}
