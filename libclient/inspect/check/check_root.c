/* The root's tables, and that the files of the instance are those that they name. */
#include <string.h>

#include "inspect/check/check.h"

static bool
has_session(const struct check *check, uint32_t session)
{
    for (size_t i = 0; i < check->session_count; i++) {
        if (check->sessions[i] == session) {
            return true;
        }
    }
    return false;
}

static void
check_clients(struct check *check)
{
    for (size_t i = 0; i < check->client_count; i++) {
        const struct client_copy *client = &check->clients[i];

        if (client->number >= check->limits.client) {
            check_found(check, GRANARY_FINDING_DAMAGE, "client-number", client->session, NULL, client->number,
                        "root: client %u (pid %u) has a number that was not given yet: the next one is %u",
                        client->number, client->pid, check->limits.client);
        }
        if (!has_session(check, client->session)) {
            check_found(check, check_torn(check), "client-session", client->session, NULL, client->number,
                        "root: client %u (pid %u) is of session %u, which does not exist", client->number, client->pid,
                        client->session);
        }
        if (check_file(check, client->session, "lease", client->number) == NULL) {
            check_found(check, check_torn(check), "lease-missing", client->session, NULL, client->number,
                        "s%u.lease%u: client %u (pid %u) has no lease page", client->session, client->number,
                        client->number, client->pid);
        }
        for (size_t j = 0; j < i; j++) {
            if (check->clients[j].number == client->number) {
                check_found(check, GRANARY_FINDING_DAMAGE, "client-twice", client->session, NULL, client->number,
                            "root: two records of client %u", client->number);
            }
        }
    }
}

static void
check_segments(struct check *check)
{
    for (size_t i = 0; i < check->segment_count; i++) {
        const struct segment_copy *segment = &check->segments[i];

        if (segment->state > GR_SEGMENT_IDLE) {
            check_found(check, GRANARY_FINDING_DAMAGE, "segment-state", segment->session, NULL, segment->number,
                        "root: segment %u is in state %u, which does not exist", segment->number, segment->state);
        }
        if (segment->number % GR_MAX_SEGMENTS != segment->place || segment->number >= check->limits.segment) {
            check_found(check, GRANARY_FINDING_DAMAGE, "segment-number", segment->session, NULL, segment->number,
                        "root: segment %u at place %u: %s", segment->number, segment->place,
                        segment->number >= check->limits.segment ? "its number was not given yet"
                                                                 : "its number belongs elsewhere");
        }
        if (i > 0 && check->segments[i - 1].number == segment->number) {
            check_found(check, GRANARY_FINDING_DAMAGE, "segment-twice", segment->session, NULL, segment->number,
                        "root: two records of segment %u", segment->number);
        }
        if (!has_session(check, segment->session)) {
            check_found(check, check_torn(check), "segment-session", segment->session, NULL, segment->number,
                        "root: segment %u is of session %u, which does not exist", segment->number, segment->session);
        }
    }
}

static void
check_files(struct check *check)
{
    for (size_t i = 0; i < check->file_count; i++) {
        const struct file_entry *file = &check->files[i];
        const struct segment_copy *segment = check_segment(check, file->number);

        if (strcmp(file->kind, "data") == 0 && (segment == NULL || segment->session != file->session)) {
            check_found(check, check_torn(check), "segment-stray", file->session, NULL, file->number,
                        "%s: the root knows no such segment; %llu bytes of memory", file->name,
                        (unsigned long long)file->resident);
        } else if (strcmp(file->kind, "lease") == 0 && check_client(check, file->number) == NULL) {
            check_found(check, check_torn(check), "lease-stray", file->session, NULL, file->number,
                        "%s: the root knows no such client", file->name);
        } else if ((strcmp(file->kind, "index") == 0 || strcmp(file->kind, "ledger") == 0 ||
                    strcmp(file->kind, "counters") == 0 || strcmp(file->kind, "mutables") == 0) &&
                   !has_session(check, file->session)) {
            check_found(check, check_torn(check), "session-stray", file->session, NULL, 0,
                        "%s: its session has no control page", file->name);
        }
    }
}

static void
check_control(struct check *check, uint32_t session)
{
    struct control_copy control;
    granary_err err = control_read(check->inspector, session, &control);

    if (err == GRANARY_ENOENT) {
        return; /* it went since */
    }
    if (err != GRANARY_OK) {
        check_found(check, GRANARY_FINDING_DAMAGE, "control", session, NULL, 0, "%s", granary_error_message());
        return;
    }
    if (session >= check->limits.session) {
        check_found(check, GRANARY_FINDING_DAMAGE, "session-number", session, NULL, 0,
                    "s%u.control: its number was not given yet: the next one is %u", session, check->limits.session);
    }
    if (control.state < GR_CONTROL_SERVING || control.state > GR_CONTROL_CLOSED) {
        check_found(check, GRANARY_FINDING_DAMAGE, "control-state", session, NULL, 0,
                    "s%u.control: session '%s' is in state %u, which does not exist", session, control.name,
                    control.state);
    }
    if (control.epoch != check->info.epoch) {
        check_found(check, control.epoch > check->info.epoch ? GRANARY_FINDING_DAMAGE : check_torn(check),
                    "control-epoch", session, NULL, 0,
                    "s%u.control: session '%s' is of epoch %llu, the instance of epoch %llu", session, control.name,
                    (unsigned long long)control.epoch, (unsigned long long)check->info.epoch);
    }
}

void
check_root(struct check *check)
{
    check_clients(check);
    check_segments(check);
    if (check->info.epoch > 0) { /* without a root, every file would be a stray */
        check_files(check);
        for (size_t i = 0; i < check->session_count; i++) {
            check_control(check, check->sessions[i]);
        }
    }
}
