/* granary cluster: the list of what it has. */
#include "cli/cluster/cluster.h"

static const struct command_row cluster_rows[] = {
    {"fragment", "PLAN STAGE PARTITION", "run one fragment of a plan on this machine",
     "Run one fragment of a plan on this machine, and leave its results as files in a directory."
     "\vPLAN is what `granary sql --fragments N` prints. The directory has the results of the stages before, as other "
     "machines left them. Nothing runs when the results are there, whole and undamaged. Without an instance that is "
     "up, "
     "a private one is started and ends with the command.\n\n"
     "Example:\n"
     "  granary cluster fragment --help",
     &cluster_fragment},
    {0}};

const struct command command_cluster = {.rows = cluster_rows, .which = "which one?"};
