#include "drive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"

static bool
process_of(void *context, int64_t pid, struct host_process *ret_process)
{
    const struct rig *rig = context;

    *ret_process = (struct host_process){.rss_bytes = 4096, .started_ms = 5, .has_page = pid == rig->page.pid};
    ret_process->page = rig->page;
    return true;
}

void
rig_turn(struct rig *rig)
{
    struct action *actions;
    size_t count;

    manager_dispatch(rig->manager, rig->now_ns);
    actions = manager_actions(rig->manager, &count);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = (const uint8_t *)actions[i].bytes.bytes;

        if (actions[i].kind == ACTION_CANCEL) {
            rig->asked_to_stop = actions[i].executor;
        } else if (actions[i].kind == ACTION_SEND) {
            Granary__ToExecutor *order = granary__to_executor__unpack(NULL, actions[i].bytes.size, bytes);

            for (size_t k = 0; k < order->n_run; k++) {
                struct given *given = &rig->given[rig->count++];

                *given = (struct given){actions[i].executor, order->run[k]->number, order->run[k]->attempt, {{0}}};
                if (order->run[k]->ops[0]->n_outputs > 0) {
                    memcpy(given->output.bytes, order->run[k]->ops[0]->outputs[0].data, 16);
                }
            }
            granary__to_executor__free_unpacked(order, NULL);
        } else if (actions[i].kind == ACTION_REPLY) {
            if (rig->reply != NULL) {
                granary__reply__free_unpacked(rig->reply, NULL);
            }
            rig->answered = actions[i].ticket;
            rig->reply = granary__reply__unpack(NULL, actions[i].bytes.size, bytes);
            assert_non_null(rig->reply);
        }
    }
    manager_actions_done(rig->manager, count);
}

struct rig *
rig_create(uint32_t executors, uint64_t memory_bytes)
{
    struct rig *rig = calloc(1, sizeof *rig);
    const struct resource_amount gpu = {.name = "gpu", .amount = 1};
    const struct manager_options options = {.memory_bytes = memory_bytes,
                                            .resources = &gpu,
                                            .resource_count = 1,
                                            .unix_offset_ns = DRIVE_UNIX_NS,
                                            .host = {.context = rig, .process = process_of}};

    rig->manager = manager_create(&options);
    for (uint32_t i = 1; i <= executors; i++) {
        manager_executor_joined(rig->manager, i, (int32_t)(i % 2), 1000 + i);
    }
    rig->now_ns = 1000000;
    return rig;
}

void
rig_destroy(struct rig *rig)
{
    if (rig->reply != NULL) {
        granary__reply__free_unpacked(rig->reply, NULL);
    }
    manager_destroy(rig->manager);
    free(rig);
}

void
rig_submit(struct rig *rig, const char *key, const char *const *lines, size_t count)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Submit body = GRANARY__SUBMIT__INIT;

    body.key = (char *)(uintptr_t)key;
    body.session = (char *)(uintptr_t) "s";
    body.recall = 1; /* the same again is computed again */
    body.graph = build_graph(lines, count);
    message.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    message.submit = &body;
    manager_request(rig->manager, ++rig->ticket, &message, rig->now_ns);
    rig_turn(rig);
    assert_int_equal(rig->reply->err, GRANARY_OK);
}

void
rig_report(struct rig *rig, granary_err err)
{
    struct given given = rig->given[0];
    Granary__Done done = GRANARY__DONE__INIT;
    Granary__Output output = GRANARY__OUTPUT__INIT;
    Granary__Output *outputs[] = {&output};

    assert_true(rig->count > 0);
    memmove(rig->given, rig->given + 1, --rig->count * sizeof given);
    done.number = given.number;
    done.attempt = given.attempt;
    done.err = err;
    done.message = (char *)(uintptr_t)(err == GRANARY_OK ? "" : "as told");
    done.started_ns = rig->now_ns + 1000000;
    done.nanoseconds = 10000000;
    done.lease_ns = 1000;
    done.in_bytes = 7;
    output.id = (ProtobufCBinaryData){.len = 16, .data = given.output.bytes};
    output.rows = 10;
    output.bytes = 100;
    done.n_outputs = err == GRANARY_OK;
    done.outputs = outputs;
    rig->now_ns += 11000000;
    manager_done(rig->manager, given.executor, &done);
    rig_turn(rig);
}
