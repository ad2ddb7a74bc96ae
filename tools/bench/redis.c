/* Redis over its unix socket, when redis-server is there: GET of a 64-byte value. */
#include "bench/redis.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"

/* ---- a server ---- */

bool
redis_is_there(void)
{
    return system("command -v redis-server >/dev/null 2>&1") == 0; /* NOLINT(cert-env33-c): nothing of a caller's */
}

static pid_t
redis_run(const char *directory, bool everysec)
{
    char path[128];
    pid_t child;

    (void)snprintf(path, sizeof path, "%s/redis.sock", directory);
    child = fork();

    if (child == 0) {
        int null = open("/dev/null", O_RDWR);

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(null, 1);
        (void)dup2(null, 2);
        (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path, "--dir", directory, "--save",
                     "", "--appendonly", everysec ? "yes" : "no", "--appendfsync", "everysec", "--daemonize", "no",
                     (char *)NULL);
        _exit(127);
    }
    return child;
}

int
redis_connect(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/redis.sock", directory);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

int
redis_start(const char *directory, bool everysec, pid_t *ret_pid)
{
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int64_t deadline = bench_now_ns() + 5000000000;
    pid_t pid;
    int fd = -1;

    (void)inotify_add_watch(watch, directory, IN_CREATE | IN_ATTRIB);
    pid = redis_run(directory, everysec);
    while (pid > 0 && fd < 0 && bench_now_ns() < deadline) {
        char events[4096];

        if (waitpid(pid, NULL, WNOHANG) == pid) {
            pid = 0;
            break;
        }
        fd = redis_connect(directory);
        if (fd < 0) {
            (void)poll(&(struct pollfd){.fd = watch, .events = POLLIN}, 1, 50);
            (void)!read(watch, events, sizeof events);
        }
    }
    (void)close(watch);
    if (fd < 0) {
        redis_stop(pid);
        pid = 0;
    }
    *ret_pid = pid;
    return fd;
}

void
redis_stop(pid_t pid)
{
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
}

/* ---- its figure ---- */

/* Send a command and read its answer of exactly size bytes. */
static bool
redis_call(int fd, const char *command, size_t size)
{
    char answer[256];
    size_t got = 0;

    if (write(fd, command, strlen(command)) != (ssize_t)strlen(command)) {
        return false;
    }
    while (got < size) {
        ssize_t n = read(fd, answer + got, sizeof answer - got);

        if (n <= 0) {
            return false;
        }
        got += (size_t)n;
    }
    return answer[0] == '+' || answer[0] == '$';
}

void
bench_redis(struct results *results, const char *directory, size_t rounds)
{
    struct samples samples = {.values = NULL};
    char command[160];
    char value[65];
    pid_t pid;
    bool good;
    int fd;

    if (!redis_is_there()) {
        results_not_installed(results, REDIS_PEER);
        return;
    }
    fd = redis_start(directory, false, &pid);
    if (fd < 0) {
        (void)fprintf(stderr, "granary: bench: Redis: the server did not come up\n");
        return;
    }
    memset(value, 'x', 64);
    value[64] = '\0';
    (void)snprintf(command, sizeof command, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$64\r\n%s\r\n", value);
    good = redis_call(fd, command, strlen("+OK\r\n"));
    for (size_t i = 0; good && i < rounds; i++) {
        int64_t began = bench_now_ns();

        good = redis_call(fd, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", strlen("$64\r\n") + 64 + 2);
        samples_add(&samples, (double)(bench_now_ns() - began));
    }
    (void)close(fd);
    redis_stop(pid);
    if (good) {
        results_add(results, "redis_get_ns", "ns", NULL, "GET of 64 bytes, unix socket", &samples);
    }
    samples_free(&samples);
}
