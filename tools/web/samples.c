/* A ring. The inspector is opened anew whenever it can read nothing: another store has other files. */
#include "web/samples.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process/executor_page.h"

struct samples {
    struct gr_instance instance;
    granary_inspector *inspector;
    pthread_mutex_t lock; /* of the ring */
    struct sample ring[SAMPLES_KEPT];
    size_t count;
};

granary_err
samples_create(const struct gr_instance *instance, struct samples **ret_samples)
{
    struct samples *samples = calloc(1, sizeof *samples);

    if (samples == NULL) {
        return gr_no_memory("samples");
    }
    samples->instance = *instance;
    (void)pthread_mutex_init(&samples->lock, NULL);
    *ret_samples = samples;
    return GRANARY_OK;
}

void
samples_destroy(struct samples *samples)
{
    if (samples != NULL) {
        granary_inspect_close(samples->inspector);
        (void)pthread_mutex_destroy(&samples->lock);
        free(samples);
    }
}

static void
add_session(struct sample *sample, const granary_store_stat *stat)
{
    sample->up = 1;
    sample->capacity_bytes = (int64_t)stat->capacity_bytes; /* the account is the store's, in each of them */
    sample->free_bytes = (int64_t)stat->free_bytes;
    sample->reserved_bytes = (int64_t)stat->reserved_bytes;
    sample->writing_bytes = (int64_t)stat->writing_bytes;
    sample->sealed_bytes = (int64_t)stat->sealed_bytes;
    sample->retiring_bytes = (int64_t)stat->retiring_bytes;
    sample->pooled_bytes = (int64_t)stat->pooled_bytes;
    sample->spilled_bytes = (int64_t)stat->spilled_bytes;
    sample->disk_bytes = (int64_t)stat->disk_bytes;
    sample->objects = (int64_t)stat->objects;
    sample->objects_spilled = (int64_t)stat->objects_spilled;
    sample->clients = (int64_t)stat->clients;
    sample->seals += (int64_t)stat->seals;
    sample->deletes += (int64_t)stat->deletes;
    sample->spills += (int64_t)stat->spills;
    sample->spill_raw += (int64_t)stat->spill_raw;
    sample->restores += (int64_t)stat->restores;
    sample->restore_raw += (int64_t)stat->restore_raw;
}

static void
add_store(struct samples *samples, struct sample *sample, granary_instance_info *info)
{
    granary_inspect_session_info *sessions = NULL;
    granary_store_stat stat;
    size_t count = 0;

    if (samples->inspector == NULL &&
        granary_inspect_open(samples->instance.runtime, &samples->inspector) != GRANARY_OK) {
        return;
    }
    if (granary_inspect_instance(samples->inspector, info) == GRANARY_OK &&
        granary_inspect_sessions(samples->inspector, &sessions, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            if (granary_inspect_stat(samples->inspector, sessions[i].number, &stat) == GRANARY_OK) {
                add_session(sample, &stat);
            }
        }
    }
    free(sessions);
    if (sample->up == 0) {
        granary_inspect_close(samples->inspector);
        samples->inspector = NULL;
    }
}

static void
add_executors(const struct samples *samples, struct sample *sample)
{
    struct gr_executor_state *pages = NULL;
    size_t count = 0;

    if (gr_executor_pages_read(samples->instance.runtime, &pages, &count) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bool lives = gr_process_start_time((pid_t)pages[i].pid) == pages[i].start_time;

        sample->executors += lives;
        sample->busy += lives && pages[i].subtask != 0;
        sample->done += (int64_t)pages[i].done;
    }
    free(pages);
}

struct sample
samples_take(struct samples *samples, granary_instance_info *ret_info)
{
    struct sample sample = {.at_ms = gr_wall_ms()};

    *ret_info = (granary_instance_info){.life = GRANARY_STORE_UNKNOWN};
    add_store(samples, &sample, ret_info);
    add_executors(samples, &sample);
    (void)pthread_mutex_lock(&samples->lock);
    samples->ring[samples->count++ % SAMPLES_KEPT] = sample;
    (void)pthread_mutex_unlock(&samples->lock);
    return sample;
}

void
sample_write(FILE *out, const struct sample *sample)
{
    char sign = '[';

#define SAMPLE(name)                                                                                                   \
    (void)fprintf(out, "%c%" PRId64, sign, sample->name);                                                              \
    sign = ',';
#include "web/samples.def"
#undef SAMPLE
    (void)fputc(']', out);
}

void
samples_write(struct samples *samples, FILE *out)
{
    const char *sign = "";

    (void)fputs("{\"fields\": [", out);
#define SAMPLE(name)                                                                                                   \
    (void)fprintf(out, "%s\"" #name "\"", sign);                                                                       \
    sign = ", ";
#include "web/samples.def"
#undef SAMPLE
    (void)fputs("],\n\"rows\": [", out);
    (void)pthread_mutex_lock(&samples->lock);
    for (size_t i = samples->count < SAMPLES_KEPT ? 0 : samples->count - SAMPLES_KEPT; i < samples->count; i++) {
        sample_write(out, &samples->ring[i % SAMPLES_KEPT]);
        (void)fputs(i + 1 < samples->count ? ",\n" : "", out);
    }
    (void)pthread_mutex_unlock(&samples->lock);
    (void)fputs("]}\n", out);
}
