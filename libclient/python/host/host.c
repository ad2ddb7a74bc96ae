/* Function "call": its program is started when there is none, and kept for the next call. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Programs of one session that are kept, each with memory of its own. */
#define KEPT 4
/* Programs that are started for one call, at most. */
#define TRIES 3
/* One whose socket is closed is about to end by itself. */
#define LAST_WORDS_MS 200

extern char **environ;

/* ---- ending ---- */

/*
 * It ends now, with all it has started. Returns its wait status; that of one that left when somebody else has reaped it
 * already, whose number may be another's.
 */
static int
end_program(const struct host *host)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, host->pid, 0), .events = POLLIN};
    siginfo_t info;
    int status = W_EXITCODE(HOST_LEFT, 0);

    if (waitid(P_PID, (id_t)host->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        (void)poll(&ended, ended.fd >= 0, LAST_WORDS_MS);
        (void)kill(-host->pid, SIGKILL);
        (void)kill(host->pid, SIGKILL);
        while (waitpid(host->pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    if (ended.fd >= 0) {
        (void)close(ended.fd);
    }
    return status;
}

static void
free_host(struct host *host)
{
    if (host->fd >= 0) {
        (void)close(host->fd);
    }
    free(host->command);
    free(host->environment);
    free(host);
}

/* Out of the list, which keeps its order. */
static void
unlink_host(struct hosts *hosts, struct host *host)
{
    struct host **at = &hosts->first;

    while (*at != host) {
        at = &(*at)->next;
    }
    *at = host->next;
}

static void
drop_host(struct hosts *hosts, struct host *host)
{
    unlink_host(hosts, host);
    (void)shutdown(host->fd, SHUT_RDWR);
    (void)end_program(host);
    free_host(host);
}

/* ---- starting ---- */

/* Lines as an array of strings, which lie in *text. NULL: no memory */
static char **
split_lines(char *text, size_t *ret_count)
{
    size_t count = 1, n = 0;
    char **lines;

    for (const char *at = text; *at != '\0'; at++) {
        count += *at == '\n';
    }
    lines = calloc(count + 1, sizeof *lines);
    for (char *rest = text, *line; lines != NULL && (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != '\0') {
            lines[n++] = line;
        }
    }
    *ret_count = n;
    return lines;
}

static bool
is_named(const char *variable, char *const *given, size_t count)
{
    const size_t length = strcspn(variable, "=");

    for (size_t i = 0; i < count; i++) {
        if (strncmp(given[i], variable, length + 1) == 0) {
            return true;
        }
    }
    return false;
}

/* The executor's environment with what the call gives. NULL: no memory */
static char **
merge_environment(char *const *given, size_t given_count)
{
    size_t count = 0, n = 0;
    char **merged;

    while (environ[count] != NULL) {
        count++;
    }
    merged = calloc(count + given_count + 1, sizeof *merged);
    for (size_t i = 0; merged != NULL && i < given_count; i++) {
        merged[n++] = given[i];
    }
    for (size_t i = 0; merged != NULL && i < count; i++) {
        if (!is_named(environ[i], given, given_count)) {
            merged[n++] = environ[i];
        }
    }
    return merged;
}

static int
spawn(char **argv, char **environment, int fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int error;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, fd, HOST_FD);
    (void)posix_spawn_file_actions_addclosefrom_np(&actions, HOST_FD + 1);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    error = posix_spawnp(ret_pid, argv[0], &actions, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Start host->command, with host->environment. */
static granary_err
start_program(granary_call *call, struct host *host)
{
    char *command = strdup(host->command), *variables = strdup(host->environment);
    char **argv = NULL, **given = NULL, **environment = NULL;
    size_t words = 0, count = 0;
    int ends[2] = {-1, -1};
    granary_err err = GRANARY_OK;
    int error;

    argv = command == NULL ? NULL : split_lines(command, &words);
    given = variables == NULL ? NULL : split_lines(variables, &count);
    environment = given == NULL ? NULL : merge_environment(given, count);
    if (argv == NULL || environment == NULL) {
        err = granary_call_fail(call, GRANARY_ENOMEM, "out of memory");
        goto end;
    }
    if (words == 0) {
        err = granary_call_fail(call, GRANARY_EINVAL, "parameter 'command' names no program");
        goto end;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        err = granary_call_fail(call, GRANARY_EFULL, "a socket for '%s': %s", argv[0], strerror(errno));
        goto end;
    }
    error = spawn(argv, environment, ends[1], &host->pid);
    if (error != 0) {
        err = granary_call_fail(call, error == ENOENT ? GRANARY_ENOENT : GRANARY_EFAILED, "program '%s': %s", argv[0],
                                strerror(error));
        goto end;
    }
    host->fd = ends[0];
    ends[0] = -1;

end:
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0) {
            (void)close(ends[i]);
        }
    }
    free(environment);
    free(given);
    free(argv);
    free(variables);
    free(command);
    return err;
}

/* A program for the call: first in the list now. */
static granary_err
find_host(granary_call *call, struct hosts *hosts, struct host **ret_host)
{
    const char *command = granary_call_param(call, "command", "");
    const char *environment = granary_call_param(call, "environment", "");
    struct host *host = hosts->first, *oldest = NULL;
    uint32_t count = 0;
    granary_err err;

    while (host != NULL && (strcmp(host->command, command) != 0 || strcmp(host->environment, environment) != 0)) {
        oldest = host;
        host = host->next;
        count++;
    }
    if (host != NULL) {
        unlink_host(hosts, host);
    } else {
        if (count >= KEPT) {
            drop_host(hosts, oldest);
        }
        host = calloc(1, sizeof *host);
        if (host == NULL) {
            return granary_call_fail(call, GRANARY_ENOMEM, "out of memory");
        }
        host->fd = -1;
        host->command = strdup(command);
        host->environment = strdup(environment);
        err = host->command == NULL || host->environment == NULL
                  ? granary_call_fail(call, GRANARY_ENOMEM, "out of memory")
                  : start_program(call, host);
        if (err != GRANARY_OK) {
            free_host(host);
            return err;
        }
    }
    host->next = hosts->first;
    hosts->first = host;
    *ret_host = host;
    return GRANARY_OK;
}

/* ---- kept between calls ---- */

static granary_err
hosts_init(granary_call *call, void **ret_value)
{
    *ret_value = calloc(1, sizeof(struct hosts));
    return *ret_value == NULL ? granary_call_fail(call, GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
}

static void
hosts_fini(void *value)
{
    struct hosts *hosts = value;

    while (hosts->first != NULL) {
        drop_host(hosts, hosts->first);
    }
    free(hosts);
}

GRANARY_REUSABLE(programs, .summary = "programs that run functions", .init = hosts_init, .fini = hosts_fini);

/* ---- the function ---- */

/* It ended while it had the call. */
static granary_err
tell_death(granary_call *call, int status)
{
    return WIFSIGNALED(status)
               ? granary_call_fail(call, GRANARY_EFAILED, "its process was ended by signal %d (%s)", WTERMSIG(status),
                                   strsignal(WTERMSIG(status)))
               : granary_call_fail(call, GRANARY_EFAILED, "its process ended with exit status %d", WEXITSTATUS(status));
}

/* What is left of it goes. Returns its wait status. */
static int
bury(struct hosts *hosts, struct host *host)
{
    int status = end_program(host);

    unlink_host(hosts, host);
    free_host(host);
    return status;
}

GRANARY_FUNCTION(call, .summary = "a call that a program answers which stays", .reusables = "programs")
{
    struct hosts *hosts = granary_call_reusable(call, "programs");
    granary_err err = hosts == NULL ? GRANARY_EFAILED : GRANARY_OK;
    int status = W_EXITCODE(HOST_LEFT, 0);

    /* One that was kept may have left before it had the call. */
    for (int i = 0; err == GRANARY_OK && i < TRIES && status == W_EXITCODE(HOST_LEFT, 0); i++) {
        struct host *host = NULL;
        bool broken = false;

        err = find_host(call, hosts, &host);
        if (err == GRANARY_OK) {
            granary_call_program(call, host->pid);
            err = host_exchange(call, host, &broken);
            granary_call_program(call, 0); /* before its number can be another's */
            if (!broken) {
                return err;
            }
            status = bury(hosts, host);
        }
    }
    return err == GRANARY_OK ? tell_death(call, status) : err;
}
