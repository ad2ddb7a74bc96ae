/* Exponentially weighted means and spreads: the recurrences of pandas (ewm, ewmcov), a row at a time. */
#include <math.h>

#include "kernel/window/compute.h"

/* ---- means ---- */

granary_err
window_ewm(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    const struct gr_window *window = job->window;
    double decay = 1 - window->alpha;
    double new_weight = window->adjust ? 1 : window->alpha;

    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        bool there = !window_is_missing(&job->value, row);
        double x = job->value.reals[row];

        state->count += there;
        if (!state->has_weighted) {
            if (there) {
                state->weighted = x;
                state->old_weight = 1;
                state->has_weighted = true;
            }
        } else if (there || !window->ignore_na) {
            state->old_weight *= decay;
            if (there) {
                if (state->weighted != x) {
                    state->weighted =
                        (state->old_weight * state->weighted + new_weight * x) / (state->old_weight + new_weight);
                }
                state->old_weight = window->adjust ? state->old_weight + new_weight : 1;
            }
        }
        if (state->has_weighted && state->count >= window->min_periods) {
            window_put(&job->out, row, state->weighted);
        }
    }
    return GRANARY_OK;
}

/* ---- variances ---- */

static void
spread_begin(struct window_state *state, double x)
{
    state->weighted = x;
    state->spread = 0;
    state->weights = 1;
    state->squared_weights = 1;
    state->old_weight = 1;
    state->has_weighted = true;
}

/* A value comes to those before, whose weights have decayed. */
static void
spread_add(struct window_state *state, const struct gr_window *window, double x)
{
    double new_weight = window->adjust ? 1 : window->alpha;
    double all = state->old_weight + new_weight;
    double mean = state->weighted;

    if (mean != x) { /* of equal values it stays exactly what it is */
        state->weighted = (state->old_weight * mean + new_weight * x) / all;
    }
    state->spread = (state->old_weight * (state->spread + (mean - state->weighted) * (mean - state->weighted)) +
                     new_weight * ((x - state->weighted) * (x - state->weighted))) /
                    all;
    state->weights += new_weight;
    state->squared_weights += new_weight * new_weight;
    state->old_weight = all;
    if (!window->adjust) {
        state->weights /= all;
        state->squared_weights /= all * all;
        state->old_weight = 1;
    }
}

/* false: there are too few values for one */
static bool
spread_value(const struct window_state *state, const struct gr_window *window, double *ret_x)
{
    double numerator = state->weights * state->weights;
    double denominator = numerator - state->squared_weights;

    if (!window->bias && !(denominator > 0 && state->count > 1)) {
        return false;
    }
    *ret_x = window->bias ? state->spread : numerator / denominator * state->spread;
    *ret_x = window->function == GR_WINDOW_EWM_STD ? sqrt(*ret_x) : *ret_x;
    return true;
}

granary_err
window_ewm_spread(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    const struct gr_window *window = job->window;
    double decay = 1 - window->alpha;

    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        bool there = !window_is_missing(&job->value, row);
        double result;

        state->count += there;
        if (state->has_weighted && (there || !window->ignore_na)) {
            state->weights *= decay;
            state->squared_weights *= decay * decay;
            state->old_weight *= decay;
        }
        if (there && !state->has_weighted) {
            spread_begin(state, job->value.reals[row]);
        } else if (there) {
            spread_add(state, window, job->value.reals[row]);
        }
        if (state->has_weighted && state->count >= window->min_periods && spread_value(state, window, &result)) {
            window_put(&job->out, row, result);
        }
    }
    return GRANARY_OK;
}
