/*
 * Loops of the floors. Keys are dense, so the group's number is a position in an array (db-benchmark's q1 to q9, TPC-H's
 * Q1); q6 sorts by counting, and q10 packs its keys into a word and deals rows to parts that fit into the cache. They
 * know db-benchmark's data: v1 and v2 are above 0, so that a group without rows has sums of 0, and v2 is below 100.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "bench/frame/floor_job.h"
#include "contract/int128.h"

/* Where the columns are, in registers: groups that are written could be anything else. */
struct columns {
    const void *at[7];
    int64_t bound_1;
};

static inline struct columns
columns_of(const struct floor_job *job)
{
    struct columns c = {.bound_1 = job->columns[1].bound};

    for (int k = 0; k < 7; k++) {
        c.at[k] = job->columns[k].values;
    }
    return c;
}

#define INT32(n) ((const int32_t *)c.at[n])
#define INT64(n) ((const int64_t *)c.at[n])
#define FLOAT(n) ((const double *)c.at[n])

/*
 * An array of groups a thread, in several copies where neighbours often meet the same group.
 *
 * number  of row i's group · add  row i to *g · merge  *b into *a · there  whether *a has rows · tell  its figure
 */
#define DENSE(name, key_count, copies, type, number, add, merge, there, tell)                                          \
    static void name##_rows(struct floor_job *job, int thread)                                                         \
    {                                                                                                                  \
        const int64_t to = floor_to(job, job->rows, thread);                                                           \
        const struct columns c = columns_of(job);                                                                      \
        const int64_t count = job->groups;                                                                             \
        type *groups = job->own[thread];                                                                               \
                                                                                                                       \
        memset(groups, 0, (size_t)job->groups *(copies) * sizeof(type));                                               \
        for (int64_t i = floor_from(job, job->rows, thread); i < to; i++) {                                            \
            type *g = &groups[(number) + ((copies) > 1 ? (i & ((copies)-1)) * count : 0)];                             \
                                                                                                                       \
            add;                                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_end(struct floor_job *job)                                                                      \
    {                                                                                                                  \
        for (int64_t group = 0; group < job->groups; group++) {                                                        \
            type *a = (type *)job->own[0] + group;                                                                     \
                                                                                                                       \
            for (int other = 1; other < job->threads * (copies); other++) {                                            \
                const type *b = (const type *)job->own[other / (copies)] + other % (copies)*job->groups + group;       \
                                                                                                                       \
                merge;                                                                                                 \
            }                                                                                                          \
            if (there) {                                                                                               \
                job->found++;                                                                                          \
                job->check += (tell);                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    const struct floor_kernel floor_##name = {.phases = {name##_rows},                                                 \
                                              .end = name##_end,                                                       \
                                              .keys = (key_count),                                                     \
                                              .own_bytes_per_group = (copies) * sizeof(type)};

#define TWO_KEYS INT32(0)[i] * c.bound_1 + INT32(1)[i]

struct sums {
    double v3;
    int64_t v1, v2, n;
};
struct sums_3 {
    double v3;
    int32_t v1, n;
};
struct ends {
    int32_t most, below; /* largest v1; 100 - least v2 */
};
struct two {
    double first, second;
};
struct moments {
    int64_t n, x, y, xx, yy, xy;
};

#define ADD_SUMS   (g->v3 += FLOAT(3)[i], g->v1 += INT32(1)[i], g->v2 += INT32(2)[i])
#define MERGE_SUMS (a->v3 += b->v3, a->v1 += b->v1, a->v2 += b->v2, a->n += b->n)

DENSE(q1, 1, 4, int64_t, INT32(0)[i], *g += INT32(1)[i], *a += *b, *a > 0, (double)*a)
DENSE(q2, 2, 1, int64_t, TWO_KEYS, *g += INT32(2)[i], *a += *b, *a > 0, (double)*a)
DENSE(q3, 1, 1, struct sums_3, INT32(0)[i], (g->v3 += FLOAT(2)[i], g->v1 += INT32(1)[i], g->n++),
      (a->v3 += b->v3, a->v1 += b->v1, a->n += b->n), a->n > 0, a->v3 / a->n)
DENSE(q4, 1, 2, struct sums, INT32(0)[i], (ADD_SUMS, g->n++), MERGE_SUMS, a->n > 0, a->v3 / (double)a->n)
DENSE(q5, 1, 1, struct sums, INT32(0)[i], ADD_SUMS, MERGE_SUMS, a->v1 > 0, a->v3)

static inline int32_t
larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

DENSE(q7, 1, 1, struct ends, INT32(0)[i],
      (g->most = larger(g->most, INT32(1)[i]), g->below = larger(g->below, 100 - INT32(2)[i])),
      (a->most = larger(a->most, b->most), a->below = larger(a->below, b->below)), a->most > 0,
      a->most - (100 - a->below))

static inline void
take_value(struct two *two, double value)
{
    double less = value < two->first ? value : two->first;

    two->first = value > two->first ? value : two->first;
    two->second = less > two->second ? less : two->second;
}

DENSE(q8, 1, 1, struct two, INT32(0)[i], take_value(g, FLOAT(1)[i]),
      (take_value(a, b->first), take_value(a, b->second)), a->first > 0,
      (job->found += a->second > 0, a->first + a->second))

static double
r_squared(const struct moments *m)
{
    double n = (double)m->n;
    double x = (double)m->x;
    double y = (double)m->y;
    double both = n * (double)m->xy - x * y;
    double each = (n * (double)m->xx - x * x) * (n * (double)m->yy - y * y);

    return each > 0 ? both * both / each : 0;
}

static inline void
add_moments(struct moments *m, int64_t x, int64_t y)
{
    m->n++;
    m->x += x;
    m->y += y;
    m->xx += x * x;
    m->yy += y * y;
    m->xy += x * y;
}

DENSE(q9, 2, 1, struct moments, TWO_KEYS, add_moments(g, INT32(2)[i], INT32(3)[i]),
      (a->n += b->n, a->x += b->x, a->y += b->y, a->xx += b->xx, a->yy += b->yy, a->xy += b->xy), a->n > 0,
      r_squared(a))

/* ---- q6: rows sorted by their group by counting, then the middle of each group ---- */

static void
q6_count(struct floor_job *job, int thread)
{
    const int64_t to = floor_to(job, job->rows, thread);
    const struct columns c = columns_of(job);
    int64_t *counts = job->own[thread];

    memset(counts, 0, (size_t)job->groups * sizeof *counts);
    for (int64_t i = floor_from(job, job->rows, thread); i < to; i++) {
        counts[TWO_KEYS]++;
    }
}

/* Counts become the places where threads put their rows of each part; parts: how many. */
static void
places(struct floor_job *job, int64_t parts)
{
    int64_t at = 0;

    for (int64_t part = 0; part < parts; part++) {
        for (int t = 0; t < job->threads; t++) {
            int64_t *place = (int64_t *)job->own[t] + part;
            int64_t count = *place;

            *place = at;
            at += count;
        }
    }
}

static void
q6_places(struct floor_job *job)
{
    places(job, job->groups);
}

static void
q6_deal(struct floor_job *job, int thread)
{
    const int64_t to = floor_to(job, job->rows, thread);
    const struct columns c = columns_of(job);
    int64_t *place = job->own[thread];
    double *values = job->shared;

    for (int64_t i = floor_from(job, job->rows, thread); i < to; i++) {
        values[place[TWO_KEYS]++] = FLOAT(2)[i];
    }
}

/* The value that would stand at a place if they were sorted (Hoare's selection). */
static double
select_at(double *values, int64_t count, int64_t place)
{
    int64_t left = 0;
    int64_t right = count - 1;

    while (left < right) {
        double pivot = values[(left + right) / 2];
        int64_t i = left;
        int64_t j = right;

        while (i <= j) {
            while (values[i] < pivot) {
                i++;
            }
            while (values[j] > pivot) {
                j--;
            }
            if (i <= j) {
                double value = values[i];

                values[i++] = values[j];
                values[j--] = value;
            }
        }
        left = place > j ? i : left;
        right = place <= j ? j : place >= i ? right : left;
        if (place > j && place < i) {
            break;
        }
    }
    return values[place];
}

static double
median(double *values, int64_t count)
{
    double upper = select_at(values, count, count / 2);
    double lower = values[0];

    for (int64_t i = 1; i < count / 2; i++) {
        lower = values[i] > lower ? values[i] : lower;
    }
    return count % 2 == 1 ? upper : (lower + upper) / 2;
}

static double
deviation(const double *values, int64_t count)
{
    double mean = 0;
    double squares = 0;

    for (int64_t i = 0; i < count; i++) {
        mean += values[i];
    }
    mean /= (double)count;
    for (int64_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

static void
q6_finish(struct floor_job *job, int thread)
{
    const int64_t to = floor_to(job, job->groups, thread);
    const int64_t *ends = job->own[job->threads - 1]; /* of the last thread: where each group ends */
    double *results = (double *)job->own[thread] + job->groups;

    for (int64_t group = floor_from(job, job->groups, thread); group < to; group++) {
        int64_t first = group == 0 ? 0 : ends[group - 1];
        int64_t count = ends[group] - first;
        double *values = (double *)job->shared + first;

        results[group] = count == 0 ? NAN : median(values, count);
        job->sink[thread] += count == 0 ? 0 : deviation(values, count);
    }
}

static void
q6_end(struct floor_job *job)
{
    for (int t = 0; t < job->threads; t++) {
        for (int64_t g = floor_from(job, job->groups, t); g < floor_to(job, job->groups, t); g++) {
            double value = ((double *)job->own[t])[job->groups + g];

            job->found += !isnan(value);
            job->check += isnan(value) ? 0 : value;
        }
    }
}

const struct floor_kernel floor_q6 = {.phases = {q6_count, q6_deal, q6_finish},
                                      .between = q6_places,
                                      .end = q6_end,
                                      .keys = 2,
                                      .own_bytes_per_group = sizeof(int64_t) + sizeof(double),
                                      .shared_bytes_per_row = sizeof(double)};

/* ---- q10: six keys in a word, rows dealt to parts by its hash, a table a part ---- */

#define PARTS      1024
#define PART_BITS  10
#define Q10_KEYS   6
#define SLOTS_BITS 16
#define SLOTS      (1 << SLOTS_BITS)

struct dealt {
    uint64_t keys;
    double value;
};
/* A slot of a part's table; n: rows, 0: empty. */
struct slot {
    uint64_t keys;
    double value;
    int64_t n;
};
/* A row of the answer. */
struct group {
    int32_t keys[Q10_KEYS];
    int64_t n;
    double value;
};
struct q10_own {
    int64_t place[PARTS];
    int64_t found;
    double check;
    int32_t used[SLOTS];
    struct slot slots[SLOTS];
};

static inline uint64_t
hash_of(uint64_t keys)
{
    return keys * 0x9e3779b97f4a7c15ull;
}

static int
bits_of(const struct floor_column *column)
{
    return 64 - __builtin_clzll((unsigned long long)(column->bound | 1));
}

static inline uint64_t
keys_of(struct columns c, const int *shifts, int64_t i)
{
    return (uint64_t)INT32(0)[i] | (uint64_t)INT32(1)[i] << shifts[1] | (uint64_t)INT32(2)[i] << shifts[2] |
           (uint64_t)INT32(3)[i] << shifts[3] | (uint64_t)INT32(4)[i] << shifts[4] | (uint64_t)INT32(5)[i] << shifts[5];
}

static void
q10_shifts(const struct floor_job *job, int shifts[Q10_KEYS])
{
    shifts[0] = 0;
    for (int k = 1; k < Q10_KEYS; k++) {
        shifts[k] = shifts[k - 1] + bits_of(&job->columns[k - 1]);
    }
}

static void
q10_count(struct floor_job *job, int thread)
{
    const int64_t to = floor_to(job, job->rows, thread);
    const struct columns c = columns_of(job);
    struct q10_own *own = job->own[thread];
    int shifts[Q10_KEYS];

    q10_shifts(job, shifts);
    memset(own->place, 0, sizeof own->place);
    for (int64_t i = floor_from(job, job->rows, thread); i < to; i++) {
        own->place[hash_of(keys_of(c, shifts, i)) >> (64 - PART_BITS)]++;
    }
}

static void
q10_places(struct floor_job *job)
{
    places(job, PARTS);
}

static void
q10_deal(struct floor_job *job, int thread)
{
    const int64_t to = floor_to(job, job->rows, thread);
    const struct columns c = columns_of(job);
    struct q10_own *own = job->own[thread];
    struct dealt *dealt = job->shared;
    int shifts[Q10_KEYS];

    q10_shifts(job, shifts);
    for (int64_t i = floor_from(job, job->rows, thread); i < to; i++) {
        uint64_t keys = keys_of(c, shifts, i);

        dealt[own->place[hash_of(keys) >> (64 - PART_BITS)]++] = (struct dealt){keys, FLOAT(6)[i]};
    }
}

/* The groups of a part's rows, into slots; they are numbered in used. */
static int
q10_part(struct q10_own *own, const struct dealt *rows, int64_t count)
{
    int groups = 0;

    for (int64_t i = 0; i < count; i++) {
        uint64_t at = hash_of(rows[i].keys) >> (64 - PART_BITS - SLOTS_BITS) & (SLOTS - 1);

        while (own->slots[at].n != 0 && own->slots[at].keys != rows[i].keys) {
            at = (at + 1) & (SLOTS - 1);
        }
        if (own->slots[at].n == 0) {
            own->slots[at].keys = rows[i].keys;
            own->used[groups++] = (int32_t)at;
        }
        own->slots[at].value += rows[i].value;
        own->slots[at].n++;
    }
    return groups;
}

static void
q10_finish(struct floor_job *job, int thread)
{
    const int64_t *ends = ((struct q10_own *)job->own[job->threads - 1])->place;
    const int64_t to = floor_to(job, PARTS, thread);
    const struct dealt *dealt = job->shared;
    struct group *groups = (struct group *)((struct dealt *)job->shared + job->rows);
    struct q10_own *own = job->own[thread];
    int shifts[Q10_KEYS];

    q10_shifts(job, shifts);
    own->found = 0;
    own->check = 0;
    for (int64_t part = floor_from(job, PARTS, thread); part < to; part++) {
        int64_t first = part == 0 ? 0 : ends[part - 1];
        int count = q10_part(own, dealt + first, ends[part] - first);

        for (int g = 0; g < count; g++) {
            struct slot *slot = &own->slots[own->used[g]];
            struct group *group = &groups[first + g];

            for (int k = 0; k < Q10_KEYS; k++) {
                uint64_t rest = slot->keys >> shifts[k];

                group->keys[k] =
                    (int32_t)(k + 1 == Q10_KEYS ? rest : rest & ((1ull << (shifts[k + 1] - shifts[k])) - 1));
            }
            group->n = slot->n;
            group->value = slot->value;
            own->check += slot->value;
            *slot = (struct slot){.n = 0};
        }
        own->found += count;
    }
}

static void
q10_end(struct floor_job *job)
{
    for (int t = 0; t < job->threads; t++) {
        const struct q10_own *own = job->own[t];

        job->found += own->found;
        job->check += own->check;
    }
}

const struct floor_kernel floor_q10 = {.phases = {q10_count, q10_deal, q10_finish},
                                       .between = q10_places,
                                       .end = q10_end,
                                       .own_bytes = sizeof(struct q10_own),
                                       .shared_bytes_per_row = sizeof(struct dealt) + sizeof(struct group)};

/* ---- TPC-H: days since 1970-01-01, hundredths ---- */

struct tpch_sums {
    int64_t quantity, price, discount, n;
    int64_t discounted;
    gr_int128 charge;
};

static inline void
add_lineitem(struct tpch_sums *sums, int64_t quantity, int64_t price, int64_t discount, int64_t tax, bool wanted)
{
    int64_t discounted = price * (100 - discount);

    if (wanted) {
        sums->quantity += quantity;
        sums->price += price;
        sums->discount += discount;
        sums->n++;
        sums->discounted += discounted;
        sums->charge += discounted * (100 + tax);
    }
}

#define DAY_1998_09_02 10471
DENSE(tpch_q01, 2, 2, struct tpch_sums, TWO_KEYS,
      add_lineitem(g, INT64(3)[i], INT64(4)[i], INT64(5)[i], INT64(6)[i], INT32(2)[i] <= DAY_1998_09_02),
      (a->quantity += b->quantity, a->price += b->price, a->discount += b->discount, a->n += b->n,
       a->discounted += b->discounted, a->charge += b->charge),
      a->n > 0, (double)a->charge / 1e6)

#define DAY_1994_01_01 8766
#define DAY_1995_01_01 9131
static inline int64_t
revenue(int32_t day, int64_t discount, int64_t quantity, int64_t price)
{
    bool year = (day >= DAY_1994_01_01) & (day < DAY_1995_01_01);
    bool counts = year & (discount >= 5) & (discount <= 7) & (quantity < 2400);

    return counts ? price * discount : 0;
}

DENSE(tpch_q06, 0, 2, int64_t, 0, *g += revenue(INT32(0)[i], INT64(1)[i], INT64(2)[i], INT64(3)[i]), *a += *b, true,
      (double)*a / 1e4)
