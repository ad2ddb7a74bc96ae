/* Functions of a user who means harm, and one who does not: what they manage to do is told as text, a line each. */
#include <contract/executor_page.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <granary/call.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char text[16384];

static void
tell(const char *what, long worked)
{
    char line[256];

    (void)snprintf(line, sizeof line, "%s: %s\n", what, worked >= 0 ? "worked" : strerror(errno));
    (void)strncat(text, line, sizeof text - strlen(text) - 1);
}

static granary_err
give(granary_call *call)
{
    void *out;
    granary_err err = granary_call_output(call, 0, strlen(text), &out);

    if (err == GRANARY_OK) {
        memcpy(out, text, strlen(text));
    }
    text[0] = '\0';
    return err;
}

/* The first line of the file of targets that begins so: the rest of it. */
static const char *
target(const char *name)
{
    static char line[512];
    const char *path = getenv("GRANARY_TEST_TARGETS");
    FILE *file = path == NULL ? NULL : fopen(path, "r");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(name);

        if (strncmp(line, name, length) == 0 && line[length] == ' ') {
            line[strcspn(line, "\n")] = '\0';
            (void)fclose(file);
            return line + length + 1;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return "";
}

/* Calls that libseccomp's release may not know by name. */
#define SETXATTRAT   463
#define FCHMODAT2    452
#define FILE_SETATTR 469

struct xattr_value {
    uint64_t value;
    uint32_t size, flags;
};

/* By a child: a filter that sees another architecture kills who calls. */
static long
by_child(long (*attack)(void))
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        _exit(attack() >= 0 ? 0 : 1);
    }
    errno = EPERM;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

/* unshare(CLONE_NEWUSER), which is refused as a call of this architecture, as one of i386. */
static long
open_by_32_bits(void)
{
#ifdef __x86_64__
    long result;

    __asm__ volatile("int $0x80" : "=a"(result) : "a"(310), "b"(CLONE_NEWUSER) : "memory");
    return result;
#else
    return -1;
#endif
}

static long
open_by_x32(void)
{
    return syscall(0x40000000 | SYS_unshare, CLONE_NEWUSER);
}

static void
try_files(void)
{
    char path[600];

    tell("read secret", open(target("secret"), O_RDONLY));
    tell("write secret", open(target("secret"), O_WRONLY));
    tell("truncate secret", truncate(target("secret"), 0));
    tell("chmod secret", chmod(target("secret"), 0777));
    tell("chmod secret, the newer call", syscall(FCHMODAT2, AT_FDCWD, target("secret"), 0777, 0));
    tell("attribute of secret",
         syscall(SETXATTRAT, AT_FDCWD, target("secret"), 0, "user.x",
                 &(struct xattr_value){.value = (uintptr_t) "y", .size = 1}, sizeof(struct xattr_value)));
    tell("flags of secret",
         syscall(FILE_SETATTR, AT_FDCWD, target("secret"), &(uint64_t[3]){0}, sizeof(uint64_t[3]), 0));
    tell("touch secret", utimensat(AT_FDCWD, target("secret"), NULL, 0));
    tell("chmod input", fchmod(open(target("readable"), O_RDONLY), 0640));
    tell("touch input", futimens(open(target("readable"), O_RDONLY), NULL));
    tell("attribute of input", fsetxattr(open(target("readable"), O_RDONLY), "user.x", "y", 1, 0));
    tell("chown input", fchown(open(target("readable"), O_RDONLY), (uid_t)-1, (gid_t)-1));
    tell("32 bit call", by_child(open_by_32_bits));
    tell("x32 call", by_child(open_by_x32));
    tell("unlink secret", unlink(target("secret")));
    (void)snprintf(path, sizeof path, "%s/link", target("outside"));
    tell("link secret", link(target("secret"), path));
    (void)snprintf(path, sizeof path, "%s/new", target("outside"));
    tell("create outside", open(path, O_WRONLY | O_CREAT, 0600));
    tell("mkdir outside", mkdir(path, 0700));
    tell("write input", open(target("readable"), O_WRONLY));
    tell("list /dev/shm", opendir("/dev/shm") == NULL ? -1 : 0);
    tell("open root", open(target("shm"), O_RDWR));
    tell("read state", open(target("state"), O_RDONLY));
    tell("read lock", open(target("lock"), O_RDONLY));
    tell("read page", open(target("page"), O_RDWR));
    tell("write proc", open("/proc/self/oom_score_adj", O_WRONLY));
    (void)snprintf(path, sizeof path, "/proc/%s/mem", target("store"));
    tell("store memory", open(path, O_RDWR));
    (void)snprintf(path, sizeof path, "/proc/%s/environ", target("pool"));
    tell("pool environment", open(path, O_RDONLY));
}

/* By a child that ends at once: a tracer that stays would have to answer for the signals of what it traces. */
static long
trace(pid_t pid)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        _exit(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? 0 : errno);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -1;
    }
    errno = WEXITSTATUS(status);
    return status == 0 ? 0 : -1;
}

static long
clone_world(void)
{
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

    if (child == 0) {
        _exit(0);
    }
    return child < 0 ? -1 : waitpid((pid_t)child, NULL, 0);
}

/* System V's segments outlive processes. */
static long
share_segment(void)
{
    int segment = shmget(IPC_PRIVATE, 4096, 0600);

    return segment < 0 ? -1 : shmctl(segment, IPC_RMID, NULL);
}

static void
try_processes(void)
{
    pid_t store = (pid_t)atoi(target("store"));
    pid_t sched = (pid_t)atoi(target("sched"));
    struct rlimit old;
    cpu_set_t cpus; /* where it may be anyway */

    tell("ptrace store", trace(store));
    tell("ptrace scheduler", trace(sched));
    tell("kill scheduler", kill(sched, 0));
    tell("kill store", kill(store, 0));
    tell("kill by descriptor", syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, sched, 0), 0, NULL, 0));
    tell("limit scheduler", prlimit(sched, RLIMIT_NOFILE, NULL, &old));
    tell("nice scheduler", setpriority(PRIO_PROCESS, (id_t)sched, getpriority(PRIO_PROCESS, (id_t)sched)));
    (void)sched_getaffinity(sched, sizeof cpus, &cpus);
    tell("pin scheduler", sched_setaffinity(sched, sizeof cpus, &cpus));
    tell("read memory", syscall(SYS_process_vm_readv, sched, NULL, 0, NULL, 0, 0));
}

static void
try_kernel(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int pair[2];

    tell("internet", socket(AF_INET, SOCK_STREAM, 0));
    tell("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
    tell("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", target("socket"));
    tell("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    tell("connect", connect(pair[0], (struct sockaddr *)&address, sizeof address));
    tell("user namespace", unshare(CLONE_NEWUSER));
    tell("clone namespace", clone_world());
    tell("mount", syscall(SYS_mount, "none", "/nowhere", "tmpfs", 0, NULL));
    tell("bpf", syscall(SYS_bpf, 0, NULL, 0));
    tell("perf", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
    tell("keys", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0));
    tell("ring", syscall(SYS_io_uring_setup, 1, NULL));
    tell("system v", share_segment());
    tell("file lease", fcntl(memfd_create("own", MFD_CLOEXEC), F_SETLEASE, F_WRLCK));
}

GRANARY_FUNCTION(attack)
{
    (void)call;
    try_files();
    try_processes();
    try_kernel();
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "key: %s\n",
                   getenv("SECRET_KEY") == NULL ? "not there" : "worked");
    return give(call);
}

/* Processes without end, as deep as they are let. The first tells how far it came. */
GRANARY_FUNCTION(bomb)
{
    unsigned count = 0;
    pid_t child = 0;

    while (count < 100000 && (child = fork()) > 0) {
        count++;
    }
    if (child == 0) {
        for (;;) {
            (void)pause();
        }
    }
    (void)snprintf(text, sizeof text, "%s after a while: %s\n", count < 100000 ? "stopped" : "never stopped",
                   strerror(errno));
    return give(call);
}

/* What an honest function does: temporary files, a child, the file it was given, memory. */
GRANARY_FUNCTION(honest)
{
    char path[600];
    pid_t child;
    int status = -1;
    int fd;

    (void)snprintf(path, sizeof path, "%s/scratch", getenv("TMPDIR"));
    fd = open(path, O_RDWR | O_CREAT, 0600);
    tell("scratch", fd < 0 ? -1 : write(fd, "x", 1));
    tell("unlink scratch", unlink(path));
    tell("input", open(target("readable"), O_RDONLY));
    (void)snprintf(path, sizeof path, "%s/made", target("writable"));
    tell("output", open(path, O_RDWR | O_CREAT | O_TRUNC, 0600));
    child = fork();
    if (child == 0) {
        (void)execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    tell("child", child < 0 || waitpid(child, &status, 0) != child || status != 0 ? -1 : 0);
    tell("no other child", waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD ? 0 : -1);
    return give(call);
}

static struct gr_executor_page *
own_page(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    void *page = NULL;

    while (maps != NULL && page == NULL && fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, "/" GR_EXECUTOR_PAGES "/") != NULL) {
            (void)sscanf(line, "%p-", &page);
        }
    }
    return page;
}

/* Lies to those outside, who act on it when this process is dead: whom to kill, what it printed last, where to tidy up.
 */
GRANARY_FUNCTION(deceive)
{
    struct gr_executor_page *page = own_page();
    char logs[512], path[600], moved[600];

    (void)call;
    (void)snprintf(logs, sizeof logs, "%s", getenv("TMPDIR"));
    *strstr(logs, "/.tmp/") = '\0';
    (void)snprintf(path, sizeof path, "%s/link", logs);
    (void)symlink(target("outside"), path);
    (void)snprintf(path, sizeof path, "%s/.tmp", logs);
    (void)snprintf(moved, sizeof moved, "%s/moved.%d", logs, (int)getpid());
    (void)rename(path, moved);
    (void)symlink(target("outside"), path);
    page->program = atoi(target("victim"));
    (void)strcpy(page->log, "link/secret");
    (void)raise(SIGKILL);
    return GRANARY_OK;
}
