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
    {"status", "", "which machines are up, and what they have and do",
     "Ask all machines at once, and print a row for each: version, executors, memory that is there, used and spilled, "
     "executors at work, objects, running fragments, and its load."
     "\vWithout --on these are the machines of the pilot job, and of runs that go on here. A machine that does not "
     "answer within 5 s has a row that says so. With --json, `fragments` counts what a pilot job's machine has run.\n\n"
     "Example:\n"
     "  granary cluster status --help",
     &cluster_status},
    {"top", "", "the same, again and again",
     "Show what `granary cluster status` tells, again and again. The key q ends it.", &cluster_top},
    {"why", "[STAGE | PLAN | RUN]", "what a run on several machines waits for, and what slows it",
     "Explain what runs on several machines wait for: which fragments run where and since when, which wait for a "
     "machine "
     "or for others, and what failed and was tried again."
     "\vA driver tells in its directory what it does. So this works from another terminal, with --directory from "
     "another "
     "machine, and after the driver was killed. Machines are asked what their fragments wait for.\n\n"
     "Example:\n"
     "  granary cluster why --help",
     &cluster_why},
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
    {"look", "", "what this machine has and does, as lines; `granary cluster status` has it run",
     "Print what this machine and its instance have, and what they are at, as lines.", &cluster_look},
    {"node", "", "be a machine of the job; `granary cluster up` has it run",
     "Hold an instance on this machine, as a step of the job that `granary cluster up` submits.", &cluster_node},
    {0}};

const struct command command_cluster = {.rows = cluster_rows, .which = "which one?"};
