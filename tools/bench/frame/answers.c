/* Answers of all engines in one array, printed as a table of questions by engines, with means of the ratios. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/grow.h"
#include "bench/frame/analytics.h"

void
answers_add(struct answers *answers, const struct answer *answer)
{
    if (!gr_grow(&answers->lines, &answers->room, answers->count, sizeof *answers->lines)) {
        perror("granary: bench");
        exit(5);
    }
    answers->lines[answers->count++] = *answer;
}

void
answers_free(struct answers *answers)
{
    free(answers->lines);
    *answers = (struct answers){.lines = NULL};
}

/* The engines in the columns, in this order; behind the peers what floors are (floors.h). */
static const char *const engines[] = {"granary", "duckdb", "polars", "pandas", "numpy", "numexpr", "floor", "scan"};
#define ENGINES (sizeof engines / sizeof engines[0])
#define PEERS   (ENGINES - 2)

const struct answer *
answers_find(const struct answers *answers, const char *suite, const char *key, const char *engine)
{
    for (size_t i = 0; i < answers->count; i++) {
        const struct answer *line = &answers->lines[i];

        if (strcmp(line->engine, engine) == 0 && strcmp(line->suite, suite) == 0 && strcmp(line->key, key) == 0) {
            return line;
        }
    }
    return NULL;
}

static const struct answer *
find(const struct answers *answers, const struct answer *like, const char *engine)
{
    return answers_find(answers, like->suite, like->key, engine);
}

/* How often a question's floor, or else the scan of its bytes, fits into our time; 0: not measured. */
static double
over_floor(const struct answers *answers, const struct answer *ours)
{
    const struct answer *floor = find(answers, ours, "floor");

    floor = floor != NULL ? floor : find(answers, ours, "scan");
    return floor != NULL ? ours->seconds / floor->seconds : 0;
}

static bool
any_floor(const struct answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        if (strcmp(answers->lines[i].engine, "scan") == 0) {
            return true;
        }
    }
    return false;
}

/* Engines agree on rows, and on the sum but for the last bits of floats; sums they do not tell are not compared. */
static bool
agree(const struct answer *a, const struct answer *b)
{
    if (a->rows == 0 || b->rows == 0) {
        return true;
    }
    if (a->rows != b->rows) {
        return false;
    }
    return a->check == 0 || b->check == 0 || fabs(a->check - b->check) <= 1e-7 * fabs(a->check) + 1e-9;
}

static double
best_peer(const struct answers *answers, const struct answer *like)
{
    double best = 0;

    for (size_t e = 1; e < PEERS; e++) {
        const struct answer *line = find(answers, like, engines[e]);

        if (line != NULL && (best == 0 || line->seconds < best)) {
            best = line->seconds;
        }
    }
    return best;
}

static void
print_json(const struct answers *answers)
{
    (void)printf("[");
    for (size_t i = 0; i < answers->count; i++) {
        const struct answer *line = &answers->lines[i];

        (void)printf(
            "%s\n  {\"suite\": \"%s\", \"query\": \"%s\", \"engine\": \"%s\", \"seconds\": %.6g, \"rows\": %lld",
            i == 0 ? "" : ",", line->suite, line->key, line->engine, line->seconds, (long long)line->rows);
        if (strcmp(line->engine, "granary") == 0 && over_floor(answers, line) > 0) {
            (void)printf(", \"over_floor\": %.4g", over_floor(answers, line));
        }
        (void)printf("}");
    }
    (void)printf("\n]\n");
}

static void
print_row(const struct answers *answers, const struct answer *ours, size_t columns)
{
    double best = best_peer(answers, ours);

    (void)printf("%-10s %-14s", ours->suite, ours->key);
    for (size_t e = 0; e < columns; e++) {
        const struct answer *line = find(answers, ours, engines[e]);

        if (line == NULL) {
            (void)printf(" %10s", "-");
        } else {
            (void)printf(" %10.4f", line->seconds);
        }
    }
    if (best > 0) {
        (void)printf(" %9.2fx", best / ours->seconds);
    }
    if (over_floor(answers, ours) > 0) {
        (void)printf(" %*.2fx", best > 0 ? 10 : 21, over_floor(answers, ours));
    }
    (void)printf("\n");
}

/* The geometric mean of how much faster we are than each peer, on what both answered. */
static void
print_means(const struct answers *answers)
{
    for (size_t e = 1; e < ENGINES; e++) {
        double logs = 0;
        size_t count = 0;

        for (size_t i = 0; i < answers->count; i++) {
            const struct answer *line = &answers->lines[i];
            const struct answer *peer = strcmp(line->engine, "granary") == 0 ? find(answers, line, engines[e]) : NULL;

            if (peer != NULL) {
                logs += log(peer->seconds / line->seconds);
                count++;
            }
        }
        if (count > 0) {
            (void)printf("%zu questions: %.2f times as fast as %s (geometric mean)\n", count, exp(logs / (double)count),
                         engines[e]);
        }
    }
}

bool
answers_print(const struct answers *answers, bool json)
{
    const size_t columns = any_floor(answers) ? ENGINES : PEERS;
    bool good = true;

    if (json) {
        print_json(answers);
    } else {
        (void)printf("%-10s %-14s", "suite", "query");
        for (size_t e = 0; e < columns; e++) {
            (void)printf(" %10s", engines[e]);
        }
        (void)printf(" %10s %11s\n", "best/ours", columns > PEERS ? "ours/floor" : "");
    }
    for (size_t i = 0; i < answers->count; i++) {
        const struct answer *line = &answers->lines[i];

        if (strcmp(line->engine, "granary") != 0) {
            continue;
        }
        if (!json) {
            print_row(answers, line, columns);
        }
        for (size_t e = 1; e < ENGINES; e++) {
            const struct answer *peer = find(answers, line, engines[e]);

            if (peer != NULL && !agree(line, peer)) {
                (void)fprintf(stderr, "granary: bench: %s %s: we answer %lld rows, sum %.9g; %s %lld rows, sum %.9g\n",
                              line->suite, line->key, (long long)line->rows, line->check, engines[e],
                              (long long)peer->rows, peer->check);
                good = false;
            }
        }
    }
    if (!json) {
        print_means(answers);
    }
    return good;
}
