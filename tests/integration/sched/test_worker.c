/* Workers embedded in a program: this one. The instance has no executors of its own. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "granary/granary.h"
#include "granary/worker.h"

#define ROUNDS 2000 /* of 10 ms, before a test gives up */

static char directory[] = "/tmp/granary-test-XXXXXX";
static granary_client *client;

static void
run_granary(const char *command)
{
    const char *bin = getenv("GRANARY_BIN");
    char line[400];

    (void)snprintf(line, sizeof line, "GRANARY_LOG=error %s/granary %s --instance %s >/dev/null 2>&1",
                   bin != NULL ? bin : "bin", command, directory);
    assert_int_equal(system(line), 0);
}

static int
start(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    run_granary("up --executors 0 --memory 64M");
    return granary_connect(&(granary_connect_options){.instance = directory}, &client) == GRANARY_OK ? 0 : -1;
}

static int
stop(void **state)
{
    (void)state;
    granary_disconnect(client);
    run_granary("down"); /* which removes the directory, too */
    return access(directory, F_OK) == 0 ? rmdir(directory) : 0;
}

static granary_worker *
worker_new(void)
{
    granary_worker *worker = NULL;

    assert_int_equal(granary_worker_create(&(granary_worker_options){.instance = directory}, &worker), GRANARY_OK);
    return worker;
}

/* count sums of a million numbers each, and their sum: count + some subtasks. */
static void
submit(int count, char key[GRANARY_KEY_MAX])
{
    char json[256];

    (void)snprintf(json, sizeof json,
                   "{\"nodes\": [{\"name\": \"a\", \"op\": \"arange\", \"stop\": %d, \"chunk\": 10000}, "
                   "{\"name\": \"s\", \"op\": \"sum\", \"inputs\": [\"a\"]}], \"targets\": [\"s\"]}",
                   count * 10000);
    assert_int_equal(granary_graph_submit_json(client, json, strlen(json), NULL, key), GRANARY_OK);
}

static bool
has_ended(const char *key)
{
    granary_err err = granary_graph_wait(client, key, 0, NULL);

    assert_true(err == GRANARY_OK || err == GRANARY_ETIMEDOUT);
    return err == GRANARY_OK;
}

static uint64_t
workers_there(void)
{
    uint64_t count;

    assert_int_equal(granary_count(client, "executors", &count), GRANARY_OK);
    return count;
}

/* It waits for its descriptor only, and never inside a poll. */
static void
an_event_loop_runs_a_graph(void **state)
{
    granary_worker *worker = worker_new();
    char key[GRANARY_KEY_MAX];
    struct pollfd descriptor = {.events = POLLIN};
    uint32_t total = 0;
    int rounds = 0;

    (void)state;
    assert_int_equal(granary_worker_poll(worker, 0, 0, NULL), GRANARY_EINVAL);
    assert_int_equal(granary_worker_fd(worker, &descriptor.fd), GRANARY_OK);
    submit(20, key);
    while (!has_ended(key)) {
        uint32_t ran;
        granary_err err;

        while ((err = granary_worker_poll(worker, 0, 4, &ran)) == GRANARY_OK) {
            assert_true(ran >= 1 && ran <= 4);
            total += ran;
        }
        assert_int_equal(err, GRANARY_ETIMEDOUT);
        if (!has_ended(key)) {
            (void)poll(&descriptor, 1, 1000);
        }
        assert_true(rounds++ < ROUNDS);
    }
    assert_true(total >= 21);
    granary_worker_destroy(worker);
    assert_int_equal(workers_there(), 0);
}

/* Each is an executor; what one has when it leaves, the other one runs. */
static void
two_in_one_process(void **state)
{
    granary_worker *one = worker_new();
    granary_worker *other = worker_new();
    char key[GRANARY_KEY_MAX];
    uint32_t ran = 0;
    int fd;

    (void)state;
    submit(20, key);
    assert_int_equal(granary_worker_poll(one, GRANARY_FOREVER, 1, &ran), GRANARY_OK);
    assert_int_equal(ran, 1);
    assert_int_equal(granary_worker_poll(other, GRANARY_FOREVER, 1, &ran), GRANARY_OK);
    assert_int_equal(ran, 1);
    assert_int_equal(workers_there(), 2);
    assert_int_equal(granary_worker_fd(one, &fd), GRANARY_OK);
    assert_int_equal(granary_worker_poll(one, GRANARY_FOREVER, 2, &ran),
                     GRANARY_OK); /* what it asked for stays asked for */
    granary_worker_destroy(one);
    assert_int_equal(workers_there(), 1);
    for (int i = 0; !has_ended(key); i++) {
        (void)granary_worker_poll(other, 10, 16, NULL);
        assert_true(i < ROUNDS);
    }
    granary_worker_destroy(other);
    granary_worker_destroy(NULL);
    assert_int_equal(workers_there(), 0);
}

struct helper {
    pthread_t thread;
    granary_err err;
    uint64_t total;
    _Atomic bool *stop;
};

static void *
help(void *context)
{
    struct helper *helper = context;
    granary_worker *worker = worker_new();

    while (helper->err == GRANARY_OK && !*helper->stop) {
        uint32_t ran;
        granary_err err = granary_worker_poll(worker, 10, 8, &ran);

        helper->total += ran;
        helper->err = err == GRANARY_ETIMEDOUT ? GRANARY_OK : err;
    }
    granary_worker_destroy(worker);
    return NULL;
}

/* Each thread has a worker of its own; operators of several kinds run in both at once. */
static void
workers_in_threads(void **state)
{
    static const char json[] =
        "{\"nodes\": [{\"name\": \"a\", \"op\": \"random\", \"shape\": [10240, 200], \"chunk\": [512, 200]}, "
        "{\"name\": \"b\", \"op\": \"random\", \"shape\": [200, 10]}, "
        "{\"name\": \"m\", \"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]}, "
        "{\"name\": \"e\", \"op\": \"exp\", \"inputs\": [\"m\"]}, "
        "{\"name\": \"s\", \"op\": \"sum\", \"inputs\": [\"e\"]}], \"targets\": [\"m\", \"s\"]}";
    struct helper helpers[3] = {{.total = 0}};
    _Atomic bool stop = false;
    char key[GRANARY_KEY_MAX];
    uint64_t total = 0;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        helpers[i].stop = &stop;
        assert_int_equal(pthread_create(&helpers[i].thread, NULL, help, &helpers[i]), 0);
    }
    assert_int_equal(granary_graph_submit_json(client, json, strlen(json), NULL, key), GRANARY_OK);
    assert_int_equal(granary_graph_wait(client, key, ROUNDS * 10, NULL), GRANARY_OK);
    stop = true;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(helpers[i].thread, NULL), 0);
        assert_int_equal(helpers[i].err, GRANARY_OK);
        total += helpers[i].total;
    }
    assert_true(total >= 41);
    assert_int_equal(workers_there(), 0);
}

/* It registers with the next one by itself, and its descriptor stays. */
static void
the_scheduler_is_killed(void **state)
{
    granary_worker *worker = worker_new();
    char key[GRANARY_KEY_MAX];
    granary_table *table = NULL;
    int fd;

    (void)state;
    assert_int_equal(granary_worker_fd(worker, &fd), GRANARY_OK);
    submit(30, key);
    assert_int_equal(granary_worker_poll(worker, GRANARY_FOREVER, 3, NULL), GRANARY_OK);
    assert_int_equal(granary_info(client, &(granary_query){.subject = "schedulers"}, &table), GRANARY_OK);
    assert_int_equal(kill((pid_t)granary_table_int(table, 0, "pid"), SIGKILL), 0);
    granary_table_free(table);
    for (int i = 0; !has_ended(key); i++) {
        granary_err err = granary_worker_poll(worker, 10, 16, NULL);

        assert_true(err == GRANARY_OK || err == GRANARY_ETIMEDOUT);
        assert_true(i < ROUNDS);
    }
    granary_worker_destroy(worker);
    assert_int_equal(workers_there(), 0);
}

/* From what the supervisor tells of its daemons. */
static pid_t
daemon_pid(const char *name)
{
    char path[64], text[2000], label[32];
    FILE *file;
    const char *at;

    (void)snprintf(path, sizeof path, "%s/instance.json", directory);
    (void)snprintf(label, sizeof label, "\"%s_pid\": ", name);
    file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    at = strstr(text, label);
    assert_non_null(at);
    return (pid_t)strtol(at + strlen(label), NULL, 10);
}

/* What it cannot run it does not keep to itself. */
static void
the_store_is_gone(void **state)
{
    granary_worker *worker = worker_new();
    pid_t supervisor = daemon_pid("supervisor");
    char key[GRANARY_KEY_MAX];
    granary_err err = GRANARY_OK;

    (void)state;
    submit(30, key);
    assert_int_equal(granary_worker_poll(worker, GRANARY_FOREVER, 3, NULL), GRANARY_OK);
    assert_int_equal(kill(supervisor, SIGSTOP), 0); /* nobody starts another one */
    assert_int_equal(kill(daemon_pid("store"), SIGKILL), 0);
    for (int i = 0; i < ROUNDS && (err == GRANARY_OK || err == GRANARY_ETIMEDOUT); i++) {
        err = granary_worker_poll(worker, 10, 16, NULL);
    }
    (void)kill(supervisor, SIGCONT);
    assert_int_equal(err, GRANARY_EUNREACHABLE);
    granary_worker_destroy(worker);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_loop_runs_a_graph), cmocka_unit_test(two_in_one_process),
        cmocka_unit_test(workers_in_threads),         cmocka_unit_test(the_scheduler_is_killed),
        cmocka_unit_test(the_store_is_gone),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
