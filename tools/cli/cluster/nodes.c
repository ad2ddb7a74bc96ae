/* A window of processes: when one ends, or its time is over, the next machine is asked. */
#include "cli/cluster/nodes.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cluster/child.h"

#define ANSWER_MS 5000 /* for each machine */
#define AT_ONCE   128

struct question {
    size_t place;
    pid_t pid; /* 0: none */
    int pidfd, output;
    int64_t deadline_ns;
};

struct asking {
    const struct places *places;
    bool why;
    struct node *nodes;
    size_t next; /* place that was not asked yet */
    struct question questions[AT_ONCE];
};

void
node_hear(struct node *node, char *said, const char *trouble)
{
    node->said = said;
    facts_read(said == NULL ? "" : said, &node->facts);
    if (trouble == NULL && node->facts.version[0] == '\0') {
        trouble = "its answer makes no sense";
    }
    if (trouble == NULL && strcmp(node->facts.version, granary_version()) != 0) {
        (void)snprintf(node->trouble, sizeof node->trouble, "another version than %s, which is here",
                       granary_version());
    } else if (trouble != NULL) {
        (void)snprintf(node->trouble, sizeof node->trouble, "%s", trouble);
    } else if (strcmp(node->facts.store, "none") == 0) {
        (void)snprintf(node->trouble, sizeof node->trouble, "no instance is up: each fragment starts one");
    } else if (strcmp(node->facts.store, "serving") != 0) {
        (void)snprintf(node->trouble, sizeof node->trouble, "its store is %s", node->facts.store);
    } else if (!node->facts.whole) {
        (void)snprintf(node->trouble, sizeof node->trouble, "its scheduler does not answer");
    }
}

static void
begin(struct asking *asking, struct question *question)
{
    struct node *node = &asking->nodes[asking->next];
    struct places_command command;

    (void)snprintf(node->name, sizeof node->name, "%s", asking->places->list[asking->next].name);
    question->place = asking->next++;
    question->deadline_ns = gr_deadline_ns(ANSWER_MS);
    places_look(asking->places, question->place, asking->why ? "--why" : NULL, &command);
    if (child_start(command.argv, &question->pid, &question->pidfd, &question->output) != GRANARY_OK) {
        question->pid = 0;
        node_hear(node, NULL, granary_error_message());
    }
}

/* It has ended, or its time is over. */
static void
finish(struct asking *asking, struct question *question, bool late)
{
    struct node *node = &asking->nodes[question->place];
    struct gr_buf said = {0};
    char message[CHILD_MESSAGE_MAX] = "";
    char trouble[sizeof node->trouble] = "";
    int status = 0;

    if (late) {
        child_kill(question->pid);
        (void)snprintf(trouble, sizeof trouble, "no answer within %d s", ANSWER_MS / 1000);
    } else if (waitpid(question->pid, &status, 0) == question->pid && status != 0) {
        child_message(question->output, message);
        (void)snprintf(trouble, sizeof trouble, "no answer: %.200s",
                       message[0] == '\0' ? "its command has ended with no word" : message);
    }
    (void)child_said(question->output, &said);
    node_hear(node, gr_buf_take(&said), trouble[0] == '\0' ? NULL : trouble);
    gr_fd_close(&question->pidfd);
    gr_fd_close(&question->output);
    question->pid = 0;
}

/* Until any of them has ended, or is late. Returns whether any was asked. */
static bool
wait_for_any(struct asking *asking)
{
    struct pollfd polls[AT_ONCE];
    int64_t first_ns = INT64_MAX;
    nfds_t n = 0;

    for (size_t q = 0; q < AT_ONCE; q++) {
        const struct question *question = &asking->questions[q];

        if (question->pid > 0) {
            polls[n++] = (struct pollfd){.fd = question->pidfd, .events = POLLIN};
            first_ns = question->deadline_ns < first_ns ? question->deadline_ns : first_ns;
        }
    }
    (void)(n > 0 && poll(polls, n, gr_left_ms(first_ns)) > 0);
    for (size_t q = 0; q < AT_ONCE; q++) {
        struct question *question = &asking->questions[q];

        if (question->pid > 0 && gr_pidfd_ended(question->pidfd)) {
            finish(asking, question, false);
        } else if (question->pid > 0 && gr_now_ns() >= question->deadline_ns) {
            finish(asking, question, true);
        }
    }
    return n > 0;
}

granary_err
nodes_ask(const struct places *places, bool why, struct node **ret_nodes)
{
    struct asking *asking = calloc(1, sizeof *asking);
    bool any = true;

    if (asking != NULL) {
        *asking =
            (struct asking){.places = places, .why = why, .nodes = calloc(places->count + 1, sizeof(struct node))};
    }
    if (asking == NULL || asking->nodes == NULL) {
        free(asking);
        return gr_no_memory("nodes");
    }
    while (any) {
        for (size_t q = 0; q < AT_ONCE && asking->next < places->count; q++) {
            if (asking->questions[q].pid == 0) {
                begin(asking, &asking->questions[q]);
            }
        }
        any = wait_for_any(asking) || asking->next < places->count;
    }
    *ret_nodes = asking->nodes;
    free(asking);
    return GRANARY_OK;
}

void
nodes_free(struct node *nodes, size_t count)
{
    for (size_t i = 0; nodes != NULL && i < count; i++) {
        free(nodes[i].said);
    }
    free(nodes);
}
