/*
 * One thread serves all connections, whatever their number: it never waits. Each of them has 16 KiB, and ends when it is
 * silent for too long; one that waits for an answer or an event sleeps outside of that.
 */
#include "web/server.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "cli/print/json.h"
#include "metrics/metrics.h"
#include "web/ask/jobs.h"
#include "web/guard.h"
#include "web/listen.h"
#include "web/page.h"
#include "web/pulse.h"
#include "web/samples.h"
#include "web/streams.h"

#define CONNECTIONS_MAX   2048
#define DESCRIPTORS_OTHER 64
#define CONNECTION_MEMORY 16384

struct server {
    struct server_options options;
    struct guard guard;
    struct listening listening;
    struct MHD_Daemon *daemon;
    struct jobs *jobs;
    struct streams *streams;
    struct samples *samples;
    struct pulse *pulse;
    int changed_fd; /* an eventfd: the scheduler's graphs have changed */
};

/* ---- responses ---- */

static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

/* Destroys the response, which may be NULL. */
static enum MHD_Result
send_response(struct MHD_Connection *connection, unsigned status, const char *type, struct MHD_Response *response)
{
    enum MHD_Result result = MHD_NO;

    if (response != NULL) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
        for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
            (void)MHD_add_response_header(response, headers[i].name, headers[i].value);
        }
        if (status == 405) {
            (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
        }
        result = MHD_queue_response(connection, status, response);
        MHD_destroy_response(response);
    }
    return result;
}

static enum MHD_Result
send_answer(struct MHD_Connection *connection, struct answer *answer, const char *disposition)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->body == NULL ? 0 : answer->size, answer->body, MHD_RESPMEM_MUST_FREE);

    if (response == NULL) {
        free(answer->body);
    } else if (disposition != NULL && answer->status == 200) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, disposition);
    }
    answer->body = NULL;
    return send_response(connection, answer->status, answer->type, response);
}

static enum MHD_Result
refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
    struct answer answer = answer_message(status, why);

    return send_answer(connection, &answer, NULL);
}

static enum MHD_Result
send_file(struct MHD_Connection *connection, const struct page_file *file)
{
    return send_response(connection, 200, file->type,
                         MHD_create_response_from_buffer((size_t)(file->end - file->bytes),
                                                         (void *)(uintptr_t)file->bytes, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result
send_login(struct server *server, struct MHD_Connection *connection)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(3, (void *)(uintptr_t) "{}\n", MHD_RESPMEM_PERSISTENT);
    char cookie[96];

    guard_cookie(&server->guard, cookie, sizeof cookie);
    if (response != NULL && !server->guard.open) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    }
    return send_response(connection, 200, "application/json", response);
}

static enum MHD_Result
send_history(struct server *server, struct MHD_Connection *connection)
{
    struct answer answer = {.status = 200, .type = "application/json"};
    FILE *out = open_memstream(&answer.body, &answer.size);

    if (out != NULL) {
        samples_write(server->samples, out);
        (void)fclose(out);
    }
    return send_answer(connection, &answer, NULL);
}

/* Read from shared memory and pages, by this thread: nobody is waited for. */
static enum MHD_Result
send_metrics(struct server *server, struct MHD_Connection *connection)
{
    enum metrics_format format =
        metrics_format_of(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
    struct gr_buf text = {0};
    granary_err err = metrics_add(&text, server->options.instance.runtime, format);
    struct answer answer = {.status = 200, .type = metrics_content_type(format), .size = text.size};

    if (err == GRANARY_OK) {
        answer.body = gr_buf_take(&text);
    } else {
        gr_buf_free(&text);
        answer = answer_failure(err);
    }
    return send_answer(connection, &answer, NULL);
}

static enum MHD_Result
send_events(struct server *server, struct MHD_Connection *connection, bool head)
{
    struct MHD_Response *response = head ? MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT)
                                         : streams_respond(server->streams, connection);

    return response == NULL ? refuse(connection, 503, "too many pages are open: close one")
                            : send_response(connection, 200, "text/event-stream", response);
}

/* ---- questions ---- */

struct parameters {
    struct question *question;
    granary_err err;
};

static enum MHD_Result
add_parameter(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct parameters *parameters = context;

    (void)kind;
    parameters->err = question_add(parameters->question, name, value);
    return parameters->err == GRANARY_OK ? MHD_YES : MHD_NO;
}

/* The connection sleeps until the job is answered; then the request comes here again. */
static enum MHD_Result
begin_question(struct server *server, struct MHD_Connection *connection, const char *name, void **request)
{
    const struct question_row *row = question_find(name);
    struct question question;
    struct parameters parameters = {.question = &question};
    struct job *job = NULL;
    struct answer answer;

    if (row == NULL) {
        return refuse(connection, 404, "no such question: docs/page.md lists them");
    }
    parameters.err = question_begin(&question, row);
    if (parameters.err == GRANARY_OK) {
        (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_parameter, &parameters);
        if (parameters.err == GRANARY_OK) {
            parameters.err = job_create(server->jobs, &question, connection, &job);
        } else {
            question_fini(&question);
        }
    }
    if (parameters.err != GRANARY_OK) {
        answer = answer_failure(parameters.err);
        return send_answer(connection, &answer, NULL);
    }
    *request = job;
    (void)MHD_suspend_connection(connection);
    job_start(job);
    return MHD_YES;
}

static enum MHD_Result
end_question(struct MHD_Connection *connection, struct job *job)
{
    struct answer answer;

    if (!job_take(job, &answer)) {
        return MHD_YES;
    }
    return send_answer(connection, &answer, job_saved(job) ? "attachment; filename=\"trace.json\"" : NULL);
}

static void
wake(void *connection)
{
    MHD_resume_connection(connection);
}

/* ---- requests ---- */

/* The headers that matter, as they came. */
static enum MHD_Result
read_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct guard_request *request = context;
    const struct {
        const char *name;
        const char **value;
    } known[] = {{"Host", &request->host},
                 {"Origin", &request->origin},
                 {"Sec-Fetch-Site", &request->site},
                 {"Cookie", &request->cookie},
                 {"Authorization", &request->authorization}};

    (void)kind;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcasecmp(name, known[i].name) == 0) {
            request->doubled = request->doubled || *known[i].value != NULL;
            *known[i].value = value != NULL ? value : "";
        }
    }
    request->body = request->body || strcasecmp(name, "Transfer-Encoding") == 0 ||
                    (strcasecmp(name, "Content-Length") == 0 && value != NULL && strcmp(value, "0") != 0);
    return MHD_YES;
}

static enum MHD_Result
route(struct server *server, struct MHD_Connection *connection, const char *path, bool head, void **request)
{
    const struct page_file *file = page_named(path);

    if (file != NULL) {
        return send_file(connection, file);
    }
    if (strcmp(path, "login") == 0) {
        return send_login(server, connection);
    }
    if (strcmp(path, "events") == 0) {
        return send_events(server, connection, head);
    }
    if (strcmp(path, "api/history") == 0) {
        return send_history(server, connection);
    }
    if (strcmp(path, "metrics") == 0) {
        return send_metrics(server, connection);
    }
    if (strcmp(path, "trace.json") == 0) {
        bool one = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "key") != NULL;

        return begin_question(server, connection, one ? "timeline" : "alltime", request);
    }
    return strncmp(path, "api/", 4) == 0 ? begin_question(server, connection, path + 4, request)
                                         : refuse(connection, 404, "no such page");
}

/* In the place of a job: the request's headers were judged. */
static char begun;

static enum MHD_Result
on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
           const char *upload, size_t *upload_size, void **request)
{
    struct server *server = context;
    struct guard_request facts = {.method = method, .path = url};
    const char *path = NULL, *why = NULL;
    unsigned status;

    (void)version;
    (void)upload;
    (void)upload_size;
    if (*request != NULL && *request != &begun) {
        return end_question(connection, *request);
    }
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, read_header, &facts);
    status = guard_judge(&server->guard, &facts, &path, &why);
    if (status != 0) {
        return refuse(connection, status, why);
    }
    if (*request ==
        NULL) { /* an answer at the first call would end the connection, and each poll would make a new one */
        *request = &begun;
        return MHD_YES;
    }
    *request = NULL;
    return route(server, connection, path, strcmp(method, "HEAD") == 0, request);
}

static void
on_completed(void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)connection;
    (void)code;
    if (*request != NULL && *request != &begun) {
        job_end(*request);
    }
    *request = NULL;
}

/* ---- what is published ---- */

static void
publish(struct server *server, const struct sample *sample, const granary_instance_info *info)
{
    struct heartbeat beat = pulse_read(server->pulse);
    char *text = NULL, *numbers = NULL;
    char version[24];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    FILE *row = open_memstream(&numbers, &size);
    struct json json = {.out = out};

    if (out != NULL && row != NULL) {
        sample_write(row, sample);
        (void)fflush(row);
        json_open(&json, NULL, '{');
        json_number(&json, "sample", numbers);
        json_text(&json, "instance", server->options.instance.name);
        json_text(&json, "store", granary_store_life_name(info->life));
        json_unsigned(&json, "store_pid", info->pid);
        json_unsigned(&json, "store_epoch", info->epoch);
        json_text(&json, "scheduler", beat.state);
        json_signed(&json, "silent_ms", beat.silent_ms);
        json_signed(&json, "monotonic_ns", gr_now_ns());
        (void)snprintf(version, sizeof version, "%" PRIu64, beat.version); /* too large for a number of JavaScript */
        json_text(&json, "graphs", version);
        json_close(&json);
        (void)fflush(out);
        text[strcspn(text, "\n")] = '\0';
        streams_publish(server->streams, text);
    }
    if (out != NULL) {
        (void)fclose(out);
    }
    if (row != NULL) {
        (void)fclose(row);
    }
    free(text);
    free(numbers);
}

static void
on_changed(void *context)
{
    struct server *server = context;

    (void)!write(server->changed_fd, &(uint64_t){1}, sizeof(uint64_t));
}

void
server_run(struct server *server, int stop_fd)
{
    struct pollfd fds[2] = {{.fd = stop_fd, .events = POLLIN}, {.fd = server->changed_fd, .events = POLLIN}};
    struct sample sample = {.up = 0};
    granary_instance_info info = {.life = GRANARY_STORE_UNKNOWN};
    int64_t next_ns = 0;

    while ((fds[0].revents & POLLIN) == 0) {
        if (gr_now_ns() >= next_ns) {
            if (!listening_is_there(&server->listening)) {
                gr_log_info("SOCKET-GONE", "%s was removed, with its instance: the page ends", server->listening.path);
                break;
            }
            sample = samples_take(server->samples, &info);
            next_ns = gr_deadline_ns(server->options.interval_ms);
            jobs_expire(server->jobs);
            pulse_watch(server->pulse, streams_count(server->streams) > 0);
        }
        publish(server, &sample, &info);
        fds[0].revents = fds[1].revents = 0;
        (void)poll(fds, 2, gr_left_ms(next_ns));
        if ((fds[1].revents & POLLIN) != 0) {
            uint64_t count;

            (void)!read(server->changed_fd, &count, sizeof count);
        }
    }
}

/* ---- beginning and end ---- */

/* As many connections as there are descriptors for. */
static unsigned
raise_connections(void)
{
    size_t files = gr_daemon_raise_files();

    return files > CONNECTIONS_MAX + DESCRIPTORS_OTHER ? CONNECTIONS_MAX
           : files > 2 * DESCRIPTORS_OTHER             ? (unsigned)(files - DESCRIPTORS_OTHER)
                                                       : DESCRIPTORS_OTHER;
}

static granary_err
start_daemon(struct server *server)
{
    unsigned patience_s = ((unsigned)server->options.patience_ms + 999) / 1000;

    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
        MHD_OPTION_LISTEN_SOCKET, server->listening.fd, MHD_OPTION_CONNECTION_LIMIT, raise_connections(),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, patience_s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    return server->daemon != NULL ? GRANARY_OK
                                  : gr_fail(GRANARY_ENOMEM, "the page's server cannot start: %s", strerror(errno));
}

/* The address of one that was killed, if that is what is asked for and free; its secrets, too. */
static bool
take_over(struct server *server)
{
    static const char scheme[] = "http://";
    const struct server_options *options = &server->options;
    const char *left = options->left, *listen = options->listen;
    const char *colon = listen == NULL ? NULL : strrchr(listen, ':');
    char address[64];
    size_t host, size;

    if (left == NULL || colon == NULL || strncmp(left, scheme, strlen(scheme)) != 0) {
        return false;
    }
    left += strlen(scheme);
    size = strcspn(left, "/");
    host = (size_t)(colon - listen) + 1; /* with the colon */
    if (size >= sizeof address || left[size] != '/' || strncmp(left, listen, host) != 0 ||
        (strcmp(colon, ":0") != 0 && (strlen(listen) != size || strncmp(left, listen, size) != 0)) ||
        !guard_resume(&server->guard, left + size + 1)) {
        return false;
    }
    (void)snprintf(address, sizeof address, "%.*s", (int)size, left);
    return listening_open(address, &options->instance, &server->listening) == GRANARY_OK;
}

static granary_err
open_door(struct server *server)
{
    const struct server_options *options = &server->options;
    granary_err err = guard_init(&server->guard, false, options->host);

    if (err == GRANARY_OK && !take_over(server)) {
        err = guard_init(&server->guard, false, options->host);
        err = err == GRANARY_OK ? listening_open(options->listen, &options->instance, &server->listening) : err;
    }
    server->guard.open = server->listening.is_unix;
    return err;
}

granary_err
server_create(const struct server_options *options, struct server **ret_server)
{
    struct server *server = calloc(1, sizeof *server);
    granary_err err = server == NULL ? gr_no_memory("the page's server") : GRANARY_OK;

    if (err == GRANARY_OK) {
        server->options = *options;
        server->listening.fd = server->changed_fd = -1;
        err = open_door(server);
    }
    if (err == GRANARY_OK && (server->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
        err = gr_fail_errno("an eventfd");
    }
    err = err == GRANARY_OK ? samples_create(&options->instance, &server->samples) : err;
    err = err == GRANARY_OK ? streams_create(&server->streams) : err;
    err = err == GRANARY_OK ? pulse_create(&options->instance, on_changed, server, &server->pulse) : err;
    err = err == GRANARY_OK ? jobs_create(&options->instance, options->patience_ms, wake, &server->jobs) : err;
    err = err == GRANARY_OK ? start_daemon(server) : err;
    if (err != GRANARY_OK) {
        (void)server_destroy(server);
        return err;
    }
    *ret_server = server;
    return GRANARY_OK;
}

void
server_url(const struct server *server, char url[SERVER_URL_MAX])
{
    const struct listening *listening = &server->listening;

    if (listening->is_unix) {
        (void)snprintf(url, SERVER_URL_MAX, "unix:%s", listening->path);
    } else {
        (void)snprintf(url, SERVER_URL_MAX, "http://%s:%u/%s/#%s", listening->host, listening->port, server->guard.word,
                       server->guard.token);
    }
}

bool
server_destroy(struct server *server)
{
    bool ended;

    if (server == NULL) {
        return true;
    }
    if (server->jobs != NULL) {
        jobs_stop(server->jobs);
    }
    if (server->streams != NULL) {
        streams_stop(server->streams);
    }
    if (server->daemon != NULL) {
        MHD_stop_daemon(server->daemon); /* closes the listening socket */
        server->listening.fd = -1;
    }
    listening_close(&server->listening);
    ended = jobs_destroy(server->jobs);
    ended = pulse_destroy(server->pulse) && ended;
    streams_destroy(server->streams);
    samples_destroy(server->samples);
    gr_fd_close(&server->changed_fd);
    if (ended) {
        free(server);
    }
    return ended;
}
