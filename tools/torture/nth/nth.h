/*
 * granary torture nth: one fault at the n-th system call, allocation or message of one process, for n = 1, 2, 3, ...
 * until it does not happen any more. Each n is a trial: a fresh instance, and a scenario as a user would run it. The
 * verdict: it succeeded with the right bytes, or failed with an error that says why. After it the instance serves,
 * and when it is down nothing is left. A *row* is all n of one scenario, process and failure.
 */
#ifndef TORTURE_NTH_H
#define TORTURE_NTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- the fault ---- */

enum nth_process { NTH_CLIENT, NTH_STORE, NTH_SCHED, NTH_EXECUTOR };
extern const char *const nth_process_names[]; /* of options and of GRANARY_FAULT */

struct nth_fault {
    enum nth_process process;
    const char *point;  /* call.any, call.NAME, alloc.any, or another of `granary faults` */
    const char *action; /* kill, errno=NAME, ... */
    bool traced;        /* kill at a system call of anybody's code, libraries included, by ptrace */
    bool sticky;        /* from the n-th on */
    bool messages;      /* of messages: of ours, without the preload library */
};

/*
 * `granary torture nth trace N NOTE PROGRAM ARGUMENT...`: become PROGRAM, watched by a process that kills it, or the
 * one among its descendants, that makes their N-th system call, before that is done, and then writes NOTE.
 */
int nth_trace(int argc, char **argv);

/* ---- scenarios ---- */

struct nth_scenario {
    const char *name;
    const char *summary;
    enum nth_process first, last; /* those that take part */
    const char *memory;           /* of the store */
    bool whole;                   /* an instance with scheduler and executors; else a store */
    const char *const *before;    /* `granary` arguments, done in calm; then the process is killed -9. NULL: none */
    const char *const *work;      /* done under the fault; it must print the same each time */
};

/* The scenario of this name in which the process takes part; NULL: there is none. */
const struct nth_scenario *nth_scenario_find(const char *name, enum nth_process process);
/* The i-th name; NULL: there is none. */
const char *nth_scenario_name(size_t i);
/* One line each. */
void nth_scenarios_print(void);

/* What scenarios read, into a directory. False: said on stderr. */
bool nth_scenario_files(const char *directory);

/* `granary torture nth play NAME`: a program that uses the store through the public API, and looks at every byte. */
int nth_play(int argc, char **argv);
#define NTH_WRONG 70 /* its exit status when a promise was broken */

/* ---- an instance of one's own ---- */

struct nth_instance {
    const char *bin; /* the programs, of which one can be armed */
    const struct nth_scenario *scenario;
    enum nth_process process;
    char directory[96]; /* the trial's: i (the instance), spill, log, out, err, arm, note */
    pid_t store;        /* of an instance that is a store alone, whose supervisor we are; else 0 */
    bool dies, died;    /* the fault kills the store; it has done so */
    bool store_broken;  /* it cannot be started again */
    bool impatient;     /* a message may be lost: who waits for long is interrupted */
    bool may_blame;     /* an error may be the caller's own */
    int store_signal;   /* of which a store died, the last one that did */
    char refusal[512];  /* what a store that did not start again said */
};

/* How a command ended. */
struct nth_end {
    bool hung;
    bool interrupted;   /* it waited for something that was lost */
    int status;         /* of waitpid */
    char message[1024]; /* what it printed to stderr, the last of it */
};

/*
 * A directory with all programs of granary; the one that the fault is for is armed by a file `arm`: its next start
 * takes that away and gets the fault.
 *
 * path  has room for 96 bytes
 */
bool nth_programs_make(const struct nth_fault *fault, char *path);

/* The next start of the process gets the fault at its n-th time. 0: it only counts. */
void nth_arm(const struct nth_instance *instance, uint64_t n);
/* Whether the fault has happened. */
bool nth_fired(const struct nth_instance *instance);
/* How often the process came to where the fault may happen, as far as it could tell. */
uint64_t nth_hits(const struct nth_instance *instance);

bool nth_directory_make(struct nth_instance *instance);
/* Start the instance, or say in end why not. */
bool nth_up(struct nth_instance *instance, struct nth_end *end);
/* Run `granary ARGUMENT...`; its standard output goes to `out`. */
void nth_run(struct nth_instance *instance, const char *const *arguments, bool armed, struct nth_end *ret_end);
/* Kill -9 the process, and have it started again. */
void nth_kill(struct nth_instance *instance);
/* Stop the instance in good order. False: it did not end well; end tells. */
bool nth_down(struct nth_instance *instance, struct nth_end *end);

/*
 * What is still there of an instance that was stopped: processes (which are killed), shared memory, files, one a line.
 * Returns text, cut when it is too long.
 */
const char *nth_leftovers(const struct nth_instance *instance, char *text, size_t size);
/* What the daemons printed that no daemon should: assertions, sanitizers. Returns text, empty when there is none. */
const char *nth_outcries(const struct nth_instance *instance, char *text, size_t size);

/* ---- a trial ---- */

enum nth_kind { NTH_SUCCESS, NTH_ERROR, NTH_KILLED, NTH_WAITED, NTH_KINDS }; /* of outcomes that are no finding */

struct nth_trial {
    uint64_t n;
    uint64_t hits; /* how many n there are, of a calm one */
    bool fired;
    enum nth_kind kind;
    char outcome[512]; /* "success", or how it failed, without what differs from trial to trial */
    char finding[2048];
};

#define NTH_OUTPUT_MOST 4096

/*
 * One trial; n = 0 is a calm one.
 *
 * bin       of nth_programs_make()
 * expected  what the work is to print; filled by the calm one
 */
void nth_try(const struct nth_scenario *scenario, const struct nth_fault *fault, const char *bin, uint64_t n,
             char expected[static NTH_OUTPUT_MOST], struct nth_trial *ret_trial);

/* ---- the report ---- */

#define NTH_OUTCOMES_MOST 256

struct nth_row {
    const char *scenario;
    const char *fail; /* of the option */
    struct nth_fault fault;
    bool json;
    /* so far */
    uint64_t hits, trials, findings, kinds[NTH_KINDS];
    struct nth_outcome {
        char text[512];
        uint64_t count;
    } outcomes[NTH_OUTCOMES_MOST];
    size_t outcome_count;
};

/* A trial has ended: its finding is printed at once, for a run may take hours. */
void nth_row_count(struct nth_row *row, const struct nth_trial *trial);
/* How often which outcome came, up to n. */
void nth_row_print(const struct nth_row *row, uint64_t n);
/* A row of the table at the end, and its head. */
void nth_table_head(FILE *table);
void nth_table_add(FILE *table, const struct nth_row *row);

#endif
