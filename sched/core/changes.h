/*
 * What of the manager's state has changed since it was last told: the subjects of contract/subjects.def, as bits.
 */
#ifndef SCHED_CORE_CHANGES_H
#define SCHED_CORE_CHANGES_H

#include <stdint.h>

struct manager;

/* SUBJECT_graphs, ...: positions in subjects.def. */
enum info_subject {
#define SUBJECT(name, text) SUBJECT_##name,
#define FIELD(subject, name, kind, text)
#include "contract/subjects.def"
#undef SUBJECT
#undef FIELD
    INFO_SUBJECTS
};

/* Bits of subjects, for info_changed(). */
#define INFO_BIT(subject) (1u << SUBJECT_##subject)
/* Subtasks were given, have ended, ... */
#define INFO_WORK                                                                                                      \
    (INFO_BIT(executors) | INFO_BIT(bands) | INFO_BIT(graphs) | INFO_BIT(subtasks) | INFO_BIT(runs) |                  \
     INFO_BIT(chunks) | INFO_BIT(tileables) | INFO_BIT(functions) | INFO_BIT(sessions))
/* An executor came or went. */
#define INFO_POOL (INFO_BIT(executors) | INFO_BIT(bands))

/* Something in these subjects may be different now. Cheap: called for each report. */
void info_changed(struct manager *manager, uint32_t subjects);

#endif
