/* The instance itself. */
#include <inttypes.h>
#include <unistd.h>

#include "doctor.h"

static void
tell_store(struct doctor *doctor)
{
    const granary_instance_info *info = &doctor->look.info;
    char age[32];

    switch (info->life) {
    case GRANARY_STORE_SERVING:
    case GRANARY_STORE_ADOPTING:
        doctor_tell(doctor, DOCTOR_OK, "store", NULL, "pid %u serves for %s, epoch %" PRIu64, info->pid,
                    look_age(info->started_ms, age), info->epoch);
        break;
    case GRANARY_STORE_UNKNOWN:
        doctor_tell(doctor, DOCTOR_OK, "store", NULL, "a copy");
        break;
    case GRANARY_STORE_STOPPED:
        doctor_tell(doctor, DOCTOR_ATTENTION, "store", "let it go on: kill -CONT",
                    "pid %u is stopped and answers nobody", info->pid);
        break;
    case GRANARY_STORE_CLOSED:
        doctor_tell(doctor, DOCTOR_OK, "store", NULL, "it was stopped in order");
        break;
    case GRANARY_STORE_DEAD:
    case GRANARY_STORE_REBOOTED:
        doctor_tell(doctor, DOCTOR_ATTENTION, "store",
                    "start it again: what is in memory is taken over; or `granary down` gives it up",
                    "it is %s; its objects are there", granary_store_life_name(info->life));
        break;
    }
}

static void
tell_mode(struct doctor *doctor)
{
    const granary_instance_info *info = &doctor->look.info;

    if (info->group >= 0) {
        doctor_tell(
            doctor, DOCTOR_OK, "mode", NULL,
            "system: the store runs as uid %u and admits group %lld: clients are kept from each other's objects",
            info->uid, (long long)info->group);
    } else {
        doctor_tell(doctor, DOCTOR_OK, "mode", NULL,
                    "user: store and clients are uid %u: protection from accidents, not from each other", info->uid);
    }
}

static void
remember_first(void *context, const granary_finding *finding)
{
    char *first = context;

    if (finding->kind == GRANARY_FINDING_DAMAGE && first[0] == '\0') {
        (void)look_text(finding->text, first);
    }
}

static void
tell_health(struct doctor *doctor)
{
    char first[LOOK_TEXT] = "";
    granary_check_summary summary;
    granary_err err = granary_inspect_check(doctor->look.inspector, 0, remember_first, first, &summary);

    if (err != GRANARY_OK) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "fsck", NULL, "the instance could not be checked: %s",
                    granary_error_message());
    } else if (summary.damages > 0) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "fsck", "`granary fsck --verify` tells all",
                    "%" PRIu64 " damages, the first: %s", summary.damages, first);
    } else {
        doctor_tell(doctor, DOCTOR_OK, "fsck", NULL,
                    "%" PRIu64 " object%s in %" PRIu64 " segment%s and %" PRIu64 " spill file%s fit together",
                    summary.objects, cli_plural(summary.objects), summary.segments, cli_plural(summary.segments),
                    summary.spill_files, cli_plural(summary.spill_files));
    }
}

void
doctor_instance(struct doctor *doctor)
{
    if (doctor->look.inspector == NULL) {
        doctor_tell(doctor, DOCTOR_OK, "store", NULL, "no instance is up: only the machine was looked at");
        return;
    }
    tell_store(doctor);
    tell_mode(doctor);
    tell_health(doctor);
}
