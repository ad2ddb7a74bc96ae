/* What the kernel can do, tried. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/instance/doctor/doctor.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define HUGE ((size_t)2 << 20)

static void
tell_kernel(struct doctor *doctor)
{
    struct utsname name;

    if (uname(&name) == 0) {
        doctor_tell(doctor, DOCTOR_OK, "kernel", NULL, "%s %s on %s", name.sysname, name.release, name.machine);
    }
}

static void
tell_futex(struct doctor *doctor)
{
    /* No waiters at all is an error of its own where the call exists. */
    bool there = syscall(SYS_futex_waitv, NULL, 0, 0, NULL, CLOCK_MONOTONIC) < 0 && errno == EINVAL;

    if (there) {
        doctor_tell(doctor, DOCTOR_OK, "futex_waitv", NULL, "one system call waits for any of many objects");
    } else {
        doctor_tell(doctor, DOCTOR_LESS, "futex_waitv", "use Linux 5.16 or later",
                    "not there: who waits for any of many objects wakes for every seal of the session");
    }
}

static void
tell_pidfd(struct doctor *doctor)
{
    int fd = gr_pidfd_open(getpid());

    if (fd >= 0) {
        doctor_tell(doctor, DOCTOR_OK, "pidfd", NULL, "the death of a client is told by the kernel at once");
    } else {
        doctor_tell(doctor, DOCTOR_ATTENTION, "pidfd", "use Linux 5.3 or later, and let the sandbox allow pidfd_open",
                    "%s: the death of a client that hands its socket on is not noticed", strerror(errno));
    }
    gr_fd_close(&fd);
}

static void
tell_peer(struct doctor *doctor)
{
    int pair[2];
    int pidfd = -1;
    socklen_t size = sizeof pidfd;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return;
    }
    if (getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) {
        doctor_tell(doctor, DOCTOR_OK, "SO_PEERPIDFD", NULL, "a client is known by its process, not by a number");
    } else {
        doctor_tell(doctor, DOCTOR_LESS, "SO_PEERPIDFD", "use Linux 6.5 or later",
                    "not there: a client is known by its pid and start time");
    }
    gr_fd_close(&pidfd);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* Bytes of shared memory in huge pages in the mapping that begins at `address`. */
static uint64_t
huge_bytes(const void *address)
{
    char begin[32];
    char line[256];
    uint64_t kib = 0;
    bool ours = false;
    FILE *maps = fopen("/proc/self/smaps", "re");

    (void)snprintf(begin, sizeof begin, "%" PRIxPTR "-", (uintptr_t)address);
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (strchr(line, '-') != NULL && strspn(line, "0123456789abcdef") == strcspn(line, "-")) {
            ours = strncmp(line, begin, strlen(begin)) == 0;
        } else if (ours && (strncmp(line, "ShmemPmdMapped:", 15) == 0 || strncmp(line, "FilePmdMapped:", 14) == 0)) {
            kib += strtoull(strchr(line, ':') + 1, NULL, 10);
        }
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return kib * 1024;
}

static void
try_collapse(struct doctor *doctor, char *at)
{
    const char *fix = "use Linux 6.1 or later, built with CONFIG_TRANSPARENT_HUGEPAGE";

    if (madvise(at, HUGE, MADV_COLLAPSE) < 0) {
        doctor_tell(doctor, DOCTOR_LESS, "MADV_COLLAPSE", errno == EINVAL ? fix : "free memory, and try again",
                    "%s: shared memory stays in small pages, which costs page faults and TLB misses", strerror(errno));
    } else if (huge_bytes(at) == 0) {
        doctor_tell(doctor, DOCTOR_LESS, "MADV_COLLAPSE", fix, "accepted, but no huge page came of it");
    } else {
        doctor_tell(doctor, DOCTOR_OK, "MADV_COLLAPSE", NULL, "shared memory was collapsed into a huge page");
    }
}

/* A scratch segment: is it filled ahead, and do its pages become huge ones? */
static void
tell_pages(struct doctor *doctor)
{
    char name[64];
    char *bytes = MAP_FAILED;
    char *aligned;
    int fd;

    (void)snprintf(name, sizeof name, "/granary.doctor.%d", (int)getpid());
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    (void)shm_unlink(name);
    if (fd >= 0 && ftruncate(fd, (off_t)HUGE) == 0) {
        /* Address space for a 2 MiB boundary, the file at that. */
        bytes = mmap(NULL, 2 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (bytes == MAP_FAILED) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "shared memory", "mount a tmpfs at /dev/shm that this user may write",
                    "no shared memory can be made: %s", strerror(errno));
        gr_fd_close(&fd);
        return;
    }
    aligned = bytes + (HUGE - (uintptr_t)bytes % HUGE) % HUGE;
    if (mmap(aligned, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "shared memory", "let the sandbox allow mappings of /dev/shm",
                    "it cannot be mapped: %s", strerror(errno));
    } else if (madvise(aligned, HUGE, MADV_POPULATE_WRITE) < 0) {
        doctor_tell(doctor, errno == ENOMEM ? DOCTOR_ATTENTION : DOCTOR_LESS, "populate",
                    errno == ENOMEM ? "give /dev/shm more memory" : "use Linux 5.14 or later",
                    "MADV_POPULATE_WRITE: %s: pages are made one by one", strerror(errno));
    } else {
        doctor_tell(doctor, DOCTOR_OK, "populate", NULL, "pages are made ahead of demand (MADV_POPULATE_WRITE)");
        try_collapse(doctor, aligned);
    }
    (void)munmap(bytes, 2 * HUGE);
    gr_fd_close(&fd);
}

/* Whether a detached read-only mount can be made here: what the third rung needs. */
static bool
can_mount(void)
{
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, "/dev/shm", 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
    bool can = fd >= 0;

    gr_fd_close(&fd);
    return can;
}

static void
tell_rung(struct doctor *doctor)
{
    static const char *const rungs[] = {
        "0: the library maps read-only",
        "1: clients hold descriptors that are open for reading only",
        "2: the store runs as its own user",
        "3: descriptors come through a detached read-only mount of /dev/shm",
    };
    const granary_instance_info *info = &doctor->look.info;
    int rung = doctor->look.inspector != NULL && info->epoch != 0 ? info->rung : can_mount() ? 3 : 1;
    const char *whose = doctor->look.inspector != NULL && info->epoch != 0 ? "this instance is on rung"
                                                                           : "a store here would be on rung";
    const char *fix = rung >= 3 ? NULL
                      : rung == 2
                          ? "start the store with the right to mount (CAP_SYS_ADMIN) for rung 3"
                          : "run the store as a user of its own with --group (rung 2), or give it the right to "
                            "mount, CAP_SYS_ADMIN, when it starts (rung 3); strict sessions prove more at each seal";

    doctor_tell(doctor, rung >= 2 ? DOCTOR_OK : DOCTOR_LESS, "immutability", fix, "%s %s", whose,
                rungs[rung >= 0 && rung <= 3 ? rung : 0]);
}

/* What `granary up --confine` reaches here: executor/confine/confine.h has the same rungs. */
static void
tell_confinement(struct doctor *doctor)
{
    long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1u /* which version */);

    if (abi >= 6) {
        doctor_tell(doctor, DOCTOR_OK, "confinement", NULL,
                    "executors can be confined in files, system calls, connections and signals (Landlock ABI %ld)",
                    abi);
    } else if (abi > 0) {
        doctor_tell(
            doctor, DOCTOR_LESS, "confinement", "use Linux 6.12 or later for --confine=strict",
            "executors can be confined in files, system calls and connections, not in signals (Landlock ABI %ld)", abi);
    } else {
        doctor_tell(doctor, DOCTOR_LESS, "confinement",
                    "use a kernel with Landlock, and have it among the security modules (lsm=landlock,...)",
                    "executors can be confined in system calls and connections only: %s", strerror(errno));
    }
}

static void
tell_clock(struct doctor *doctor)
{
    char *source = NULL;
    size_t size;

    if (gr_file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", 64, &source, &size) !=
        GRANARY_OK) {
        doctor_tell(doctor, DOCTOR_OK, "clock", NULL, "its source is not told here");
        return;
    }
    source[strcspn(source, "\n")] = '\0';
    if (strcmp(source, "tsc") == 0 || strcmp(source, "kvm-clock") == 0 || strcmp(source, "arch_sys_counter") == 0 ||
        strncmp(source, "hyperv", 6) == 0) {
        doctor_tell(doctor, DOCTOR_OK, "clock", NULL, "%s: read without a system call", source);
    } else {
        doctor_tell(doctor, DOCTOR_LESS, "clock", "let the machine use its TSC (clocksource=tsc)",
                    "%s: each look at the clock is a system call", source);
    }
    free(source);
}

void
doctor_kernel(struct doctor *doctor)
{
    tell_kernel(doctor);
    tell_futex(doctor);
    tell_pidfd(doctor);
    tell_peer(doctor);
    tell_pages(doctor);
    tell_clock(doctor);
    tell_rung(doctor);
    tell_confinement(doctor);
}
