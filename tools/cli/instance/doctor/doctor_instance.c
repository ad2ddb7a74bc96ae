/* The instance itself. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/instance/doctor/doctor.h"
#include "cli/look/pinners.h"
#include "cli/look/waits.h"
#include "cli/print/show.h"
#include "contract/mutable.h"

static void
tell_store(struct doctor *doctor)
{
    const granary_instance_info *info = &doctor->look.info;
    char age[32];

    switch (info->life) {
    case GRANARY_STORE_SERVING:
    case GRANARY_STORE_ADOPTING:
        doctor_tell(doctor, DOCTOR_OK, "store", NULL, "pid %u serves for %s, epoch %" PRIu64, info->pid,
                    show_age(info->started_ms, age), info->epoch);
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
        (void)show_text(finding->text, first);
    }
}

static void
tell_health(struct doctor *doctor)
{
    char first[SHOW_TEXT] = "";
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

#define SHORT_SHARE 20u /* less than this part of memory can be had: a twentieth */

/* What writers can have: all but what is pinned or being written. Little of it is too little for somebody's put. */
static void
tell_memory(struct doctor *doctor)
{
    granary_inspect_session_info *sessions = NULL;
    granary_store_stat stat = {0};
    size_t count = 0;
    struct pinners pinners;
    uint64_t held, left;
    bool crowded;
    char size[5][32];

    /* Every session shows the same account. */
    if (granary_inspect_sessions(doctor->look.inspector, &sessions, &count) == GRANARY_OK && count > 0) {
        (void)granary_inspect_stat(doctor->look.inspector, sessions[0].number, &stat);
    }
    free(sessions);
    if (stat.capacity_bytes == 0) {
        return;
    }
    crowded = pinners_crowd(doctor->look.inspector, stat.capacity_bytes, &pinners);
    held = pinners.bytes + stat.writing_bytes + stat.reserved_bytes + stat.retiring_bytes;
    left = held < stat.capacity_bytes ? stat.capacity_bytes - held : 0;
    if (!crowded && left > stat.capacity_bytes / SHORT_SHARE) {
        doctor_tell(doctor, DOCTOR_OK, "room", NULL, "%s of %s can be had by writers", cli_format_size(left, size[0]),
                    cli_format_size(stat.capacity_bytes, size[1]));
    } else {
        doctor_tell(
            doctor, DOCTOR_ATTENTION, "room",
            pinners.fix[0] != '\0' ? pinners.fix
                                   : "`granary top --once` names who writes, `granary leases` who reads; or give "
                                     "the store more --memory",
            "memory is held: %s of %s are in %" PRIu64
            " pinned object%s, %s are being written, %s are deleted and still "
            "leased: puts of more than %s will fail%s%s",
            cli_format_size(pinners.bytes, size[0]), cli_format_size(stat.capacity_bytes, size[1]), pinners.objects,
            cli_plural(pinners.objects), cli_format_size(stat.writing_bytes + stat.reserved_bytes, size[2]),
            cli_format_size(stat.retiring_bytes, size[3]), cli_format_size(left, size[4]),
            pinners.who[0] != '\0' ? "; the most is pinned, " : "", pinners.who);
    }
}

/* A wait that is longer than what it waits for takes; else how many there are. */
static void
tell_waits(struct doctor *doctor)
{
    granary_wait_info *waits = NULL;
    const granary_wait_info *worst = NULL;
    char text[SHOW_TEXT];
    size_t late = 0;
    size_t count = 0;

    if (granary_inspect_waits(doctor->look.inspector, &waits, &count) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (waits_too_long(&doctor->look, &waits[i])) {
            worst = worst == NULL || waits[i].since_ms < worst->since_ms ? &waits[i] : worst;
            late++;
        }
    }
    if (worst != NULL) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "waits", "`granary why` names all, and who holds what they wait for",
                    "%zu client%s too long; longest: %s", late, late == 1 ? " waits" : "s wait",
                    waits_sentence(&doctor->look, worst, text));
    } else {
        doctor_tell(doctor, DOCTOR_OK, "waits", NULL, "%zu client%s now, none for long", count,
                    count == 1 ? " waits" : "s wait");
    }
    free(waits);
}

/* ---- tables that change ---- */

#define NEAR_NUMERATOR   9u /* nine tenths of a limit are near it */
#define NEAR_DENOMINATOR 10u
#define LOG_SHARE        8u /* a log of more than an eighth of memory */

static bool
is_near(uint64_t number, uint64_t limit)
{
    return number * NEAR_DENOMINATOR >= limit * NEAR_NUMERATOR;
}

/* Tables of one session. */
static void
tell_session_tables(struct doctor *doctor, const granary_table_info *infos, size_t count)
{
    const granary_table_info *busiest = &infos[0], *longest = &infos[0];
    uint64_t left = 0;
    char size[32];

    for (size_t i = 0; i < count; i++) {
        busiest = infos[i].writers > busiest->writers ? &infos[i] : busiest;
        longest = infos[i].log_bytes > longest->log_bytes ? &infos[i] : longest;
        left += infos[i].deleted ? infos[i].objects : 0;
    }
    if (is_near(count, GR_MUTABLES_MOST)) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "tables", "`granary table delete` or `seal` those that are done with",
                    "session %u has %zu tables that change, of %u", infos->session, count, GR_MUTABLES_MOST);
    } else if (is_near(busiest->writers, GR_MUTABLE_LANES)) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "tables", "close writers, or let each write for several",
                    "table '%s' has %u writers, of %u", busiest->name, busiest->writers, GR_MUTABLE_LANES);
    } else if (longest->log_bytes > doctor->look.info.capacity_bytes / LOG_SHARE) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "tables",
                    "seal it, and go on with another one: logs stay with their table", "the log of table '%s' takes %s",
                    longest->name, cli_format_size(longest->log_bytes, size));
    } else if (left > 0) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "tables", "the next table that is made in the session lets them go",
                    "session %u keeps %" PRIu64 " objects of tables that were deleted", infos->session, left);
    } else {
        doctor_tell(
            doctor, DOCTOR_OK, "tables", NULL,
            "session %u has %zu of %u tables that change, with at most %u of %u writers, and logs of at most %s",
            infos->session, count, GR_MUTABLES_MOST, busiest->writers, GR_MUTABLE_LANES,
            cli_format_size(longest->log_bytes, size));
    }
}

static void
tell_tables(struct doctor *doctor)
{
    granary_table_info *infos = NULL;
    size_t count = 0;

    if (granary_inspect_tables(doctor->look.inspector, &infos, &count) != GRANARY_OK) {
        return;
    }
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && infos[to].session == infos[from].session; to++) {
        }
        tell_session_tables(doctor, infos + from, to - from);
    }
    free(infos);
}

void
doctor_instance(struct doctor *doctor)
{
    if (doctor->look.inspector == NULL) {
        doctor_tell(doctor, DOCTOR_OK, "store", NULL, "%s: only the machine was looked at", doctor->trouble);
        return;
    }
    tell_store(doctor);
    tell_mode(doctor);
    tell_health(doctor);
    tell_memory(doctor);
    tell_waits(doctor);
    tell_tables(doctor);
}
