/*
 * fake_executor POOL-SOCKET NODE: an executor for the scheduler's tests, which registers and answers subtasks without
 * doing anything.
 *
 * What it does with a subtask is told by the name of its node: "crash..." it kills itself; "fail..." EFAILED; "full..."
 * EFULL on the first two attempts; "hang..." it never answers; "lose..." on the first attempt its inputs are reported
 * lost; "part..." it answers, closes its connection, and connects anew when SIGUSR1 comes. It serves until the scheduler says die or it is killed; it ends with 1 when it could not register in 5 s.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "message/zmq.h"
#include "schema/granary.pb-c.h"

static void
send_message(struct gr_zmq_socket *socket, Granary__FromExecutor *message)
{
    size_t size = granary__from_executor__get_packed_size(message);
    uint8_t *bytes = malloc(size + 1);

    (void)granary__from_executor__pack(message, bytes);
    (void)gr_zmq_send(socket, NULL, bytes, size);
    free(bytes);
}

static void
send_register(struct gr_zmq_socket *socket, int node)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    Granary__Register hello = GRANARY__REGISTER__INIT;

    hello.pid = getpid();
    hello.start_time = gr_process_start_time(getpid());
    hello.node = node;
    message.version = GRANARY__VERSION__PROTOCOL;
    message.register_ = &hello;
    send_message(socket, &message);
}

static bool
named(const Granary__Subtask *subtask, const char *prefix)
{
    return strncmp(subtask->ops[0]->node, prefix, strlen(prefix)) == 0;
}

/* false: no answer */
static bool
work(const Granary__Subtask *subtask, Granary__Done *done)
{
    const Granary__ChunkOp *op = subtask->ops[0];

    done->number = subtask->number;
    done->attempt = subtask->attempt;
    done->nanoseconds = 1000;
    if (named(subtask, "hang")) {
        return false;
    }
    if (named(subtask, "crash")) {
        (void)kill(getpid(), SIGKILL);
    }
    if (named(subtask, "fail")) {
        done->err = GRANARY_EFAILED;
        done->message = (char *)(uintptr_t) "made to fail";
        done->node = op->node;
    } else if (named(subtask, "full") && subtask->attempt == 1) {
        done->err = GRANARY_EFULL;
        done->message = (char *)(uintptr_t) "no room";
    } else if (named(subtask, "lose") && subtask->attempt == 1) {
        done->err = GRANARY_ENOENT;
        done->lost = calloc(op->n_inputs + 1, sizeof *done->lost);
        for (size_t i = 0; i < op->n_inputs; i++) {
            done->lost[done->n_lost++] = op->inputs[i]->object;
        }
    } else {
        done->outputs = calloc(op->n_outputs + 1, sizeof *done->outputs);
        for (size_t i = 0; i < op->n_outputs; i++) {
            Granary__Output *output = malloc(sizeof *output);

            granary__output__init(output);
            output->id = op->outputs[i];
            output->bytes = 100;
            output->rows = 10;
            done->outputs[done->n_outputs++] = output;
        }
    }
    return true;
}

static void
run_batch(struct gr_zmq_socket *socket, const Granary__ToExecutor *order)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    Granary__Done *done = calloc(order->n_run + 1, sizeof *done);

    message.version = GRANARY__VERSION__PROTOCOL;
    message.done = calloc(order->n_run + 1, sizeof *message.done);
    for (size_t i = 0; i < order->n_run; i++) {
        granary__done__init(&done[i]);
        if (work(order->run[i], &done[i])) {
            message.done[message.n_done++] = &done[i];
        }
    }
    if (message.n_done > 0) {
        send_message(socket, &message);
    }
    for (size_t i = 0; i < order->n_run; i++) {
        for (size_t k = 0; k < done[i].n_outputs; k++) {
            free(done[i].outputs[k]);
        }
        free(done[i].outputs);
        free(done[i].lost);
    }
    free(done);
    free(message.done);
}

static int
run(const char *pool_socket, int node)
{
    sigset_t again;
    struct gr_zmq_context *context = gr_zmq_context_create(1);
    granary_err err;
    struct gr_zmq_socket *socket = gr_zmq_dealer(context, pool_socket, &err);
    struct gr_zmq_message message;
    bool registered = false;
    bool die = false;

    (void)sigemptyset(&again);
    (void)sigaddset(&again, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &again, NULL);
    send_register(socket, node);
    while (!die && (gr_zmq_wait(&socket, 1, NULL, NULL, 0, registered ? -1 : 5000) || registered)) {
        while (gr_zmq_receive(socket, &message)) {
            Granary__ToExecutor *order = granary__to_executor__unpack(NULL, message.size, message.bytes);

            registered = registered || order->registered != 0;
            die = die || order->die;
            run_batch(socket, order);
            if (order->n_run > 0 && named(order->run[0], "part")) {
                gr_zmq_close(socket);
                (void)sigwaitinfo(&again, NULL);
                socket = gr_zmq_dealer(context, pool_socket, &err);
                send_register(socket, node);
            }
            granary__to_executor__free_unpacked(order, NULL);
            gr_zmq_message_free(&message);
        }
    }
    gr_zmq_close(socket);
    gr_zmq_context_destroy(context);
    return registered ? 0 : 1;
}

int
main(int argc, char **argv)
{
    return argc == 3 ? run(argv[1], (int)strtol(argv[2], NULL, 10)) : 2;
}
