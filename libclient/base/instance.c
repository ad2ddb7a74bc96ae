/* The folders of an instance: which one a name means, whether it can be trusted, and how it is made and swept. */
#include "base/instance.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "contract/executor_page.h"
#include "contract/shm.h"

/* sun_path holds 108 bytes with its NUL; "/store.sock" is the longest name put below the directory. */
#define RUNTIME_MAX (108 - (int)sizeof "/store.sock")
#define MEMBER_MAX  ((int)sizeof "/+-01234567" + MEMBER_NAME)
#define MEMBER_NAME 20
/* More links that lead to links than this are a loop, or as good as one. */
#define LINKS_MOST 16u

/*
 * As its specification says, $XDG_RUNTIME_DIR must be the user's own: `su` and `sudo` may leave another one's behind. A
 * service of the machine has a folder of its own below root's /run.
 */
static bool
holds_instances(const char *xdg)
{
    char own[PATH_MAX];
    struct stat st;

    if (xdg == NULL || xdg[0] != '/' || stat(xdg, &st) != 0) {
        return false;
    }
    if (st.st_uid == geteuid()) {
        return access(xdg, W_OK) == 0;
    }
    (void)snprintf(own, sizeof own, "%s/granary", xdg);
    return st.st_uid == 0 && lstat(own, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Where this user's instances are. */
static void
find_home(char home[PATH_MAX])
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");

    if (holds_instances(xdg)) {
        (void)snprintf(home, PATH_MAX, "%s/granary", xdg);
    } else {
        (void)snprintf(home, PATH_MAX, "/tmp/granary-%u", (unsigned)geteuid());
    }
}

static granary_err
runtime_from_name(const char *name, char runtime[PATH_MAX])
{
    size_t length = strlen(name);
    char home[PATH_MAX];

    if (length == 0 || length > 32 || name[0] == '.') {
        return gr_fail(GRANARY_EINVAL,
                       "instance '%s': a name has 1 to 32 characters and does not begin with a dot; "
                       "a path has a '/'",
                       name);
    }
    for (const char *c = name; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL) {
            return gr_fail(GRANARY_EINVAL, "instance '%s': only letters, digits, '.', '_' and '-' make a name", name);
        }
    }
    find_home(home);
    return snprintf(runtime, PATH_MAX, "%s/%s", home, name) < PATH_MAX
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "instance '%s': path too long", name);
}

/* In a user namespace whoever has no number there has this one, root outside included. */
static bool
is_unmapped(uid_t uid)
{
    unsigned long count = UINT32_MAX;
    char *text = NULL;
    size_t size;

    if (uid != 65534 || gr_file_read("/proc/self/uid_map", 4096, &text, &size) != GRANARY_OK) {
        return false;
    }
    (void)sscanf(text, "%*u %*u %lu", &count);
    free(text);
    return count != UINT32_MAX; /* the first namespace has all of them */
}

/* Who may be trusted not to lead this user astray. */
static bool
is_trusted(uid_t uid)
{
    return uid == 0 || uid == geteuid() || is_unmapped(uid);
}

static bool
link_target(const char *link, char ret_target[PATH_MAX])
{
    int parent = (int)(strrchr(link, '/') - link);
    char text[PATH_MAX];
    ssize_t length = readlink(link, text, sizeof text - 1);

    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    return (text[0] == '/' ? snprintf(ret_target, PATH_MAX, "%s", text)
                           : snprintf(ret_target, PATH_MAX, "%.*s/%s", parent, link, text)) < PATH_MAX;
}

/* Of the links an absolute path leads through, and those that they lead through, the first that is somebody else's. */
static bool
find_foreign_link(const char *path, unsigned depth, char ret_link[108])
{
    const char *end = path;

    while (depth < LINKS_MOST && *end != '\0') {
        char at[PATH_MAX], target[PATH_MAX];
        struct stat st;

        end = strchrnul(end + 1, '/');
        (void)snprintf(at, sizeof at, "%.*s", (int)(end - path), path);
        if (lstat(at, &st) < 0 || !S_ISLNK(st.st_mode)) {
            continue;
        }
        if (!is_trusted(st.st_uid)) {
            (void)snprintf(ret_link, 108, "%.107s", at);
            return true;
        }
        if (link_target(at, target) && find_foreign_link(target, depth + 1, ret_link)) {
            return true;
        }
    }
    return false;
}

static granary_err
fail_foreign_link(const char *runtime, const char *link)
{
    return gr_fail(GRANARY_EPERM,
                   "%s: %s is another user's link, who could lead it elsewhere: remove it, or choose a directory of "
                   "your own with --instance",
                   runtime, link);
}

/* ---- a group's store ---- */

/* A directory of this user that is at a group's store: its socket is a link of this user. */
static bool
follow_store(const char *runtime, char ret_shared[108])
{
    char link[PATH_MAX], target[PATH_MAX];
    struct stat st;
    char *slash;

    if (snprintf(link, sizeof link, "%s/store.sock", runtime) >= PATH_MAX || lstat(link, &st) < 0 ||
        !S_ISLNK(st.st_mode) || st.st_uid != geteuid() || !link_target(link, target)) {
        return false;
    }
    slash = strrchr(target, '/');
    return slash > target && snprintf(ret_shared, 108, "%.*s", (int)(slash - target), target) < 108;
}

/* Another user's directory that lets the members of a group through, and this user is one. Root is nobody's member. */
static bool
is_of_group(const char *runtime)
{
    struct stat st;

    return geteuid() != 0 && stat(runtime, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid != geteuid() &&
           (st.st_mode & (S_IRWXG | S_IRWXO)) == S_IXGRP && faccessat(AT_FDCWD, runtime, X_OK, AT_EACCESS) == 0;
}

/* Where this user's own part is of what is at a group's store: no instance of a name has a '+'. */
static void
member_place(const char *shared, char runtime[PATH_MAX])
{
    char home[PATH_MAX];

    find_home(home);
    if ((int)strlen(home) + MEMBER_MAX > RUNTIME_MAX) {
        (void)snprintf(home, sizeof home, "/tmp/granary-%u", (unsigned)geteuid());
    }
    (void)snprintf(runtime, PATH_MAX, "%.100s/+%.20s-%08x", home, strrchr(shared, '/') + 1,
                   (unsigned)(uint32_t)gr_hash64(shared, strlen(shared)));
}

/* From the directory of a group's store to this user's own. The store may have ended since, and its directory be gone. */
static bool
find_member(char runtime[PATH_MAX], char ret_shared[108])
{
    char own[PATH_MAX];
    bool found = is_of_group(runtime);

    member_place(runtime, own);
    if (!found && access(runtime, F_OK) < 0 && errno == ENOENT) {
        found = follow_store(own, ret_shared) && strcmp(ret_shared, runtime) == 0;
    }
    if (found) {
        (void)snprintf(ret_shared, 108, "%.107s", runtime);
        memcpy(runtime, own, sizeof own);
    } else {
        ret_shared[0] = '\0';
    }
    return found;
}

static granary_err
check_owner(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 || (S_ISDIR(st.st_mode) && st.st_uid == geteuid())
               ? GRANARY_OK
               : gr_fail(GRANARY_EPERM,
                         "%s, the place for what uid %u runs, belongs to uid %u: have it removed, or set "
                         "XDG_RUNTIME_DIR to a directory of your own",
                         path, (unsigned)geteuid(), (unsigned)st.st_uid);
}

granary_err
gr_instance_check_place(const struct gr_instance *instance)
{
    char home[PATH_MAX];
    granary_err err;

    if (instance->shared[0] == '\0') {
        return GRANARY_OK;
    }
    (void)snprintf(home, sizeof home, "%.*s", (int)(strrchr(instance->runtime, '/') - instance->runtime),
                   instance->runtime);
    /* A private instance's own directory is anywhere; who could put another one in its place is looked at when it is made. */
    err = strrchr(instance->runtime, '/')[1] == '+' ? check_owner(home) : GRANARY_OK;
    return err == GRANARY_OK ? check_owner(instance->runtime) : err;
}

/* ---- which one ---- */

granary_err
gr_instance_resolve(const char *name, struct gr_instance *ret_instance)
{
    struct gr_instance instance = {0};
    char runtime[PATH_MAX];
    char absolute[PATH_MAX];
    const char *last;
    uint32_t tag;
    granary_err err;
    int length;

    if (name == NULL || name[0] == '\0') {
        name = getenv("GRANARY_INSTANCE");
    }
    if (name == NULL || name[0] == '\0') {
        name = "default";
    }
    instance.named = strchr(name, '/') == NULL;
    if (instance.named) {
        err = runtime_from_name(name, runtime);
        if (err != GRANARY_OK) {
            return err;
        }
    } else if (name[0] == '/') {
        (void)snprintf(runtime, sizeof runtime, "%s", name);
    } else {
        if (getcwd(absolute, sizeof absolute) == NULL) {
            return gr_fail_errno("current directory");
        }
        length = snprintf(runtime, sizeof runtime, "%s/%s", absolute, name);
        if (length >= (int)sizeof runtime) {
            return gr_fail(GRANARY_EINVAL, "instance '%s': path too long", name);
        }
    }
    if (find_foreign_link(runtime, 0, instance.foreign_link) && instance.named) {
        return fail_foreign_link(runtime, instance.foreign_link);
    }
    /* One directory, one tag: resolve links as far as the path exists, and drop trailing slashes. */
    if (realpath(runtime, absolute) != NULL) {
        memcpy(runtime, absolute, sizeof runtime);
    }
    for (length = (int)strlen(runtime); length > 1 && runtime[length - 1] == '/'; length--) {
        runtime[length - 1] = '\0';
    }
    if (length > RUNTIME_MAX) {
        return gr_fail(GRANARY_EINVAL,
                       "instance directory '%s': %d characters, but at most %d fit a socket's address; "
                       "choose a shorter path with --instance",
                       runtime, length, RUNTIME_MAX);
    }
    if (instance.named || !find_member(runtime, instance.shared)) {
        (void)follow_store(runtime, instance.shared);
    }
    length = (int)strlen(runtime);
    last = strrchr(instance.shared[0] != '\0' ? instance.shared : runtime, '/');
    (void)snprintf(instance.name, sizeof instance.name, "%.63s", last == NULL ? runtime : last + 1);
    (void)snprintf(instance.runtime, sizeof instance.runtime, "%.107s", runtime);
    (void)snprintf(instance.store_socket, sizeof instance.store_socket, "%.96s/store.sock",
                   instance.shared[0] != '\0' ? instance.shared : runtime);
    (void)snprintf(instance.sched_socket, sizeof instance.sched_socket, "%.96s/sched.sock", runtime);
    (void)snprintf(instance.pool_socket, sizeof instance.pool_socket, "%.96s/pool.sock", runtime);
    tag = (uint32_t)gr_hash64(runtime, (size_t)length);
    (void)snprintf(instance.shm_prefix, sizeof instance.shm_prefix, "/granary.%u.%08x.", (unsigned)geteuid(), tag);
    (void)snprintf(instance.spill_default, sizeof instance.spill_default, "/var/tmp/granary-%u-%08x",
                   (unsigned)geteuid(), tag);
    *ret_instance = instance;
    return GRANARY_OK;
}

static granary_err
check_above(const char *runtime, const char *above)
{
    struct stat st;

    if (lstat(above, &st) < 0) {
        return gr_fail_errno("%s", above);
    }
    if (!is_trusted(st.st_uid)) {
        return gr_fail(GRANARY_EPERM,
                       "%s: %s belongs to uid %u, who could put another directory in its place: choose one below a "
                       "directory of your own with --instance",
                       runtime, above, (unsigned)st.st_uid);
    }
    if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0) {
        return gr_fail(GRANARY_EPERM,
                       "%s: everybody may write in %s, and put another directory in its place: set its sticky bit, or "
                       "choose a directory elsewhere with --instance",
                       runtime, above);
    }
    return GRANARY_OK;
}

granary_err
gr_instance_make(const struct gr_instance *instance)
{
    char real[PATH_MAX];
    struct stat st;
    bool was_there = lstat(instance->runtime, &st) == 0;
    granary_err err = instance->foreign_link[0] == '\0' ? gr_mkdir_private(instance->runtime)
                                                        : fail_foreign_link(instance->runtime, instance->foreign_link);

    if (err != GRANARY_OK) {
        return err;
    }
    if (realpath(instance->runtime, real) == NULL) {
        return gr_fail_errno("%s", instance->runtime);
    }
    for (char *slash = strrchr(real, '/'); err == GRANARY_OK && slash != NULL; slash = strrchr(real, '/')) {
        *slash = '\0';
        err = check_above(instance->runtime, real[0] == '\0' ? "/" : real);
    }
    if (err != GRANARY_OK && !was_there) {
        (void)rmdir(instance->runtime);
    }
    return err;
}

/* The last part of the path that can be seen, ret_path, tells whose it is. */
static bool
look_at_owner(const char *runtime, char ret_path[PATH_MAX], struct stat *ret_st)
{
    char *path = ret_path;
    bool seen = stat(runtime, ret_st) == 0;

    (void)snprintf(path, PATH_MAX, "%s", runtime);
    for (char *slash = strrchr(path, '/'); !seen && slash != NULL && slash != path; slash = strrchr(path, '/')) {
        *slash = '\0';
        seen = stat(path, ret_st) == 0;
    }
    return seen;
}

granary_err
gr_instance_check_own(const char *runtime)
{
    char path[PATH_MAX], home[64];
    struct stat st;

    bool reached = faccessat(AT_FDCWD, runtime, R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES;

    /* Where everybody may look, too, somebody else may have laid out what leads this user astray. */
    if (reached && (geteuid() == 0 || stat(runtime, &st) < 0 || is_trusted(st.st_uid))) {
        return GRANARY_OK;
    }
    if (!look_at_owner(runtime, path, &st) || st.st_uid == geteuid()) {
        errno = EACCES;
        return gr_fail_errno("%s", runtime);
    }
    (void)snprintf(home, sizeof home, "/tmp/granary-%u", (unsigned)geteuid());
    if (strcmp(path, home) == 0) { /* no other name would help */
        return gr_fail(GRANARY_EPERM,
                       "%s, the place for instances of uid %u, belongs to uid %u: have it removed, or name a directory "
                       "of your own with --instance",
                       path, (unsigned)geteuid(), (unsigned)st.st_uid);
    }
    return gr_fail(GRANARY_EPERM,
                   (st.st_mode & S_IXGRP) != 0 && (st.st_mode & S_IXOTH) == 0
                       ? "%s belongs to uid %u: join its group (gid %u), run this as that user, or start an instance "
                         "of your own with `granary up --instance NAME`"
                       : "%s belongs to uid %u: run this as that user, or start an instance of your own with `granary "
                         "up --instance NAME`",
                   runtime, (unsigned)st.st_uid, (unsigned)st.st_gid);
}

granary_err
gr_instance_check_store(const struct gr_instance *instance)
{
    struct stat st = {.st_uid = (uid_t)-1};

    if (instance->shared[0] == '\0') {
        return GRANARY_OK;
    }
    (void)stat(instance->shared, &st);
    return gr_fail(
        GRANARY_EPERM,
        "%s is a store of uid %u, which is open to its group for objects (`put`, `get`, `ls`, `stat`, `names`), "
        "tables and SQL: only that user looks deeper",
        instance->shared, (unsigned)st.st_uid);
}

bool
gr_instance_supervised(const struct gr_instance *instance)
{
    char path[160];
    char *text = NULL;
    size_t size;
    long pid = 0;

    (void)snprintf(path, sizeof path, "%s/lock", instance->runtime);
    if (gr_file_read(path, 4096, &text, &size) == GRANARY_OK) {
        pid = strtol(text, NULL, 10);
    }
    free(text);
    return gr_process_lives((pid_t)pid);
}

void
gr_instance_logs(const struct gr_instance *instance, char ret_path[GR_LOGS_MAX])
{
    const char *own = strrchr(instance->spill_default, '/'); /* the last part is the same wherever it spills to */
    char dir[sizeof((struct gr_root *)0)->spill_dir] = "";
    char name[sizeof instance->shm_prefix + 8];
    const char *last;
    int fd;

    (void)snprintf(name, sizeof name, "%sroot", instance->shm_prefix);
    fd = gr_shm_open(name, O_RDONLY);
    if (fd >= 0 && gr_pread_all(fd, dir, sizeof dir, offsetof(struct gr_root, spill_dir)) != GRANARY_OK) {
        dir[0] = '\0';
    }
    gr_fd_close(&fd);
    dir[sizeof dir - 1] = '\0';
    last = strrchr(dir, '/');
    if (last == NULL || strcmp(last, own) != 0) {
        (void)snprintf(dir, sizeof dir, "%s", instance->spill_default);
    }
    (void)snprintf(ret_path, GR_LOGS_MAX, "%s/" GR_LOGS, dir);
}

void
gr_log_folder(const char *graph_key, char ret_folder[GR_LOG_FOLDER_MAX])
{
    size_t length = strlen(graph_key);
    bool plain = length > 0 && length < GR_LOG_FOLDER_MAX && graph_key[0] != '.';

    for (size_t i = 0; i < length && plain; i++) {
        plain = isalnum((unsigned char)graph_key[i]) || strchr("._-", graph_key[i]) != NULL;
    }
    if (plain) {
        memcpy(ret_folder, graph_key, length + 1);
    } else {
        gr_hash128_format(graph_key, length, ret_folder);
    }
}

int
gr_instance_sweep_shm(const struct gr_instance *instance)
{
    size_t length = strlen(instance->shm_prefix + 1);
    struct dirent *entry;
    int count = 0;
    DIR *dir = opendir("/dev/shm");

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, instance->shm_prefix + 1, length) == 0) {
            char name[NAME_MAX + 2];

            (void)snprintf(name, sizeof name, "/%s", entry->d_name);
            count += shm_unlink(name) == 0;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}
