/* See spool.h. What was read is kept in a list, which grows with the names that a process is given. */
#include "data/file/paths/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/memory/spare.h"
#include "data/arrow/streamed.h"
#include "data/file/guess.h"
#include "data/text/unpack.h"

enum { BLOCK = 64 << 10, LOOK = 4096, MESSAGE = 1024 };

struct spool {
    char *name;
    char path[48];
    int fd;
    const struct gr_format *format;
    struct spool *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct spool *spools;

/* The descriptor that a name means; -1: none. */
static int
descriptor_of(const char *name)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

    if (strcmp(name, "-") == 0 || strcmp(name, "/dev/stdin") == 0) {
        return STDIN_FILENO;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *number = name + strlen(folders[i]);

        if (strncmp(name, folders[i], strlen(folders[i])) == 0 && number[0] != '\0' && strlen(number) <= 6 &&
            strspn(number, "0123456789") == strlen(number)) {
            return atoi(number);
        }
    }
    return -1;
}

bool
gr_spool_is_meant(const char *name)
{
    struct stat info;

    return descriptor_of(name) >= 0 ||
           (stat(name, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || S_ISCHR(info.st_mode)));
}

static const char *
said_name(const char *name)
{
    return descriptor_of(name) == STDIN_FILENO ? "stdin" : name;
}

/* A device gives bytes without end, as /dev/zero does, and its copy would fill the disk. /dev/null gives none. */
static bool
is_device(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev != makedev(1, 3);
}

static granary_err
source_open(const char *name, int *ret_fd)
{
    int fd = descriptor_of(name);

    *ret_fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*ret_fd < 0) {
        return gr_fail_errno("%s", said_name(name));
    }
    if (isatty(*ret_fd)) {
        return gr_fail(GRANARY_EINVAL, "%s: is a terminal: name a file, or let a pipe lead here", said_name(name));
    }
    return is_device(*ret_fd) ? gr_fail(GRANARY_EINVAL,
                                        "%s: is a device, which may never end: name a file, or let a pipe lead here, "
                                        "as `head -c 1M %s |` does",
                                        said_name(name), name)
                              : GRANARY_OK;
}

/* A file without a name, on a disk. */
static granary_err
target_open(const char **ret_folder, int *ret_fd)
{
    const char *folder = getenv("TMPDIR");
    char name[512];

    folder = folder != NULL && folder[0] == '/' ? folder : access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
    *ret_folder = folder;
    *ret_fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (*ret_fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        (void)snprintf(name, sizeof name, "%s/granary-XXXXXX", folder);
        *ret_fd = mkostemp(name, O_CLOEXEC);
        if (*ret_fd >= 0) {
            (void)unlink(name);
        }
    }
    return *ret_fd < 0
               ? gr_fail_errno("%s: what comes through a pipe is kept there ($TMPDIR names another folder)", folder)
               : GRANARY_OK;
}

/* As much as was asked for, or less at the end. */
static granary_err
read_up_to(int fd, void *to, size_t size, size_t *ret_got)
{
    ssize_t got = 1;

    *ret_got = 0;
    while (*ret_got < size && got != 0) {
        got = read(fd, (char *)to + *ret_got, size - *ret_got);
        if (got < 0 && errno != EINTR) {
            return gr_fail_errno("cannot be read");
        }
        *ret_got += got > 0 ? (size_t)got : 0;
    }
    return GRANARY_OK;
}

static granary_err
read_source(void *source, void *to, size_t size, size_t *ret_got)
{
    return read_up_to(*(const int *)source, to, size, ret_got);
}

struct target {
    int fd;
    struct gr_spare spare;
};

static granary_err
write_target(void *context, const void *bytes, size_t size)
{
    struct target *target = context;

    return gr_spare_write(&target->spare, target->fd, bytes, size);
}

static granary_err
copy(int from, int to)
{
    struct target target = {.fd = to};
    char *block = malloc(BLOCK);
    size_t got = 0;
    granary_err err = block == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : read_up_to(from, block, BLOCK, &got);

    gr_spare_begin(to, &target.spare);
    if (err == GRANARY_OK && got == 0) {
        err = gr_fail(GRANARY_EINVAL, "nothing came: the pipe's writer has ended without a byte");
    } else if (err == GRANARY_OK && gr_arrow_is_streamed(block, got)) {
        err = gr_arrow_streamed(block, got, read_source, &from, write_target, &target);
    } else {
        while (err == GRANARY_OK && got > 0) {
            err = write_target(&target, block, got);
            err = err == GRANARY_OK ? read_up_to(from, block, BLOCK, &got) : err;
        }
    }
    free(block);
    return err;
}

/* What is in the file. */
static const struct gr_format *
format_of(const char *path, int fd)
{
    char bytes[LOOK] = "";
    struct gr_unpack *unpack = NULL;
    size_t size = 0;

    if (pread(fd, bytes, 16, 0) > 0) {
        for (const struct gr_format *const *format = gr_formats; *format != NULL; format++) {
            if ((*format)->magic != NULL && memcmp(bytes, (*format)->magic, strlen((*format)->magic)) == 0) {
                return *format;
            }
        }
    }
    if (gr_unpack_open(path, &unpack) == GRANARY_OK) {
        (void)gr_unpack_read(unpack, bytes, sizeof bytes, &size);
    }
    gr_unpack_close(unpack);
    return gr_data_is_json(bytes, size) ? &gr_format_ndjson : &gr_format_csv;
}

static void
spool_destroy(struct spool *spool)
{
    if (spool != NULL) {
        gr_fd_close(&spool->fd);
        free(spool->name);
        free(spool);
    }
}

/* A descriptor that leads to a file's beginning is that file; its offset stays. */
static bool
is_file(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
}

static granary_err
spool_create(const char *name, struct spool **ret_spool)
{
    struct spool *spool = calloc(1, sizeof *spool);
    const char *folder = "";
    int from = -1;
    granary_err err;

    *ret_spool = spool;
    if (spool == NULL || (spool->fd = -1, spool->name = strdup(name)) == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = source_open(name, &from);
    if (err == GRANARY_OK && is_file(from)) {
        spool->fd = from;
        from = -1;
    } else if (err == GRANARY_OK && (err = target_open(&folder, &spool->fd)) == GRANARY_OK) {
        err = copy(from, spool->fd);
        err = err == GRANARY_OK       ? err
              : err == GRANARY_EINVAL ? gr_fail_in(err, "%s", said_name(name))
                                      : gr_fail_in(err, "%s, kept in %s", said_name(name), folder);
    }
    gr_fd_close(&from);
    if (err == GRANARY_OK) {
        (void)snprintf(spool->path, sizeof spool->path, "/proc/%d/fd/%d", (int)getpid(), spool->fd);
        spool->format = format_of(spool->path, spool->fd);
    }
    return err;
}

granary_err
gr_spool(const char *name, bool again, const char **ret_path, const struct gr_format **ret_format)
{
    struct spool *spool;
    granary_err err = GRANARY_OK;

    (void)pthread_mutex_lock(&lock);
    spool = spools;
    while (spool != NULL && strcmp(said_name(spool->name), said_name(name)) != 0) {
        spool = spool->next;
    }
    if (spool == NULL || (!again && descriptor_of(name) < 0)) {
        err = spool_create(name, &spool);
        if (err == GRANARY_OK) {
            spool->next = spools;
            spools = spool;
        } else {
            spool_destroy(spool);
        }
    }
    if (err == GRANARY_OK) {
        *ret_path = spool->path;
        *ret_format = spool->format;
    }
    (void)pthread_mutex_unlock(&lock);
    return err;
}

granary_err
gr_spool_unname(granary_err err)
{
    const char *message = granary_error_message();
    char text[MESSAGE];
    const char *at = NULL;

    (void)pthread_mutex_lock(&lock);
    for (const struct spool *spool = spools; spool != NULL && at == NULL && err != GRANARY_OK; spool = spool->next) {
        at = strstr(message, spool->path);
        if (at != NULL && (at[strlen(spool->path)] < '0' || at[strlen(spool->path)] > '9')) {
            (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - message), message, said_name(spool->name),
                           at + strlen(spool->path));
        } else {
            at = NULL;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return at != NULL ? gr_spool_unname(gr_fail(err, "%s", text)) : err;
}
