/* granary-web: the page of one instance. No daemon parses HTTP; this process reads what it shows, and writes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "options/options.h"
#include "web/report.h"
#include "web/server.h"

extern char **environ;

#define URL_FILE "web.url"

struct arguments {
    const char *instance;
    struct server_options options;
    bool open;
    const char *report, *output; /* a graph's, and the file: instead of a server */
    int ready_fd;                /* -1: nobody waits */
    bool die_with_parent;
};

static const struct gr_option options[] = {
    {"instance", 0, "NAME|DIR", "show this instance; default: $GRANARY_INSTANCE, else 'default'",
     GR_OPTION_TEXT(struct arguments, instance)},
    {"listen", 0, "ADDRESS",
     "be reached at unix:PATH or 127.0.0.1:PORT (0: any that is free); default: web.sock in the instance's directory, "
     "and "
     "with --open 127.0.0.1:0",
     GR_OPTION_TEXT(struct arguments, options.listen)},
    {"host", 0, "NAME", "let requests name this host, too: that of a proxy before the page",
     GR_OPTION_TEXT(struct arguments, options.host)},
    {"open", 0, NULL, "open the page in a browser", GR_OPTION_FLAG(struct arguments, open)},
    {"interval", 0, "DURATION", "wait this long between two samples; default: 1 s",
     GR_OPTION_MS_FROM(struct arguments, options.interval_ms, 10)},
    {"patience", 0, "DURATION", "wait this long for an answer, and for a page that does not read; default: 10 s",
     GR_OPTION_MS_FROM(struct arguments, options.patience_ms, 100)},
    {"report", 0, "GRAPH", "write a report of a graph instead", GR_OPTION_TEXT(struct arguments, report),
     .hidden = true},
    {"output", 0, "FILE", "... to this file", GR_OPTION_TEXT(struct arguments, output), .hidden = true},
    {"ready-fd", 0, "N", "write READY, or ERROR STATUS MESSAGE, to this descriptor",
     GR_OPTION_NUMBER(struct arguments, ready_fd, 0, INT_MAX)},
    {"die-with-parent", 0, NULL, "stop when the parent process ends",
     GR_OPTION_FLAG(struct arguments, die_with_parent)},
    {0}};

/* A file in the instance's directory, for its user alone. ret_path: "" when there is none. */
static void
write_file(const struct gr_instance *instance, const char *name, const char *text, char ret_path[PATH_MAX])
{
    int fd;

    (void)snprintf(ret_path, PATH_MAX, "%s/%s", instance->runtime, name);
    fd = open(ret_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || gr_write_all(fd, text, strlen(text)) != GRANARY_OK) {
        ret_path[0] = '\0';
    }
    gr_fd_close(&fd);
}

/* What a server left that was killed: one that ends in order takes it away. */
static void
read_left(struct server_options *asked, char left[SERVER_URL_MAX])
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t size;

    (void)snprintf(path, sizeof path, "%s/" URL_FILE, asked->instance.runtime);
    if (gr_file_read(path, SERVER_URL_MAX - 1, &text, &size) == GRANARY_OK) {
        (void)snprintf(left, SERVER_URL_MAX, "%s", text);
        asked->left = left;
    }
    free(text);
}

/* Somebody else has the port of the page that was killed, and may have heard its secrets from browsers: they open nothing more. */
static void
forget_left(const struct gr_instance *instance)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/" URL_FILE, instance->runtime);
    (void)unlink(path);
}

/* Of a file that leads to the page: every user of the machine can read the arguments of a browser, and so a token there. */
static void
open_browser(const struct gr_instance *instance, const char *url, char ret_path[PATH_MAX])
{
    char text[SERVER_URL_MAX + 128];
    char *argv[] = {(char *)(uintptr_t) "xdg-open", ret_path, NULL};
    pid_t pid;
    int error;

    (void)snprintf(text, sizeof text, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", url);
    write_file(instance, "web.html", text, ret_path);
    error = ret_path[0] == '\0' ? ENOENT : posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (error != 0) {
        (void)fprintf(stderr, "granary: web: no browser was opened: %s: open the address yourself\n", strerror(error));
    }
}

static void
serve(struct arguments *arguments, struct server *server, int stop_fd)
{
    const struct gr_instance *instance = &arguments->options.instance;
    char url[SERVER_URL_MAX], path[PATH_MAX], opened[PATH_MAX] = "";

    server_url(server, url);
    write_file(instance, URL_FILE, url, path); /* `granary status` tells it */
    if (arguments->ready_fd < 0) {
        (void)printf("the page of instance %s is at %s\n", instance->name, url);
        (void)fflush(stdout);
    }
    gr_daemon_say_ready(&arguments->ready_fd);
    gr_log_info("WEB-SERVES", "instance=%s", instance->name);
    if (arguments->open) {
        open_browser(instance, url, opened);
    }
    server_run(server, stop_fd);
    (void)unlink(path);
    (void)unlink(opened);
}

static int
end_report(const struct arguments *arguments, granary_err err)
{
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "granary: report: %s\n", granary_error_message());
    } else if (strcmp(arguments->output, "-") != 0) {
        (void)printf("%s has the report of graph %s\n", arguments->output, arguments->report);
    }
    return granary_error_exit_status(err);
}

int
main(int argc, char **argv)
{
    struct arguments arguments = {.ready_fd = -1, .options = {.interval_ms = 1000, .patience_ms = 10000}};
    const struct gr_options table = {.doc = "Serve the page of an instance until SIGTERM. The page only reads.",
                                     .sets = {{.options = options, .target = &arguments}}};
    pid_t parent = getppid();
    struct server *server = NULL;
    char left[SERVER_URL_MAX];
    granary_err err;
    int stop_fd;

    gr_log_init("web");
    (void)gr_options_parse(&table, argc, argv);
    if (arguments.report == NULL) {
        (void)umask(077); /* nothing is anybody else's between bind and chmod */
    }
    if (arguments.open && arguments.options.listen == NULL) {
        arguments.options.listen = "127.0.0.1:0";
    }
    stop_fd = gr_daemon_open_stop();
    err = stop_fd < 0 ? gr_fail_errno("signals") : gr_instance_resolve(arguments.instance, &arguments.options.instance);
    if (err == GRANARY_OK) {
        err = gr_instance_check_own(arguments.options.instance.runtime);
    }
    if (err == GRANARY_OK && arguments.report != NULL) {
        return end_report(&arguments, report_write(&arguments.options.instance, arguments.report, arguments.output));
    }
    if (err == GRANARY_OK) { /* the page samples the store's memory */
        err = gr_instance_check_store(&arguments.options.instance);
    }
    if (err == GRANARY_OK && arguments.die_with_parent) {
        err = gr_daemon_follow(parent, SIGTERM);
    }
    if (err == GRANARY_OK) {
        read_left(&arguments.options, left);
        err = server_create(&arguments.options, &server);
    }
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "granary: web: %s\n", granary_error_message());
        if (err == GRANARY_EEXIST && arguments.die_with_parent) {
            forget_left(&arguments.options.instance);
        }
        gr_daemon_say_error(&arguments.ready_fd, err);
    } else {
        serve(&arguments, server, stop_fd);
    }
    if (!server_destroy(server)) {
        _exit(granary_error_exit_status(err)); /* a thread hangs with the daemon that it asks */
    }
    gr_fd_close(&stop_fd);
    return granary_error_exit_status(err);
}
