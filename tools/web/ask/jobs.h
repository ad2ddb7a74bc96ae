/*
 * Questions under way. The thread that serves connections waits for nobody: a question is a job of another thread, and
 * its connection sleeps meanwhile. A job that is not answered in time is answered without its thread, which may hang with
 * the daemon that it asks. Tables of the scheduler have threads of their own, so that the rest is answered then.
 */
#ifndef WEB_JOBS_H
#define WEB_JOBS_H

#include "web/ask/ask.h"

struct jobs;
struct job;

/*
 * wake  called once for each job when its answer is there, with the jobs' lock held: from any thread
 * Errors  ENOENT there is no granary beside this program · ENOMEM
 */
granary_err
jobs_create(const struct gr_instance *instance, int patience_ms, void (*wake)(void *context), struct jobs **ret_jobs);
/* Answers all that is under way: after this nobody sleeps. */
void jobs_stop(struct jobs *jobs);
/* Waits for threads a moment. False: one hangs, and nothing was freed. NULL is fine. */
bool jobs_destroy(struct jobs *jobs);

/* Takes the question, also on failure. Errors: ENOMEM */
granary_err job_create(struct jobs *jobs, struct question *question, void *context, struct job **ret_job);
/* Its connection sleeps now, and is woken in any case. */
void job_start(struct job *job);
/* Whether it is answered; then the answer is given, once. */
bool job_take(struct job *job, struct answer *ret_answer);
/* Its answer is to be saved as a file. */
bool job_saved(const struct job *job);
/* Its connection needs it no more. */
void job_end(struct job *job);
/* Answers those that are late. */
void jobs_expire(struct jobs *jobs);

#endif
