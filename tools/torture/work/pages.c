/*
 * Two readers have the page's stream of events open, and a third one asks for its tables, over the socket in the instance's
 * directory. Each event and each answer is whole; when granary-web has died, the next one serves.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "torture/common/random.h"
#include "torture/work/work.h"

#define STREAMS   2u
#define BYTES     (1u << 20)
#define SILENT_MS 120000 /* a page that is held up by a store that does not come back */
#define STREAM_MS 5000   /* then it is opened anew */

static const char *const paths[] = {"api/graphs?limit=50",  "api/account",         "api/history", "api/executors",
                                    "api/objects?limit=50", "api/clients",         "api/pages",   "metrics",
                                    "api/spaces",           "api/recorder?last=20"};

/* -1: nobody listens at this moment. */
static int
ask(const struct work *work, const char *path, bool closes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[256];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int size;

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/web.sock", work->site->instance);
    size = snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path,
                    closes ? "Connection: close\r\n" : "");
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        send(fd, text, (size_t)size, MSG_NOSIGNAL) != size) {
        gr_fd_close(&fd);
    }
    return fd;
}

/* More bytes behind those that are there; 0: the other end has hung up, or is silent (then said so). */
static size_t
more(struct work *work, int fd, char *bytes, size_t have)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    const int64_t deadline = gr_deadline_ns(SILENT_MS);
    ssize_t got;

    while (poll(&poller, 1, 100) == 0) {
        if (!work_goes_on(work)) {
            return 0;
        }
        if (gr_now_ns() > deadline) {
            (void)gr_fail(GRANARY_ETIMEDOUT, "nothing came for %d s", SILENT_MS / 1000);
            (void)work_count(work, GRANARY_ETIMEDOUT, "a page");
            return 0;
        }
    }
    got = recv(fd, bytes + have, BYTES - 1 - have, 0);
    have += got > 0 ? (size_t)got : 0;
    bytes[have] = '\0';
    return got > 0 ? have : 0;
}

/* ---- streams ---- */

/* Events up to the last empty line; each line of data is one object. Returns the bytes that are done with. */
static size_t
take_events(struct work *work, char *bytes)
{
    char *at = bytes;
    char *end;

    while ((end = strstr(at, "\n\n")) != NULL) {
        char *data;

        *end = '\0';
        data = strstr(at, "data: ");
        if (data != NULL && (data[6] != '{' || end[-1] != '}')) {
            work_wrong(work, "an event is no object: %.100s", data);
        }
        atomic_fetch_add(&work->board->done, 1);
        at = end + 2;
    }
    return (size_t)(at - bytes);
}

static void
follow(struct work *work, char *bytes)
{
    const int64_t until = gr_deadline_ns(STREAM_MS);
    int fd = ask(work, "events", false);
    size_t have = 0;
    bool begun = false;

    if (fd < 0) {
        (void)work_count(work, GRANARY_EUNREACHABLE, "connect");
    }
    while (fd >= 0 && work_goes_on(work) && gr_now_ns() < until && (have = more(work, fd, bytes, have)) > 0) {
        size_t done = 0;

        if (!begun) {
            const char *head = strstr(bytes, "\r\n\r\n");

            if (head == NULL) {
                continue;
            }
            if (strncmp(bytes, "HTTP/1.1 200", 12) != 0) {
                work_wrong(work, "the stream of events was answered %.40s", bytes);
                break;
            }
            begun = true;
            done = (size_t)(head + 4 - bytes);
        }
        done += take_events(work, bytes + done);
        memmove(bytes, bytes + done, have - done + 1);
        have -= done;
        if (have == BYTES - 1) {
            work_wrong(work, "an event has no end");
        }
    }
    gr_fd_close(&fd);
}

/* ---- tables ---- */

/* A whole answer has as many bytes as its head says. One that was cut off belongs to a page that was killed. */
static void
judge_answer(struct work *work, const char *path, const char *bytes, size_t have)
{
    const char *head = strstr(bytes, "\r\n\r\n");
    const char *length = strcasestr(bytes, "\r\nContent-Length: ");
    const long status = strncmp(bytes, "HTTP/1.1 ", 9) == 0 ? strtol(bytes + 9, NULL, 10) : 0;
    const size_t body = head == NULL ? 0 : have - (size_t)(head + 4 - bytes);

    if (head == NULL || length == NULL || length > head || body < strtoull(length + 18, NULL, 10)) {
        (void)work_count(work, GRANARY_EUNREACHABLE, path);
        return;
    }
    if (status != 200 && status != 502 && status != 503 && status != 504) {
        work_wrong(work, "%s was answered with %ld: %.200s", path, status, head + 4);
    } else if (status == 200 && strncmp(path, "api/", 4) == 0 && head[4] != '{' && head[4] != '[') {
        work_wrong(work, "%s is no JSON: %.100s", path, head + 4);
    }
    (void)work_count(work, GRANARY_OK, path);
}

static void
ask_table(struct work *work, const char *path, char *bytes)
{
    int fd = ask(work, path, true);
    size_t have = 0, all = 0;

    if (fd < 0) {
        (void)work_count(work, GRANARY_EUNREACHABLE, "connect");
        return;
    }
    while (all < BYTES - 1 && (have = more(work, fd, bytes, all)) > 0) {
        all = have;
    }
    gr_fd_close(&fd);
    if (work_goes_on(work) && all < BYTES - 1) {
        bytes[all] = '\0';
        judge_answer(work, path, bytes, all);
    }
}

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    char *bytes = malloc(BYTES);

    (void)client;
    while (bytes != NULL && work_goes_on(work)) {
        bytes[0] = '\0';
        if (number < STREAMS) {
            follow(work, bytes);
        } else {
            ask_table(work, paths[random_next(&seed) % (sizeof paths / sizeof paths[0])], bytes);
        }
        random_pause(&seed, 50000000);
    }
    free(bytes);
}

const struct work_kind work_pages = {.run = run, .by_itself = true};
