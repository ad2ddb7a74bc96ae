/* Two queues with their threads. A job belongs to its connection and to its queue or thread: who lets go last frees it. */
#include "web/ask/jobs.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/instance/supervisor/daemons.h"

#define TABLE_THREADS   2
#define COMMAND_THREADS 3
#define WAITING_MAX     256
#define END_MS          1000

enum queue_kind { QUEUE_TABLES, QUEUE_COMMANDS, QUEUES };

struct job {
    struct jobs *jobs;
    struct question question;
    struct answer answer;
    void *context;
    int64_t deadline_ns;
    bool answered;
    int holders;
    struct job *next;          /* in its queue */
    struct job *newer, *older; /* of all that are not answered */
};

struct queue {
    struct job *first, **last;
    size_t count;
    pthread_cond_t filled;
};

struct jobs {
    struct gr_instance instance;
    char program[PATH_MAX];
    int patience_ms;
    void (*wake)(void *context);
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct queue queues[QUEUES];
    struct job *open; /* not answered, the newest first */
    int threads;
    bool stopping;
};

static void
let_go(struct job *job)
{
    if (--job->holders == 0) {
        question_fini(&job->question);
        free(job->answer.body);
        free(job);
    }
}

/* With the lock. */
static void
give_answer(struct jobs *jobs, struct job *job, struct answer answer)
{
    if (job->answered) {
        free(answer.body); /* it was late */
        return;
    }
    job->answered = true;
    job->answer = answer;
    *(job->newer != NULL ? &job->newer->older : &jobs->open) = job->older;
    if (job->older != NULL) {
        job->older->newer = job->newer;
    }
    jobs->wake(job->context);
}

/* With the lock. NULL: the end. */
static struct job *
next_job(struct jobs *jobs, struct queue *queue)
{
    struct job *job;

    while (queue->first == NULL && !jobs->stopping) {
        (void)pthread_cond_wait(&queue->filled, &jobs->lock);
    }
    job = jobs->stopping ? NULL : queue->first;
    if (job != NULL) {
        queue->first = job->next;
        queue->last = queue->first == NULL ? &queue->first : queue->last;
        queue->count--;
    }
    return job;
}

static void
work(struct jobs *jobs, enum queue_kind kind)
{
    granary_client *client = NULL;
    struct job *job;

    (void)pthread_mutex_lock(&jobs->lock);
    while ((job = next_job(jobs, &jobs->queues[kind])) != NULL) {
        if (!job->answered) {
            struct answer answer;

            (void)pthread_mutex_unlock(&jobs->lock);
            answer = kind == QUEUE_TABLES
                         ? ask_table(&jobs->instance, &client, &job->question)
                         : ask_command(&jobs->instance, jobs->program, &job->question, job->deadline_ns);
            (void)pthread_mutex_lock(&jobs->lock);
            give_answer(jobs, job, answer);
        }
        let_go(job);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    granary_disconnect(client);
    (void)pthread_mutex_lock(&jobs->lock);
    jobs->threads--;
    (void)pthread_cond_broadcast(&jobs->ended);
    (void)pthread_mutex_unlock(&jobs->lock);
}

static void *
work_tables(void *jobs)
{
    work(jobs, QUEUE_TABLES);
    return NULL;
}

static void *
work_commands(void *jobs)
{
    work(jobs, QUEUE_COMMANDS);
    return NULL;
}

static granary_err
start_threads(struct jobs *jobs)
{
    for (int i = 0; i < TABLE_THREADS + COMMAND_THREADS; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, i < TABLE_THREADS ? work_tables : work_commands, jobs) != 0) {
            return gr_fail(GRANARY_ENOMEM, "no resources for a thread");
        }
        (void)pthread_detach(thread);
        (void)pthread_mutex_lock(&jobs->lock);
        jobs->threads++;
        (void)pthread_mutex_unlock(&jobs->lock);
    }
    return GRANARY_OK;
}

granary_err
jobs_create(const struct gr_instance *instance, int patience_ms, void (*wake)(void *context), struct jobs **ret_jobs)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    granary_err err = jobs == NULL ? gr_no_memory("questions") : daemon_program("granary", jobs->program);

    if (err != GRANARY_OK) {
        free(jobs);
        return err;
    }
    jobs->instance = *instance;
    jobs->patience_ms = patience_ms;
    jobs->wake = wake;
    (void)pthread_mutex_init(&jobs->lock, NULL);
    (void)pthread_cond_init(&jobs->ended, NULL);
    for (size_t i = 0; i < QUEUES; i++) {
        jobs->queues[i].last = &jobs->queues[i].first;
        (void)pthread_cond_init(&jobs->queues[i].filled, NULL);
    }
    err = start_threads(jobs);
    if (err != GRANARY_OK) {
        jobs_stop(jobs);
        (void)jobs_destroy(jobs);
        return err;
    }
    *ret_jobs = jobs;
    return GRANARY_OK;
}

void
jobs_stop(struct jobs *jobs)
{
    (void)pthread_mutex_lock(&jobs->lock);
    jobs->stopping = true;
    while (jobs->open != NULL) {
        give_answer(jobs, jobs->open, answer_message(503, "the page's server ends"));
    }
    for (size_t i = 0; i < QUEUES; i++) {
        struct job *job = jobs->queues[i].first;

        while (job != NULL) {
            struct job *next = job->next;

            let_go(job);
            job = next;
        }
        jobs->queues[i].first = NULL;
        (void)pthread_cond_broadcast(&jobs->queues[i].filled);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
}

bool
jobs_destroy(struct jobs *jobs)
{
    int64_t deadline_ns = gr_deadline_ns(END_MS);
    bool ended;

    if (jobs == NULL) {
        return true;
    }
    (void)pthread_mutex_lock(&jobs->lock);
    while (jobs->threads > 0 && gr_now_ns() < deadline_ns) {
        (void)gr_cond_wait_ns(&jobs->ended, &jobs->lock, deadline_ns);
    }
    ended = jobs->threads == 0;
    (void)pthread_mutex_unlock(&jobs->lock);
    if (ended) {
        for (size_t i = 0; i < QUEUES; i++) {
            (void)pthread_cond_destroy(&jobs->queues[i].filled);
        }
        (void)pthread_cond_destroy(&jobs->ended);
        (void)pthread_mutex_destroy(&jobs->lock);
        free(jobs);
    }
    return ended;
}

granary_err
job_create(struct jobs *jobs, struct question *question, void *context, struct job **ret_job)
{
    struct job *job = calloc(1, sizeof *job);

    if (job == NULL) {
        question_fini(question);
        return gr_no_memory("a question");
    }
    *job = (struct job){.jobs = jobs,
                        .question = *question,
                        .context = context,
                        .deadline_ns = gr_deadline_ns(jobs->patience_ms),
                        .holders = 1};
    *ret_job = job;
    return GRANARY_OK;
}

void
job_start(struct job *job)
{
    struct jobs *jobs = job->jobs;
    struct queue *queue = &jobs->queues[job->question.row->words == NULL ? QUEUE_TABLES : QUEUE_COMMANDS];

    (void)pthread_mutex_lock(&jobs->lock);
    job->older = jobs->open;
    if (jobs->open != NULL) {
        jobs->open->newer = job;
    }
    jobs->open = job;
    if (jobs->stopping || queue->count == WAITING_MAX) {
        give_answer(jobs, job, answer_message(503, "too many questions wait: ask again in a moment"));
    } else {
        job->holders++;
        *queue->last = job;
        queue->last = &job->next;
        queue->count++;
        (void)pthread_cond_signal(&queue->filled);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
}

bool
job_take(struct job *job, struct answer *ret_answer)
{
    bool answered;

    (void)pthread_mutex_lock(&job->jobs->lock);
    answered = job->answered;
    if (answered) {
        *ret_answer = job->answer;
        job->answer.body = NULL;
    }
    (void)pthread_mutex_unlock(&job->jobs->lock);
    return answered;
}

bool
job_saved(const struct job *job)
{
    return job->question.row->form == QUESTION_RAW;
}

void
job_end(struct job *job)
{
    struct jobs *jobs = job->jobs;

    (void)pthread_mutex_lock(&jobs->lock);
    let_go(job);
    (void)pthread_mutex_unlock(&jobs->lock);
}

void
jobs_expire(struct jobs *jobs)
{
    int64_t now_ns = gr_now_ns();

    (void)pthread_mutex_lock(&jobs->lock);
    for (struct job *job = jobs->open, *older; job != NULL; job = older) {
        older = job->older;
        if (now_ns > job->deadline_ns) {
            give_answer(jobs, job, answer_message(504, "no answer came in time: what is asked hangs, or is too much"));
        }
    }
    (void)pthread_mutex_unlock(&jobs->lock);
}
