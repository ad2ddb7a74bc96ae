/* Redis over its unix socket, when redis-server is there: GET of a 64-byte value. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"

static pid_t
redis_start(const char *directory, const char *path)
{
    pid_t child = fork();

    if (child == 0) {
        int null = open("/dev/null", O_RDWR);

        (void)dup2(null, 1);
        (void)dup2(null, 2);
        (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly",
                     "no", "--dir", directory, "--daemonize", "no", (char *)NULL);
        _exit(127);
    }
    return child;
}

/* Connect once the socket appears; -1 when redis-server is not installed or does not come up within 5 s. */
static int
redis_connect(const char *directory, const char *path, pid_t *pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int64_t deadline = bench_now_ns() + 5000000000;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool reached = false;

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    (void)inotify_add_watch(watch, directory, IN_CREATE | IN_ATTRIB);
    *pid = redis_start(directory, path);
    while (*pid > 0 && !reached && bench_now_ns() < deadline) {
        char events[4096];

        if (waitpid(*pid, NULL, WNOHANG) == *pid) {
            *pid = 0;
            break;
        }
        reached = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
        if (!reached) {
            (void)poll(&(struct pollfd){.fd = watch, .events = POLLIN}, 1, 50);
            (void)!read(watch, events, sizeof events);
        }
    }
    (void)close(watch);
    if (!reached) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

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
    char path[100];
    char value[65];
    pid_t pid = 0;
    bool good;
    int fd;

    (void)snprintf(path, sizeof path, "%s/redis.sock", directory);
    fd = redis_connect(directory, path, &pid);
    if (fd >= 0) {
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
        if (good) {
            results_add(results, "redis_get_ns", "ns", NULL, "GET of 64 bytes, unix socket", &samples);
        }
        samples_free(&samples);
    }
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
}
