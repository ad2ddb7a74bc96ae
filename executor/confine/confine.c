/*
 * The ladder of confinement, from what every kernel has to what new ones have: limits and privileges, system calls
 * (calls.c), then Landlock for files, signals and the network. Each rung is tried; the highest that the kernel
 * allows is told. Landlock's rules name what stays open: the instance's directories, the machine's libraries, and
 * what the user lists.
 */
#include "executor/confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/stacks.h"
#include "executor/confine/calls.h"

/* As in linux/landlock.h of a later kernel than Debian 12's headers are of. */
#define RIGHT_EXECUTE    (1ull << 0)
#define RIGHT_WRITE_FILE (1ull << 1)
#define RIGHT_READ_FILE  (1ull << 2)
#define RIGHT_READ_DIR   (1ull << 3)
#define RIGHT_REFER      (1ull << 13)
#define RIGHT_TRUNCATE   (1ull << 14)
#define RIGHTS_FIRST     ((1ull << 13) - 1)
#define NET_BOTH         3ull /* bind, connect: TCP */
#define SCOPE_BOTH       3ull /* abstract unix sockets, signals */
#define ABI_REFER        2
#define ABI_TRUNCATE     3
#define ABI_NET          4
#define ABI_SCOPE        6
#define VERSION_FLAG     1u
#define PATH_BENEATH     1

#define RIGHTS_READ  (RIGHT_READ_FILE | RIGHT_READ_DIR)
#define RIGHTS_RUN   (RIGHTS_READ | RIGHT_EXECUTE)
#define RIGHTS_FILE  (RIGHT_EXECUTE | RIGHT_WRITE_FILE | RIGHT_READ_FILE | RIGHT_TRUNCATE)
#define RIGHTS_WRITE (~RIGHT_EXECUTE) /* all others that are handled: no devices, which take a capability */

#define THREADS_MORE 512u /* of the user, beside those there are */

struct ruleset {
    uint64_t files;
    uint64_t net;
    uint64_t scoped;
};

struct path_beneath {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

static int
landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);

    return abi < 0 ? 0 : (int)abi;
}

granary_err
confine_wished(bool *ret_wished, bool *ret_strict)
{
    const char *wish = getenv("GRANARY_CONFINE");

    *ret_strict = wish != NULL && strcmp(wish, "strict") == 0;
    *ret_wished = *ret_strict || (wish != NULL && strcmp(wish, "yes") == 0);
    return *ret_wished || wish == NULL || wish[0] == '\0' || strcmp(wish, "no") == 0
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "GRANARY_CONFINE: '%.32s' is none of yes, strict and no", wish);
}

/* ---- files ---- */

struct rules {
    int fd;
    uint64_t handled;
};

/* What is not there needs no rule. */
static granary_err
allow(const struct rules *rules, const char *path, uint64_t rights)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct path_beneath rule = {.rights = rights & rules->handled, .fd = fd};
    struct stat st;
    granary_err err = GRANARY_OK;

    if (fd < 0) {
        return errno == ENOENT || errno == EACCES ? GRANARY_OK : gr_fail_errno("%s", path);
    }
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) {
        rule.rights &= RIGHTS_FILE;
    }
    if (syscall(SYS_landlock_add_rule, rules->fd, PATH_BENEATH, &rule, 0) < 0) {
        err = gr_fail_errno("confine: %s", path);
    }
    gr_fd_close(&fd);
    return err;
}

/* Directories as in PATH, each of which must be there. */
static granary_err
allow_listed(const struct rules *rules, const char *name, uint64_t rights)
{
    const char *list = getenv(name);
    char *copy = list == NULL ? NULL : strdup(list);
    char *rest = copy;
    const char *path;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && rest != NULL && (path = strsep(&rest, ":")) != NULL) {
        if (path[0] == '\0') {
            continue;
        }
        err = path[0] != '/'           ? gr_fail(GRANARY_EINVAL, "%s: '%s' is not a whole path", name, path)
              : access(path, F_OK) < 0 ? gr_fail_errno("%s: %s", name, path)
                                       : allow(rules, path, rights);
    }
    free(copy);
    return err;
}

/* The programs beside this one, and the libraries of its installation. */
static granary_err
allow_own(const struct rules *rules)
{
    char path[PATH_MAX + 8];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    granary_err err;
    char *slash;

    if (length < 0) {
        return gr_fail_errno("/proc/self/exe");
    }
    path[length] = '\0';
    slash = strrchr(path, '/');
    *slash = '\0';
    err = allow(rules, path, RIGHTS_RUN);
    slash = strrchr(path, '/');
    if (err == GRANARY_OK && slash != NULL) {
        (void)strcpy(slash, "/lib");
        err = allow(rules, path, RIGHTS_RUN);
    }
    return err;
}

/* What programs and libraries of the system need to run. Of /etc not more than that. */
static granary_err
allow_system(const struct rules *rules)
{
    static const char *const run[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"};
    static const char *const look[] = {
        "/proc",         "/sys/devices", "/sys/fs/cgroup", "/etc/ld.so.cache",   "/etc/ld.so.preload", "/etc/localtime",
        "/etc/timezone", "/etc/passwd",  "/etc/group",     "/etc/nsswitch.conf", "/etc/alternatives",  "/etc/python3"};
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < sizeof run / sizeof run[0]; i++) {
        err = allow(rules, run[i], RIGHTS_RUN);
    }
    for (size_t i = 0; err == GRANARY_OK && i < sizeof look / sizeof look[0]; i++) {
        err = allow(rules, look[i], RIGHTS_READ);
    }
    for (size_t i = 0; err == GRANARY_OK && i < sizeof devices / sizeof devices[0]; i++) {
        err = allow(rules, devices[i], RIGHT_READ_FILE | RIGHT_WRITE_FILE);
    }
    return err;
}

static granary_err
allow_instance(const struct rules *rules, const struct gr_instance *instance, const char *logs)
{
    char path[PATH_MAX];
    granary_err err = allow(rules, logs, RIGHTS_WRITE);

    (void)snprintf(path, sizeof path, "%s/" GR_STACKS, instance->runtime);
    return err == GRANARY_OK ? allow(rules, path, RIGHTS_WRITE) : err;
}

/*
 * The mark of its memory is put back before each subtask. Files of /proc are made when they are looked up: this one is
 * the one of the rule for as long as somebody has it open, so it stays open.
 */
static granary_err
allow_marks(const struct rules *rules)
{
    return open("/proc/self/clear_refs", O_PATH | O_CLOEXEC) < 0
               ? GRANARY_OK
               : allow(rules, "/proc/self/clear_refs", RIGHT_WRITE_FILE);
}

static granary_err
restrict_files(const struct gr_instance *instance, const char *logs, int abi)
{
    struct ruleset set = {.files = RIGHTS_FIRST | (abi >= ABI_REFER ? RIGHT_REFER : 0) |
                                   (abi >= ABI_TRUNCATE ? RIGHT_TRUNCATE : 0),
                          .net = abi >= ABI_NET ? NET_BOTH : 0,
                          .scoped = abi >= ABI_SCOPE ? SCOPE_BOTH : 0};
    size_t size = abi >= ABI_SCOPE ? sizeof set : abi >= ABI_NET ? 16 : 8;
    struct rules rules = {.handled = set.files};
    granary_err err;

    rules.fd = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
    if (rules.fd < 0) {
        return gr_fail_errno("confine: Landlock");
    }
    if ((err = allow_system(&rules)) == GRANARY_OK && (err = allow_own(&rules)) == GRANARY_OK &&
        (err = allow_marks(&rules)) == GRANARY_OK && (err = allow_instance(&rules, instance, logs)) == GRANARY_OK &&
        (err = allow_listed(&rules, "GRANARY_CONFINE_READ", RIGHTS_READ)) == GRANARY_OK &&
        (err = allow_listed(&rules, "GRANARY_CONFINE_WRITE", RIGHTS_WRITE)) == GRANARY_OK &&
        syscall(SYS_landlock_restrict_self, rules.fd, 0) < 0) {
        err = gr_fail_errno("confine: Landlock");
    }
    gr_fd_close(&rules.fd);
    return err;
}

/* ---- the rest ---- */

/* Root's executors: files may still be read whosever they are, where Landlock lets them. */
static granary_err
drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2] = {{0}, {0}};
    uint32_t kept = 1u << CAP_DAC_OVERRIDE;

    for (int cap = 0; cap <= CAP_LAST_CAP; cap++) {
        if (cap != CAP_DAC_OVERRIDE) {
            (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* without the right to, there is nothing to drop */
        }
    }
    if (syscall(SYS_capget, &head, caps) < 0) {
        return gr_fail_errno("confine: capabilities");
    }
    caps[0] =
        (struct __user_cap_data_struct){.effective = caps[0].effective & kept, .permitted = caps[0].permitted & kept};
    caps[1] = (struct __user_cap_data_struct){0};
    return syscall(SYS_capset, &head, caps) < 0 ? gr_fail_errno("confine: capabilities") : GRANARY_OK;
}

/* Threads there are on this machine, which is what the limit counts of a user: not fewer than he has. */
static rlim_t
threads(void)
{
    unsigned long count = 0;
    char *text = NULL;
    size_t size;

    if (gr_file_read("/proc/loadavg", 4096, &text, &size) == GRANARY_OK) {
        (void)sscanf(text, "%*f %*f %*f %*u/%lu", &count);
    }
    free(text);
    return count;
}

static void
set_limits(void)
{
    struct rlimit core = {0, 0};
    struct rlimit count;

    (void)setrlimit(RLIMIT_CORE, &core);
    if (getrlimit(RLIMIT_NPROC, &count) == 0) {
        rlim_t most = threads() + THREADS_MORE;

        count.rlim_max = count.rlim_max < most ? count.rlim_max : most;
        count.rlim_cur = count.rlim_max;
        (void)setrlimit(RLIMIT_NPROC, &count);
    }
}

/* Executors that are confined may write all below the logs: .tmp may be a link of theirs, and is not followed. */
static int
open_tmps(const char *logs)
{
    int parent = gr_mkdir_private(logs) == GRANARY_OK ? open(logs, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int fd = -1;

    for (int i = 0; i < 2 && parent >= 0 && fd < 0; i++) {
        (void)mkdirat(parent, ".tmp", 0700);
        fd = openat(parent, ".tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) {
            (void)unlinkat(parent, ".tmp", 0);
        }
    }
    gr_fd_close(&parent);
    return fd;
}

static granary_err
make_tmp(const char *logs, int slot)
{
    char path[PATH_MAX];
    char reached[64];
    int fd;

    if (snprintf(path, sizeof path, "%s/.tmp/%d", logs, slot) >= (int)sizeof path) {
        return gr_fail(GRANARY_EINVAL, "%s: path too long", logs);
    }
    fd = open_tmps(logs);
    (void)snprintf(reached, sizeof reached, "/proc/self/fd/%d/%d", fd, slot);
    if (fd >= 0) {
        gr_remove_tree(reached);
    }
    if (fd < 0 || mkdir(reached, 0700) < 0) {
        gr_fd_close(&fd);
        return gr_fail(GRANARY_EPERM, "confine: %s: a directory for temporary files: %s", path, strerror(errno));
    }
    gr_fd_close(&fd);
    return setenv("TMPDIR", path, 1) < 0 ? gr_no_memory("confine") : GRANARY_OK;
}

granary_err
confine(const struct gr_instance *instance, const char *logs, int slot, bool strict, enum gr_confinement *ret_rung)
{
    int abi = landlock_abi();
    granary_err err = make_tmp(logs, slot);

    if (err == GRANARY_OK && strict && abi < ABI_SCOPE) {
        err = gr_fail(GRANARY_EPERM,
                      "confine: strict needs Landlock ABI %d, this kernel has %d: use --confine without strict, which "
                      "does what it can, or a newer kernel",
                      ABI_SCOPE, abi);
    }
    if (err == GRANARY_OK && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        err = gr_fail_errno("confine: no new privileges");
    }
    if (err == GRANARY_OK) {
        set_limits();
        err = drop_capabilities();
    }
    if (err == GRANARY_OK && abi > 0) {
        err = restrict_files(instance, logs, abi);
    }
    if (err == GRANARY_OK) {
        err = confine_calls();
    }
    if (err == GRANARY_OK) {
        *ret_rung = abi >= ABI_SCOPE ? GR_CONFINED_SIGNALS : abi > 0 ? GR_CONFINED_FILES : GR_CONFINED_CALLS;
    }
    return err;
}

granary_err
confine_connections(void)
{
    return confine_calls_connections();
}

/* ---- the environment ---- */

static bool
is_of_use(const char *entry)
{
    static const char *const names[] = {
        "PATH=", "HOME=", "USER=", "LOGNAME=", "LANG=", "TZ=", "LD_LIBRARY_PATH=", NULL};
    static const char *const beginnings[] = {"LC_",    "GRANARY_",     "OPENBLAS_", "OMP_", "ASAN_",
                                             "UBSAN_", "LSAN_OPTIONS", "TSAN_",     NULL};

    for (size_t i = 0; names[i] != NULL; i++) {
        if (strncmp(entry, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    for (size_t i = 0; beginnings[i] != NULL; i++) {
        if (strncmp(entry, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

char **
confine_environment(void)
{
    size_t count = 0;
    size_t kept = 0;
    char **entries;

    while (environ[count] != NULL) {
        count++;
    }
    entries = calloc(count + 1, sizeof *entries);
    for (size_t i = 0; entries != NULL && i < count; i++) {
        if (is_of_use(environ[i])) {
            entries[kept++] = environ[i];
        }
    }
    return entries;
}
