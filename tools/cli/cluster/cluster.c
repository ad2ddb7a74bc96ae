/* granary cluster: the list of what it has. */
#include "cli/cluster/cluster.h"

static const struct command_row cluster_rows[] = {
    {"up", "[SBATCH-OPTION...]", "start an instance on each machine of a job of Slurm",
     "Submit a job to Slurm that holds machines, with a granary instance on each, and wait until they are up. `granary "
     "sql --on slurm` and `granary run --on slurm` use them."
     "\vThe job runs until `granary cluster down`, or until its time is over. Options behind `--` are for sbatch. "
     "docs/cluster.md tells more.\n\n"
     "Example:\n"
     "  granary cluster up --help",
     &cluster_up},
    {"status", "", "which machines are up, and what they have done",
     "Show the job, and which of its machines are up: version, memory, and how many fragments each has run.",
     &cluster_status},
    {"down", "", "end the job, and remove what it had", "End the job, wait until it is gone, and remove its directory.",
     &cluster_down},
    {"fragment", "PLAN STAGE PARTITION", "run one fragment of a plan on this machine",
     "Run one fragment of a plan on this machine, and leave its results as files in a directory."
     "\vPLAN is what `granary sql --fragments N` prints. The directory has the results of the stages before, as other "
     "machines left them. Nothing runs when the results are there, whole and undamaged. Without an instance that is "
     "up, "
     "a private one is started and ends with the command.\n\n"
     "Example:\n"
     "  granary cluster fragment --help",
     &cluster_fragment},
    {"node", "", "be a machine of the job; `granary cluster up` has it run",
     "Hold an instance on this machine, as a step of the job that `granary cluster up` submits.", &cluster_node},
    {0}};

const struct command command_cluster = {.rows = cluster_rows, .which = "which one?"};
