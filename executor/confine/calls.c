/*
 * A seccomp filter (libseccomp) that refuses system calls a confined executor has no use for. Some are refused
 * always, some by their arguments; connections are refused by a second filter once those that are needed are there.
 * A filter can only be added to, never taken back.
 */
#include "executor/confine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"

#define IOPRIO_WHO_PROCESS 1

/* Other processes; other worlds; the kernel; files by way of what Landlock does not see; other users' segments. */
static const char *const refused[] = {
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_getfd",
    "kcmp",
    "migrate_pages",
    "mount",
    "umount",
    "umount2",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "pivot_root",
    "chroot",
    "setns",
    "unshare",
    "swapon",
    "swapoff",
    "quotactl",
    "quotactl_fd",
    "bpf",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "perf_event_open",
    "reboot",
    "syslog",
    "acct",
    "iopl",
    "ioperm",
    "modify_ldt",
    "vhangup",
    "sethostname",
    "setdomainname",
    "settimeofday",
    "clock_settime",
    "adjtimex",
    "clock_adjtime",
    "personality",
    "lookup_dcookie",
    "keyctl",
    "add_key",
    "request_key",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "fanotify_init",
    "name_to_handle_at",
    "open_by_handle_at",
    "mknod",
    "mknodat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "setxattr",
    "setxattrat",
    "fsetxattr",
    "lsetxattr",
    "removexattr",
    "removexattrat",
    "fremovexattr",
    "lremovexattr",
    "file_setattr",
    "utime",
    "utimes",
    "futimesat",
    "shmget",
    "shmat",
    "shmctl",
    "semget",
    "semop",
    "semctl",
    "semtimedop",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "mq_open",
    "mq_unlink",
};

/* Of kernels that are newer than libseccomp may be. They have the same number on each machine. */
static const struct {
    const char *name;
    int call;
} newer[] = {
    {"fchmodat2", 452}, {"setxattrat", 463}, {"removexattrat", 466}, {"open_tree_attr", 467}, {"file_setattr", 469},
};

static const char *const connecting[] = {"socket", "connect", "bind", "listen", "accept", "accept4"};

/* Of a process's own only: the first argument (or the second) is 0. */
static const struct {
    const char *name;
    unsigned argument;
} own_only[] = {
    {"prlimit64", 0},     {"sched_setaffinity", 0}, {"sched_setscheduler", 0}, {"sched_setparam", 0},
    {"sched_setattr", 0}, {"move_pages", 0},        {"setpriority", 1},        {"ioprio_set", 1},
};

static const unsigned worlds[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
                                  CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};

/* A call that this machine does not have is passed over. */
static int
refuse(scmp_filter_ctx filter, const char *name, int error)
{
    int call = seccomp_syscall_resolve_name(name);

    for (size_t i = 0; call == __NR_SCMP_ERROR && i < sizeof newer / sizeof newer[0]; i++) {
        call = strcmp(newer[i].name, name) == 0 ? newer[i].call : call;
    }
    return call == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)error), call, 0);
}

static int
refuse_list(scmp_filter_ctx filter, const char *const *names, size_t count)
{
    int status = 0;

    for (size_t i = 0; status == 0 && i < count; i++) {
        status = refuse(filter, names[i], EPERM);
    }
    return status;
}

static int
refuse_of_others(scmp_filter_ctx filter)
{
    int status = 0;

    for (size_t i = 0; status == 0 && i < sizeof own_only / sizeof own_only[0]; i++) {
        int call = seccomp_syscall_resolve_name(own_only[i].name);
        struct scmp_arg_cmp other = {.arg = own_only[i].argument, .op = SCMP_CMP_NE};

        if (call != __NR_SCMP_ERROR) {
            status = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &other);
        }
    }
    return status;
}

/* A lease on a file keeps whoever opens it waiting: the store, say. */
static int
refuse_leases(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp lease = {.arg = 1, .op = SCMP_CMP_EQ, .datum_a = F_SETLEASE};

    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 1, &lease);
}

/* Times of a file by its path; of one that is open they may be set, as `touch` does. */
static int
refuse_times(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp path = {.arg = 1, .op = SCMP_CMP_NE, .datum_a = 0};

    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(utimensat), 1, &path);
}

/* clone3() has its flags in memory, where no filter looks: libc takes clone() instead. */
static int
refuse_worlds(scmp_filter_ctx filter)
{
    int status = refuse(filter, "clone3", ENOSYS);

    for (size_t i = 0; status == 0 && i < sizeof worlds / sizeof worlds[0]; i++) {
        status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, worlds[i], worlds[i]));
    }
    return status;
}

static granary_err
filter_load(scmp_filter_ctx filter, int status)
{
    if (status == 0) {
        status = seccomp_load(filter);
    }
    seccomp_release(filter);
    errno = -status;
    return status == 0 ? GRANARY_OK : gr_fail_errno("confine: seccomp");
}

granary_err
confine_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int status;

    if (filter == NULL) {
        return gr_no_memory("confine");
    }
    status = refuse_list(filter, refused, sizeof refused / sizeof refused[0]);
    status = status == 0 ? refuse_worlds(filter) : status;
    status = status == 0 ? refuse_leases(filter) : status;
    status = status == 0 ? refuse_times(filter) : status;
    return filter_load(filter, status);
}

granary_err
confine_calls_connections(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int status;

    if (filter == NULL) {
        return gr_no_memory("confine");
    }
    status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    status = status == 0 ? refuse_list(filter, connecting, sizeof connecting / sizeof connecting[0]) : status;
    status = status == 0 ? refuse_of_others(filter) : status;
    return filter_load(filter, status);
}
