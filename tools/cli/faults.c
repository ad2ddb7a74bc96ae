/* granary faults: what GRANARY_FAULT knows. */
#include <stdio.h>

#include "base/fault/rules.h"
#include "cli/command/arguments.h"
#include "cli/print/json.h"

static void
print_set(char *buffer, size_t size, unsigned set, const char *(*name)(unsigned bit))
{
    size_t length = 0;

    buffer[0] = '\0';
    for (unsigned bit = 0; bit < 32 && length < size; bit++) {
        if ((set >> bit & 1) != 0) {
            length += (size_t)snprintf(buffer + length, size - length, "%s%s", length == 0 ? "" : ",", name(bit));
        }
    }
}

static const char *
process_name(unsigned bit)
{
    return gr_fault_process_name((enum gr_fault_process)(1u << bit));
}

static const char *
action_name(unsigned bit)
{
    return gr_fault_action_name((enum gr_fault_action)bit);
}

int
command_faults(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .doc =
            "List the points where a process can be made to fail.\v"
            "GRANARY_FAULT=\"[PROCESS/]POINT:ACTION@WHEN[;...]\" in a process's environment asks for faults. POINT is "
            "one "
            "of "
            "these, or `any`: each of them that knows the action, `call.*` and `alloc.*` apart; `call.any` is each "
            "system "
            "call. ACTION is kill, delay=DURATION, errno=NAME, short, corrupt or drop. WHEN is N, the N-th time in a "
            "process; N+, from then on; or N%, each time with that probability (GRANARY_FAULT_SEED). With "
            "GRANARY_FAULT_NOTE=FILE only the first process whose fault is due has it, and tells so in FILE; FILE.hits "
            "tells how often each process came to which point."};
    struct json json = {0};

    (void)arguments_read(&arguments, NULL, cli, argc, argv);
    if (cli->json) {
        json_open(&json, NULL, '[');
    }
    for (int i = 0; i < GR_FAULT_POINTS; i++) {
        const struct gr_fault_info *info = gr_fault_info((enum gr_fault_point)i);
        char processes[64], actions[64];

        print_set(processes, sizeof processes, info->processes, process_name);
        print_set(actions, sizeof actions, info->actions, action_name);
        if (cli->json) {
            json_open(&json, NULL, '{');
            json_text(&json, "point", info->name);
            json_text(&json, "processes", processes);
            json_text(&json, "actions", actions);
            json_text(&json, "text", info->text);
            json_close(&json);
        } else {
            (void)printf("%-27s %-31s %-31s %s\n", info->name, processes, actions, info->text);
        }
    }
    if (cli->json) {
        json_close(&json);
    }
    return 0;
}
