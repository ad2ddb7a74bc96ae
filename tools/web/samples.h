/*
 * The memory account and what was counted, a sample a second, the last 15 minutes of them. They are read from shared
 * memory, so nobody is asked, and a daemon that is stopped or dead is seen as that.
 */
#ifndef WEB_SAMPLES_H
#define WEB_SAMPLES_H

#include <stdio.h>

#include "base/instance.h"
#include "granary/inspect.h"

#define SAMPLES_KEPT 900

struct sample {
#define SAMPLE(name) int64_t name;
#include "web/samples.def"
#undef SAMPLE
};

struct samples;

granary_err samples_create(const struct gr_instance *instance, struct samples **ret_samples);
void samples_destroy(struct samples *samples);

/* Take one. ret_life: of the store. */
struct sample samples_take(struct samples *samples, granary_instance_info *ret_info);

/* The numbers of one, and all of them with their names, as JSON; any thread may ask. */
void sample_write(FILE *out, const struct sample *sample);
void samples_write(struct samples *samples, FILE *out);

#endif
