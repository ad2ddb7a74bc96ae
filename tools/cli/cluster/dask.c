/*
 * The driver reads a plan from a socket, and answers by lines. It holds the results until the client here has references to
 * them. It ends when the socket does, so also when this process is killed.
 *
 *     workers N              when it is connected
 *     plan SIZE TIMEOUT_MS   and the plan's text, from here
 *     frame N ID...          for each target, or
 *     tensor DIMS SIDE... N ID...
 *     error CODE MESSAGE     in place of any answer
 */
#include "cli/cluster/dask.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "cli/cluster/child.h"
#include "cli/cluster/slurm/node.h"
#include "granary/hold.h"

#define CHUNKS_MOST  (1 << 24)
#define MESSAGE_MOST 4096
#define NODES_MS     15000 /* for all workers to tell of themselves */

#define PREFIX "dask:"

struct dask {
    pid_t pid;
    FILE *socket;
    size_t workers;
};

const char *
dask_address(const char *on)
{
    return on != NULL && strncmp(on, PREFIX, strlen(PREFIX)) == 0 ? on + strlen(PREFIX) : NULL;
}

/* The directory of the Python package beside this program, in a build or a wheel; "": where Python looks by itself. */
static void
package_path(char path[PATH_MAX])
{
    static const char *const beside[] = {"../python", "../.."};
    char program[PATH_MAX / 2], init[PATH_MAX + 32];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);

    path[0] = '\0';
    if (size <= 0) {
        return;
    }
    program[size] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        (void)snprintf(path, PATH_MAX, "%s/%s", program, beside[i]);
        (void)snprintf(init, sizeof init, "%s/granary/_elsewhere.py", path);
        if (access(init, R_OK) == 0) {
            return;
        }
    }
    path[0] = '\0';
}

/* After fork(). Never returns. */
static void
become_driver(char *const *argv, int fd)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (dup2(fd, STDIN_FILENO) >= 0) {
        (void)execv(argv[0], argv);
    }
    _exit(127);
}

static granary_err
start(struct dask *dask, const struct places_options *options)
{
    static const char code[] = "import sys; sys.path.insert(0, sys.argv[1]) if sys.argv[1] else None; "
                               "from granary._elsewhere import main; main(*sys.argv[2:])";
    char path[PATH_MAX];
    const char *argv[] = {GRANARY_PYTHON,
                          "-c",
                          code,
                          path,
                          dask_address(options->on),
                          options->home == NULL ? "" : options->home,
                          options->session == NULL ? "" : options->session,
                          options->timeline == NULL ? "" : options->timeline,
                          NULL};
    int ends[2];

    package_path(path);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        return gr_fail_errno("socketpair");
    }
    dask->pid = fork();
    if (dask->pid == 0) {
        become_driver((char *const *)(uintptr_t)argv, ends[1]);
    }
    (void)close(ends[1]);
    dask->socket = fdopen(ends[0], "r");
    if (dask->socket == NULL) {
        (void)close(ends[0]);
    }
    return dask->pid < 0 || dask->socket == NULL ? gr_fail_errno("%s", GRANARY_PYTHON) : GRANARY_OK;
}

/* The first word of an answer; the others follow. An error is the driver's, with its message. */
static granary_err
answer(struct dask *dask, char word[16])
{
    char message[MESSAGE_MOST];
    int code;

    if (fscanf(dask->socket, "%15s", word) != 1) {
        return gr_fail(GRANARY_EUNREACHABLE,
                       "the driver of Dask has ended without an answer: %s needs the packages python3-granary and "
                       "python3-distributed",
                       GRANARY_PYTHON);
    }
    if (strcmp(word, "error") != 0) {
        return GRANARY_OK;
    }
    if (fscanf(dask->socket, "%d ", &code) != 1 || fgets(message, sizeof message, dask->socket) == NULL) {
        return gr_fail(GRANARY_EFAILED, "the driver of Dask has failed");
    }
    message[strcspn(message, "\n")] = '\0';
    return gr_fail(code < 0 ? (granary_err)code : GRANARY_EFAILED, "%s", message);
}

granary_err
dask_open(const struct places_options *options, struct dask **ret_dask)
{
    struct dask *dask = calloc(1, sizeof *dask);
    char word[16];
    granary_err err;

    if (dask == NULL) {
        return gr_no_memory("driver");
    }
    err = dask_address(options->on)[0] == '\0'
              ? gr_fail(GRANARY_EINVAL, "--on dask:ADDRESS: which? Name Dask's scheduler, such as dask:tcp://head:8786")
              : start(dask, options);
    if (err == GRANARY_OK) {
        err = answer(dask, word);
    }
    if (err == GRANARY_OK && (strcmp(word, "workers") != 0 || fscanf(dask->socket, "%zu", &dask->workers) != 1)) {
        err = gr_fail(GRANARY_EPROTO, "the driver of Dask has another version");
    }
    if (err != GRANARY_OK) {
        dask_close(dask);
        return err;
    }
    *ret_dask = dask;
    return GRANARY_OK;
}

void
dask_close(struct dask *dask)
{
    if (dask == NULL) {
        return;
    }
    if (dask->socket != NULL) {
        (void)shutdown(fileno(dask->socket), SHUT_RDWR); /* also for who has inherited it */
        (void)fclose(dask->socket);
    }
    if (dask->pid > 0) {
        (void)waitpid(dask->pid, NULL, 0);
    }
    free(dask);
}

size_t
dask_workers(const struct dask *dask)
{
    return dask->workers;
}

/* ---- its nodes ---- */

/* Lines of one worker, to the next "node ". Returns where those begin. */
static const char *
hear_worker(const char *text, struct node *node)
{
    static const char begins[] = "\nnode ", trouble[] = "\ntrouble ";
    const char *end = strstr(text, begins);
    size_t size = end == NULL ? strlen(text) : (size_t)(end - text);
    char *said = strndup(text, size);
    char *reason = said == NULL ? NULL : strstr(said, trouble);

    (void)snprintf(node->name, sizeof node->name, "%.*s", (int)strcspn(text, "\n"), text);
    if (reason != NULL) {
        reason += strlen(trouble);
        reason[strcspn(reason, "\n")] = '\0';
    }
    node_hear(node, said, reason);
    return end == NULL ? text + size : end + strlen(begins);
}

static granary_err
hear_workers(const char *text, struct node **ret_nodes, size_t *ret_count)
{
    static const char first[] = "node ";
    struct node *nodes = NULL;
    size_t count = 0;

    for (const char *at = strncmp(text, first, strlen(first)) == 0 ? text + strlen(first) : ""; *at != '\0'; count++) {
        struct node *more = realloc(nodes, (count + 1) * sizeof *more);

        if (more == NULL) {
            nodes_free(nodes, count);
            return gr_no_memory("nodes");
        }
        nodes = more;
        nodes[count] = (struct node){.fragments = 0};
        at = hear_worker(at, &nodes[count]);
    }
    *ret_nodes = nodes;
    *ret_count = count;
    return GRANARY_OK;
}

/* Have a module of the package ask a cluster; what it says is appended. */
static granary_err
ask_module(const char *module, const char *address, const char *subject, struct gr_buf *ret_said)
{
    static const char code[] = "import importlib, sys; sys.path.insert(0, sys.argv[1]) if sys.argv[1] else None; "
                               "importlib.import_module(sys.argv[2]).main(*sys.argv[3:])";
    char path[PATH_MAX], message[CHILD_MESSAGE_MAX];
    const char *argv[] = {GRANARY_PYTHON, "-c", code, path, module, address, subject, NULL};
    struct pollfd poller = {.fd = -1, .events = POLLIN};
    int output = -1, status = 0;
    pid_t pid;
    granary_err err;

    package_path(path);
    err = child_start(argv, &pid, &poller.fd, &output);
    if (err != GRANARY_OK) {
        return err;
    }
    if (poll(&poller, 1, NODES_MS) == 0) {
        child_kill(pid);
        err = gr_fail(GRANARY_ETIMEDOUT, "Dask's scheduler %.100s does not answer", address);
    } else if (waitpid(pid, &status, 0) == pid && status != 0) {
        child_message(output, message);
        err = gr_fail(GRANARY_EUNREACHABLE, "%s", message);
    }
    err = err == GRANARY_OK ? child_said(output, ret_said) : err;
    gr_fd_close(&poller.fd);
    gr_fd_close(&output);
    return err;
}

granary_err
dask_nodes(const char *address, struct node **ret_nodes, size_t *ret_count)
{
    struct gr_buf said = {0};
    granary_err err = ask_module("granary._nodes", address, NULL, &said);

    err = err == GRANARY_OK ? hear_workers(said.bytes == NULL ? "" : said.bytes, ret_nodes, ret_count) : err;
    gr_buf_free(&said);
    return err;
}

granary_err
dask_why(const char *address, const char *subject, struct gr_buf *ret_said)
{
    return ask_module("granary._why", address, subject, ret_said);
}

/* ---- a plan ---- */

static granary_err
send_all(struct dask *dask, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fileno(dask->socket), bytes, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR) {
            return gr_fail_errno("the driver of Dask");
        }
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return GRANARY_OK;
}

/* A count, and ids, to each of which the client then has a reference. */
static granary_err
take_ids(struct dask *dask, granary_client *client, granary_id **ret_ids, size_t *ret_count)
{
    granary_err err = GRANARY_OK;
    granary_id *ids;
    char text[GRANARY_ID_TEXT + 1];
    size_t count;

    if (fscanf(dask->socket, "%zu", &count) != 1 || count > CHUNKS_MOST) {
        return gr_fail(GRANARY_EPROTO, "the driver of Dask gave no chunks");
    }
    ids = calloc(count + 1, sizeof *ids);
    if (ids == NULL) {
        return gr_no_memory("chunks");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = fscanf(dask->socket, "%32s", text) == 1
                  ? granary_id_parse(text, GRANARY_ID_TEXT, &ids[i])
                  : gr_fail(GRANARY_EPROTO, "the driver of Dask gave %zu chunks of %zu", i, count);
        err = err == GRANARY_OK ? granary_reference(client, ids[i], NULL, NULL) : err;
    }
    *ret_ids = ids;
    *ret_count = count;
    return err;
}

static granary_err
take_target(struct dask *dask, granary_client *client, Granary__Node *node)
{
    int64_t shape[CHUNKS_DIMS] = {0};
    granary_id *ids = NULL;
    size_t count = 0;
    char word[16];
    int dims = -1;
    granary_err err = answer(dask, word);

    if (err == GRANARY_OK && strcmp(word, "tensor") == 0) {
        if (fscanf(dask->socket, "%d", &dims) != 1 || dims < 0 || dims > CHUNKS_DIMS) {
            err = gr_fail(GRANARY_EPROTO, "the driver of Dask gave no shape");
        }
        for (int d = 0; d < dims && err == GRANARY_OK; d++) {
            err = fscanf(dask->socket, "%" SCNd64, &shape[d]) == 1
                      ? GRANARY_OK
                      : gr_fail(GRANARY_EPROTO, "the driver of Dask gave no shape");
        }
    }
    err = err == GRANARY_OK ? take_ids(dask, client, &ids, &count) : err;
    err = err == GRANARY_OK ? node_set_ids(node, ids, count) : err;
    if (err == GRANARY_OK && dims >= 0 && count > 0) {
        err = node_set_tensor(node, client, ids[0], shape, dims);
    }
    free(ids);
    return err;
}

granary_err
dask_run(struct dask *dask, const char *plan, size_t size, int timeout_ms, granary_client *client,
         Granary__Graph *graph)
{
    char head[64];
    granary_err err;

    (void)snprintf(head, sizeof head, "plan %zu %d\n", size, timeout_ms);
    err = send_all(dask, head, strlen(head));
    err = err == GRANARY_OK ? send_all(dask, plan, size) : err;
    for (size_t t = 0; t < graph->n_targets && err == GRANARY_OK; t++) {
        err = take_target(dask, client, graph->nodes[t]);
    }
    return err;
}
