/* granary faults: what GRANARY_FAULT knows. */
#include <stdio.h>

#include "base/fault/rules.h"
#include "cli/command/command.h"
#include "cli/print/listing.h"

static const char *
show_set(char *buffer, unsigned set, const char *(*name)(unsigned bit))
{
    size_t length = 0;

    buffer[0] = '\0';
    for (unsigned bit = 0; bit < 32 && length < SHOW_TEXT; bit++) {
        if ((set >> bit & 1) != 0) {
            length += (size_t)snprintf(buffer + length, SHOW_TEXT - length, "%s%s", length == 0 ? "" : ",", name(bit));
        }
    }
    return buffer;
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

static const char *
fault_processes(const void *row, char buffer[SHOW_TEXT])
{
    return show_set(buffer, ((const struct gr_fault_info *)row)->processes, process_name);
}

static const char *
fault_actions(const void *row, char buffer[SHOW_TEXT])
{
    return show_set(buffer, ((const struct gr_fault_info *)row)->actions, action_name);
}

static const struct column columns[] = {{"point", "", -26, COLUMN(struct gr_fault_info, name)},
                                        {"processes", "", -30, .show = fault_processes},
                                        {"actions", "", -30, .show = fault_actions},
                                        {"text", "", 0, COLUMN(struct gr_fault_info, text)},
                                        {0}};

static int
run_faults(struct cli *cli)
{
    struct listing listing;

    listing_begin(&listing, columns, cli->json);
    for (int i = 0; i < GR_FAULT_POINTS; i++) {
        listing_row(&listing, gr_fault_info((enum gr_fault_point)i));
    }
    listing_end(&listing);
    return 0;
}

const struct command command_faults = {.run = run_faults};
