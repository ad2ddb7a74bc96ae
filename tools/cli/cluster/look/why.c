/*
 * granary cluster why: what a run on several machines waits for, and what slows it. All is read off what its driver has
 * left (record.h) and its plan; machines on which fragments run are asked for the rest.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/dask.h"
#include "cli/cluster/drive.h"
#include "cli/cluster/look/fact.h"
#include "cli/cluster/look/why_dask.h"
#include "cli/cluster/nodes.h"
#include "cli/cluster/where.h"

#define NAMED_MOST 5 /* partitions in one sentence */

struct why {
    struct where where;
    const char *subject; /* a stage, a plan or a run; NULL: all */
    const struct cli *cli;
    struct json json;
    const struct record_view *run; /* that is told of */
    bool *meant;                   /* its stages that are */
    struct node *nodes;            /* of its places, when they were asked */
};

static void __attribute__((format(printf, 3, 4)))
fact(struct why *why, const struct about *about, const char *format, ...)
{
    char sentence[SHOW_TEXT];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    fact_print(why->cli->json ? &why->json : NULL, about, sentence);
}

/* ---- what is known of fragments ---- */

static const struct record_fragment *
fragment_of(const struct why *why, size_t stage, uint32_t partition)
{
    return &why->run->fragments[why->run->first[stage] + partition];
}

static const char *
place_name(const struct why *why, size_t place)
{
    return why->run->places.list[place].name;
}

static uint32_t
count_done(const struct why *why, size_t stage)
{
    uint32_t done = 0;

    for (uint32_t p = 0; p < why->run->plan->stages[stage].partitions; p++) {
        done += fragment_of(why, stage, p)->done;
    }
    return done;
}

static bool
is_done(const struct why *why, size_t stage)
{
    return count_done(why, stage) == why->run->plan->stages[stage].partitions;
}

/* Whether all that it reads is there: as the driver sees it (drive.c). */
static bool
is_ready(const struct why *why, size_t stage, uint32_t partition)
{
    const struct gr_cutplan_stage *at = &why->run->plan->stages[stage];

    for (size_t i = 0; i < at->input_count; i++) {
        size_t from = at->inputs[i].stage;

        if (at->inputs[i].take == GR_PLAN_SAME ? !fragment_of(why, from, partition)->done : !is_done(why, from)) {
            return false;
        }
    }
    return true;
}

static int
compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* How long fragments took, in the middle; 0: none is done. */
static int64_t
median_ms(const struct record_view *run)
{
    int64_t *took = calloc(run->fragment_count + 1, sizeof *took);
    int64_t median = 0;
    size_t count = 0;

    for (size_t f = 0; took != NULL && f < run->fragment_count; f++) {
        if (run->fragments[f].done) {
            took[count++] = run->fragments[f].took_ms;
        }
    }
    if (count > 0) {
        qsort(took, count, sizeof *took, compare_times);
        median = took[count / 2];
    }
    free(took);
    return median;
}

/* ---- facts ---- */

static void
tell_run(struct why *why)
{
    const struct record_view *run = why->run;
    size_t running = 0;
    char age[32];

    for (size_t p = 0; p <= run->places.count; p++) {
        running += run->at[p].running > 0;
    }
    if (run->plan == NULL) {
        fact(why, &(struct about){.code = "run"}, "it has just begun, and cuts its graph");
    } else if (run->alive) {
        fact(why, &(struct about){.code = "run", .since_ms = run->began_ms},
             "%zu of %zu fragments are done, and %zu run; it began %s ago", run->done, run->fragment_count, running,
             show_age(run->began_ms, age));
    } else {
        fact(why, &(struct about){.code = "driver", .since_ms = run->began_ms},
             "its driver was killed when %zu of %zu fragments were done: the same command with this --directory goes "
             "on from there",
             run->done, run->fragment_count);
    }
}

/* Which stages are not done that a stage reads. */
static void
tell_inputs(struct why *why, size_t s)
{
    const struct gr_cutplan_stage *stage = &why->run->plan->stages[s];

    for (size_t i = 0; i < stage->input_count; i++) {
        size_t from = stage->inputs[i].stage;
        const struct gr_cutplan_stage *other = &why->run->plan->stages[from];

        if (!is_done(why, from)) {
            fact(why, &(struct about){.code = "input", .stage = stage->name},
                 "stage %s waits for stage %s, of which %u of %u fragments are done", stage->name, other->name,
                 count_done(why, from), other->partitions);
        }
    }
}

/* Where its fragments run, and since when. */
static void
tell_running(struct why *why, size_t s, int64_t median)
{
    const struct record_view *run = why->run;
    const char *name = run->plan->stages[s].name;
    const char *verb = run->alive ? "runs" : "ran";

    for (size_t p = 0; p <= run->places.count; p++) {
        const struct record_place *at = &run->at[p];
        struct about about = {"running", name, place_name(why, p), (int64_t)at->partition + 1, at->since_ms};
        int64_t took = gr_wall_ms() - at->since_ms;
        char age[32];

        if (at->running == 0 || at->stage != s) {
            continue;
        }
        if (run->alive && median > 0 && took > DRIVE_SLOW_TIMES * median && took > DRIVE_SLOW_LEAST_MS) {
            about.code = "slow";
            fact(why, &about, "stage %s, partition %u runs on %s for %s, where others took %.1f s", name, at->partition,
                 about.node, show_age(at->since_ms, age), (double)median / 1e3);
        } else {
            fact(why, &about, "stage %s, partition %u %s on %s, since %s", name, at->partition, verb, about.node,
                 show_age(at->since_ms, age));
        }
    }
}

/* Those that could run, if there were a machine for them. */
static void
tell_queue(struct why *why, size_t s)
{
    const struct record_view *run = why->run;
    const struct gr_cutplan_stage *stage = &run->plan->stages[s];
    char named[128] = "";
    uint32_t count = 0;
    size_t out = 0;

    for (uint32_t p = 0; p < stage->partitions; p++) {
        const struct record_fragment *fragment = fragment_of(why, s, p);

        if (!fragment->done && fragment->running == 0 && is_ready(why, s, p)) {
            if (count++ < NAMED_MOST) {
                (void)snprintf(named + strlen(named), sizeof named - strlen(named), "%s%u", count == 1 ? "" : ", ", p);
            }
        }
    }
    for (size_t p = 0; p < run->places.count; p++) {
        out += run->at[p].out;
    }
    if (count > NAMED_MOST) {
        (void)snprintf(named + strlen(named), sizeof named - strlen(named), " and %u more", count - NAMED_MOST);
    }
    if (count > 0 && run->alive) {
        fact(why, &(struct about){.code = "queue", .stage = stage->name},
             "stage %s, partition%s %s wait%s for a machine: %zu of %zu get work, one fragment each at a time",
             stage->name, cli_plural(count), named, count == 1 ? "s" : "", run->places.count - out, run->places.count);
    }
}

/* Its message, without the words that name the fragment. */
static const char *
reason_of(const struct record_fragment *fragment, const char *node)
{
    char names[CHUNKS_NODE + 16];
    const char *at;

    (void)snprintf(names, sizeof names, ", on %s: ", node);
    at = strstr(fragment->reason, names);
    return at == NULL || strncmp(fragment->reason, "stage ", 6) != 0 ? fragment->reason : at + strlen(names);
}

/* What failed: also what was done then. */
static void
tell_failures(struct why *why, size_t s)
{
    const struct gr_cutplan_stage *stage = &why->run->plan->stages[s];

    for (uint32_t p = 0; p < stage->partitions; p++) {
        const struct record_fragment *fragment = fragment_of(why, s, p);
        struct about about = {.code = "failed", .stage = stage->name, .partition = (int64_t)p + 1};
        char then[CHUNKS_NODE + 32] = "";
        char age[32];

        if (fragment->failed == 0) {
            continue;
        }
        about.node = place_name(why, fragment->failed_at);
        about.since_ms = fragment->failed_ms;
        if (fragment->done || fragment->running > 0) {
            (void)snprintf(then, sizeof then, ", and %s on %s", fragment->done ? "was done" : "runs again",
                           place_name(why, fragment->place));
        } else if (why->run->alive) {
            (void)snprintf(then, sizeof then, ", and waits for another machine");
        }
        fact(why, &about, "stage %s, partition %u failed on %s %s ago%s%s: %s", stage->name, p, about.node,
             show_age(fragment->failed_ms, age), fragment->failed > 1 ? ", not for the first time" : "", then,
             reason_of(fragment, about.node));
    }
}

static void
tell_stage(struct why *why, size_t s, int64_t median)
{
    tell_failures(why, s);
    if (!is_done(why, s)) {
        tell_running(why, s, median);
        tell_queue(why, s);
        tell_inputs(why, s);
    } else if (why->subject != NULL && strcmp(why->subject, why->run->plan->stages[s].name) == 0) {
        fact(why, &(struct about){.code = "done", .stage = why->subject}, "stage %s is done", why->subject);
    }
}

/* ---- machines ---- */

/* What the fragment that runs there waits for, in its machine's words. */
static void
tell_inside(struct why *why, size_t p)
{
    const struct record_place *at = &why->run->at[p];
    const struct gr_cutplan_stage *stage = &why->run->plan->stages[at->stage];
    const char *name = place_name(why, p);
    char begins[GRANARY_KEY_MAX + 32];
    const char *line = why->nodes[p].said;

    (void)snprintf(begins, sizeof begins, FACTS_WHY FACTS_FRAGMENT "%s-%u ", stage->digest, at->partition);
    while (line != NULL && (line = strstr(line, begins)) != NULL) {
        line += strlen(begins);
        fact(why, &(struct about){"inside", stage->name, name, (int64_t)at->partition + 1, 0}, "on %s: %.*s", name,
             (int)strcspn(line, "\n"), line);
    }
}

static void
tell_places(struct why *why)
{
    const struct record_view *run = why->run;

    for (size_t p = 0; p < run->places.count; p++) {
        const struct record_place *at = &run->at[p];
        struct about about = {.code = "out", .node = place_name(why, p), .since_ms = at->out_ms};
        char age[32];

        if (at->out) {
            fact(why, &about, "%s gets nothing more, for it has failed several times in a row; since %s", about.node,
                 show_age(at->out_ms, age));
        }
        if (why->nodes == NULL) {
            continue;
        }
        about.code = "node";
        about.since_ms = 0;
        if (why->nodes[p].trouble[0] != '\0' && strcmp(why->nodes[p].facts.store, "none") != 0) {
            fact(why, &about, "%s: %s", about.node, why->nodes[p].trouble);
        } else if (why->nodes[p].facts.load > 2 * (double)why->nodes[p].facts.processors) {
            fact(why, &about, "%s has %" PRId64 " processors for a load of %.0f", about.node,
                 why->nodes[p].facts.processors, why->nodes[p].facts.load);
        }
        if (at->running > 0 && why->meant[at->stage]) {
            tell_inside(why, p);
        }
    }
}

/* ---- which runs, which stages ---- */

/* A stage, and all that it reads. */
static void
mean(bool *meant, const struct gr_cutplan *plan, size_t stage)
{
    meant[stage] = true;
    for (size_t s = stage + 1; s-- > 0;) { /* a stage reads only of those before it */
        for (size_t i = 0; meant[s] && i < plan->stages[s].input_count; i++) {
            meant[plan->stages[s].inputs[i].stage] = true;
        }
    }
}

/* Whether the run is meant, and which stages of it. Errors: ENOMEM */
static granary_err
choose_stages(struct why *why, bool *ret_meant)
{
    const struct record_view *run = why->run;
    const char *slash = why->subject == NULL ? NULL : strrchr(why->subject, '/');
    const char *name = slash != NULL ? slash + 1 : why->subject;
    size_t count = run->plan == NULL ? 0 : run->plan->stage_count;
    size_t stage = run->plan == NULL || name == NULL ? count : gr_cutplan_find(run->plan, name);

    why->meant = calloc(count + 1, sizeof *why->meant);
    if (why->meant == NULL) {
        return gr_no_memory("stages");
    }
    *ret_meant = name == NULL || strcmp(name, run->plan_name) == 0 || strcmp(name, strrchr(run->path, '/') + 1) == 0;
    if (*ret_meant) {
        memset(why->meant, true, count);
    } else if (stage < count) {
        mean(why->meant, run->plan, stage);
        *ret_meant = true;
    }
    return GRANARY_OK;
}

static void
tell_facts(struct why *why)
{
    int64_t median = median_ms(why->run);

    tell_run(why);
    for (size_t s = 0; why->run->plan != NULL && s < why->run->plan->stage_count; s++) {
        if (why->meant[s]) {
            tell_stage(why, s, median);
        }
    }
    if (why->run->plan != NULL) {
        tell_places(why);
    }
}

static granary_err
tell_one(struct why *why, const struct record_view *run, size_t *told)
{
    bool meant = false;
    granary_err err;

    why->run = run;
    why->nodes = NULL;
    err = choose_stages(why, &meant);
    if (err == GRANARY_OK && meant && run->alive) {
        err = nodes_ask(&run->places, true, &why->nodes);
    }
    if (err == GRANARY_OK && meant && why->cli->json) {
        json_open(&why->json, NULL, '{');
        json_text(&why->json, "run", run->path);
        json_text(&why->json, "plan", run->plan_name);
        json_text(&why->json, "host", run->host);
        json_signed(&why->json, "pid", run->pid);
        json_bool(&why->json, "goes_on", run->alive);
        json_unsigned(&why->json, "fragments", run->fragment_count);
        json_unsigned(&why->json, "done", run->done);
        json_open(&why->json, "facts", '[');
        tell_facts(why);
        json_close(&why->json);
        json_close(&why->json);
    } else if (err == GRANARY_OK && meant) {
        char path[SHOW_TEXT], host[SHOW_TEXT];

        (void)printf("run %s, %s pid %ld on %s\n", show_text(run->path, path), run->alive ? "of" : "which was of",
                     run->pid, show_text(run->host, host));
        tell_facts(why);
    }
    *told += meant;
    nodes_free(why->nodes, run->places.count);
    free(why->meant);
    return err;
}

static int
run_why(struct cli *cli)
{
    struct why *why = cli->self;
    struct record_view *runs = NULL;
    size_t count = 0, told = 0;
    granary_err err;

    if (why->where.on != NULL && why->where.directory != NULL) {
        return gr_fail(GRANARY_EINVAL, "--on and --directory: name one of them");
    }
    why->cli = cli;
    why->subject = cli->count > 0 ? cli->arguments[0] : NULL;
    if (dask_address(why->where.on) != NULL) {
        return why_of_dask(cli, dask_address(why->where.on), why->subject);
    }
    err = where_runs(&why->where, cli->instance, &runs, &count);
    if (err == GRANARY_OK && count == 0) {
        err = gr_fail(GRANARY_ENOENT, why->where.directory != NULL
                                          ? "no run is in that directory: it has ended, or not begun"
                                          : "no run goes on here: --directory DIR names that of a run elsewhere, or of "
                                            "one that was killed");
    }
    if (err == GRANARY_OK && cli->json) {
        json_open(&why->json, NULL, '[');
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = tell_one(why, &runs[i], &told);
    }
    while (why->json.depth > 0) {
        json_close(&why->json);
    }
    if (err == GRANARY_OK && told == 0) {
        err = gr_fail(GRANARY_ENOENT, "'%.60s' is no run, no plan and no stage of those that go on", why->subject);
    }
    where_runs_free(runs, count);
    return err;
}

static const struct gr_option why_options[] = {
    {"on", 0, "WHERE",
     "runs on these machines: local, ssh, slurm or dask:ADDRESS; default: all of this machine but Dask's",
     GR_OPTION_TEXT(struct why, where.on)},
    {"directory", 0, "DIR", "runs in this directory, also from other machines, and those that were killed",
     GR_OPTION_TEXT(struct why, where.directory)},
    {0}};

const struct command cluster_why = {.options = why_options, COMMAND_ZERO(struct why), .run = run_why};
