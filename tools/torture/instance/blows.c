/* Roles are dealt like cards, so that each kind of process has its turn in any short run. */
#include "torture/instance/blows.h"

#include <inttypes.h>
#include <string.h>

#include "torture/common/random.h"

static const char *const kind_names[] = {"kill", "term", "stop", "rest", "upgrade", "replace"};

static uint64_t
roll(struct dealer *dealer, uint64_t sides)
{
    return random_next(&dealer->seed) % sides;
}

static bool
takes_part(const struct dealer *dealer, enum role role)
{
    return (role != ROLE_STANDBY || dealer->standby) && (dealer->absent & 1u << role) == 0 &&
           (!dealer->gentle || role == ROLE_EXECUTOR || role >= ROLE_CLIENT);
}

static void
shuffle(struct dealer *dealer)
{
    uint64_t total = 0, roles = 0;

    for (enum role role = 0; role < ROLES; role++) {
        roles += takes_part(dealer, role);
        total += takes_part(dealer, role) && dealer->kills != NULL ? dealer->kills[role] : 0;
    }
    dealer->left = 0;
    for (enum role role = 0; role < ROLES; role++) {
        if (takes_part(dealer, role)) {
            dealer->deck[dealer->left++] = role;
            if (dealer->kills != NULL && dealer->kills[role] * roles < total) {
                dealer->deck[dealer->left++] = role;
            }
        }
    }
    for (unsigned i = dealer->left; i > 1; i--) {
        unsigned other = (unsigned)roll(dealer, i);
        enum role role = dealer->deck[i - 1];

        dealer->deck[i - 1] = dealer->deck[other];
        dealer->deck[other] = role;
    }
}

/* A store or supervisor that is told to end takes the objects along, as promised: that is no blow. */
static bool
may_be_told_to_end(enum role role)
{
    return role != ROLE_STORE && role != ROLE_SUPERVISOR;
}

struct blow
blows_draw(struct dealer *dealer)
{
    struct blow blow = {.kind = BLOW_KILL};
    uint64_t dice = roll(dealer, 100);

    /* One in eight falls together with the one before. */
    blow.after_ms = roll(dealer, 8) == 0 ? 0 : (int64_t)roll(dealer, (uint64_t)dealer->pause_ms * 16 / 7);
    dealer->since_rest_ms += blow.after_ms;
    dealer->since_upgrade_ms += blow.after_ms;
    if (dealer->since_rest_ms > dealer->rest_ms) {
        dealer->since_rest_ms = 0;
        blow.kind = BLOW_REST;
        return blow;
    }
    if (dealer->upgrade_ms > 0 && dealer->since_upgrade_ms > dealer->upgrade_ms) {
        dealer->since_upgrade_ms = 0;
        blow.kind = dealer->upgrades++ % 2 == 0 ? BLOW_UPGRADE : BLOW_REPLACE;
        return blow;
    }
    if (dealer->left == 0) {
        shuffle(dealer);
    }
    blow.victim = dealer->deck[--dealer->left];
    blow.which = (uint32_t)roll(dealer, 1000);
    if (dice >= 90) {
        blow.kind = BLOW_STOP;
        blow.stop_ms =
            dealer->stop_least_ms + (int64_t)roll(dealer, (uint64_t)(dealer->stop_most_ms - dealer->stop_least_ms) + 1);
    } else if (dice >= BLOWS_KILL_SHARE && may_be_told_to_end(blow.victim)) {
        blow.kind = BLOW_TERM;
    }
    return blow;
}

void
blows_write(FILE *file, const struct blow *blow)
{
    (void)fprintf(file, "%" PRId64 " %s", blow->after_ms, kind_names[blow->kind]);
    if (blow->kind < BLOW_REST) {
        (void)fprintf(file, " %s %" PRIu32, role_name(blow->victim), blow->which);
    }
    if (blow->kind == BLOW_STOP) {
        (void)fprintf(file, " %" PRId64, blow->stop_ms);
    }
    (void)fputc('\n', file);
}

bool
blows_read(const char *line, struct blow *ret_blow)
{
    struct blow blow = {.kind = BLOW_KILL};
    char kind[8] = "";
    char victim[16] = "";
    int words = sscanf(line, "%" SCNd64 " %7s %15s %" SCNu32 " %" SCNd64, &blow.after_ms, kind, victim, &blow.which,
                       &blow.stop_ms);

    while (blow.kind < BLOW_KINDS - 1 && strcmp(kind_names[blow.kind], kind) != 0) {
        blow.kind++;
    }
    blow.victim = blow.kind >= BLOW_REST ? ROLE_SUPERVISOR : role_find(victim);
    *ret_blow = blow;
    return strcmp(kind_names[blow.kind], kind) == 0 && blow.after_ms >= 0 && blow.victim < ROLES &&
           words >= (blow.kind >= BLOW_REST   ? 2
                     : blow.kind == BLOW_STOP ? 5
                                              : 4);
}
