/* The clients of a run: they submit graphs, wait for them, and hear what became of them. */
#include "simulate/world_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "contract/versions.h"

static void
graph_over(struct world *world, uint32_t graph, const Granary__Reply *reply)
{
    struct world_report *report = world->report;

    if (world->ended[graph]) {
        return;
    }
    world->ended[graph] = true;
    world_trace(world, "graph g%u ends: %s %s", graph, granary_error_name((granary_err)reply->err), reply->message);
    if (reply->err != GRANARY_OK) {
        (void)snprintf(report->reason, sizeof report->reason, "%s", reply->message);
    }
    if (reply->status == NULL) {
        report->refused++;
    } else if (reply->status->state == GRANARY_GRAPH_SUCCEEDED) {
        report->succeeded++;
    } else {
        report->failed++;
    }
    report->makespan_ns = world->now_ns;
}

static void
ask(struct world *world, uint64_t ticket, Granary__Request *request)
{
    request->version = GR_WIRE_OLDEST;
    manager_request(world->manager, ticket, request, world->now_ns);
}

void
client_waits(struct world *world, uint32_t graph)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphWait wait = GRANARY__GRAPH_WAIT__INIT;
    char key[16];

    (void)snprintf(key, sizeof key, "g%u", graph);
    wait.key = key;
    wait.timeout_ms = -1;
    request.body_case = GRANARY__REQUEST__BODY_WAIT;
    request.wait = &wait;
    ask(world, graph, &request);
}

void
client_hears(struct world *world, const struct action *action)
{
    Granary__Reply *reply = granary__reply__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);
    uint32_t graph = (uint32_t)(action->ticket % SUBMIT_TICKET);

    if (reply != NULL && action->ticket < SUBMIT_TICKET) {
        graph_over(world, graph, reply);
    } else if (reply != NULL && action->ticket < 2 * SUBMIT_TICKET && reply->err != GRANARY_OK) {
        graph_over(world, graph, reply);
    } else if (reply != NULL && action->ticket < 2 * SUBMIT_TICKET && !world->accepted[graph]) {
        world->accepted[graph] = true;
        client_waits(world, graph);
    }
    granary__reply__free_unpacked(reply, NULL);
}

void
client_submits(struct world *world, uint32_t graph)
{
    const struct world_graph *of = &world->options->graphs[graph];
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Submit message = GRANARY__SUBMIT__INIT;
    char key[16];
    char session[16];

    (void)snprintf(key, sizeof key, "g%u", graph);
    (void)snprintf(session, sizeof session, "s%u", of->session);
    message.key = key;
    message.session = session;
    message.directory = (char *)(uintptr_t)(world->options->directory != NULL ? world->options->directory : "/");
    message.priority = of->priority;
    message.deadline_ms = of->deadline_ms > 0 ? START_MS + of->deadline_ms : 0;
    message.graph = world_make_graph(world->options, graph);
    if (message.graph == NULL) {
        abort();
    }
    request.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    request.submit = &message;
    world->submitted[graph] = true;
    world_trace(world, "graph g%u of session s%u (weight %u): %s", graph, of->session,
                world->options->weights[of->session], "submitted");
    ask(world, SUBMIT_TICKET + graph, &request);
    granary__graph__free_unpacked(message.graph, NULL);
}

void
client_sets_weights(struct world *world)
{
    for (uint32_t i = 0; i < world->options->sessions; i++) {
        Granary__Request request = GRANARY__REQUEST__INIT;
        Granary__SessionSet set = GRANARY__SESSION_SET__INIT;
        char session[16];

        (void)snprintf(session, sizeof session, "s%u", i);
        set.session = session;
        set.weight = world->options->weights[i];
        request.body_case = GRANARY__REQUEST__BODY_SESSION;
        request.session = &set;
        ask(world, 2 * SUBMIT_TICKET, &request);
    }
}
