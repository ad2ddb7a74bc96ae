/*
 * What a scheduler says, and what it has kept when it says so: one graph of one subtask, submitted again until it is
 * acknowledged.
 *
 * A turn is perform() of sched/server.c: keeper_keep() of sched/durable/keeper.c takes changes and commits them when somebody
 * waits for that; a reply that promises something waits for the disk, too (syncer_ask(), release_replies()). That a
 * subtask has ended is told at once and committed later (keeper_expire()); the executor's report is acknowledged when
 * all changes are kept (links_acknowledge()), and until then the executor tells it again to whom it registers with.
 * Every commit looks at the fence in its transaction (keeper_check()). Who takes over locks the state (state_lock()),
 * reads it (restore_all()), learns from executors what they have (manager_executor_claims(), manager_done()), and
 * only then gives subtasks and hears clients (manager_claims_end(), clients_are_heard()).
 *
 * A scheduler is killed anywhere and the next one starts; or a standby takes over from one that was only slow (STALE),
 * which goes on until it looks. Executors live on. The machine's power may fail (POWER), which takes executors, and
 * what was not synced. (A graph with `passing` is promised nothing of a power cut; its answers need the commit alone.)
 *
 * What must hold  A graph that was acknowledged is known to every later scheduler.
 *                 A subtask that runs or has ended is not run again: its result is published once.
 *                 What a client was told has ended has ended for every later scheduler it asks.
 *                 What is kept is never undone.
 *
 * Parameters      KILLS   schedulers after the first
 * Controls        NOCOMMIT   a submission is acknowledged before it is committed
 *                 NOSYNC     ... or before it is on the disk
 *                 NOFENCE    a commit does not look at the fence
 *                 LATEFENCE  ... or not in its transaction
 *                 NOCLAIMS   subtasks are given before executors have told what they have
 *                 DEAF       clients are heard before that
 *                 EARLYACK   a report is acknowledged before its change is kept
 */

#ifndef STALE
#define STALE 0
#endif
#ifndef POWER
#define POWER 0
#endif

#define NOTHING 0
#define RUNNING 1
#define ENDED   2

/* The state: as processes see it, and as a power cut leaves it. */
byte kept, disk, fence;

/* The executor: what it has, and with whom it is registered. */
bool running, report;
byte registered;

/* What is true, or was said. */
bool acknowledged, told, has_run;
bool up[KILLS + 3], over[KILLS + 3];
byte power = POWER;

active proctype executor()
{
end:
    do
    :: atomic { running -> running = false; report = true; has_run = true }
    od
}

#define MAY_DIE                                                                                                        \
    if                                                                                                                 \
    :: me <= KILLS -> goto dead                                                                                        \
    :: skip                                                                                                            \
    fi

/* The state's transaction. Another one's fence: it stops. */
inline commit(what)
{
#ifdef LATEFENCE
    if
    :: fence == me -> skip
    :: else -> goto dead
    fi;
    atomic { assert(kept <= what); kept = what }
#else
    atomic {
        if
#ifdef NOFENCE
        :: true -> assert(kept <= what); kept = what
#else
        :: fence == me -> assert(kept <= what); kept = what
        :: else -> goto dead
#endif
        fi
    }
#endif
}

inline acknowledge()
{
#ifndef NOSYNC
    MAY_DIE;
    disk = kept;
#endif
    MAY_DIE;
    acknowledged = true
}

#ifdef NOCLAIMS
#define CLAIMED true
#else
#define CLAIMED (registered == me)
#endif
#ifdef DEAF
#define HEARS true
#else
#define HEARS (registered == me)
#endif

proctype scheduler(byte me)
{
    byte graph;
    bool given, seen, changed;

    (over[me - 1] || (STALE && up[me - 1]));
    atomic { fence = me; graph = kept; up[me] = true; assert(!acknowledged || graph != NOTHING) }
    do
    :: me <= KILLS -> goto dead
    :: atomic { power > 0 && me <= KILLS -> /* whatever was told of results is void: they lay in memory */
        power--; running = false; report = false; has_run = false; told = false; kept = disk;
        goto dead }
    :: atomic { registered < me -> registered = me; given = given || running }
    :: HEARS && !acknowledged && graph == NOTHING ->
        graph = RUNNING;
        MAY_DIE;
#ifndef NOCOMMIT
        commit(RUNNING);
#endif
        acknowledge();
#ifdef NOCOMMIT
        MAY_DIE;
        commit(RUNNING)
#endif
    :: HEARS && !acknowledged && graph != NOTHING -> acknowledge()
    :: atomic { CLAIMED && registered <= me && graph == RUNNING && acknowledged && !given && !report ->
        assert(!running && !has_run);
        given = true; running = true }
    :: atomic { registered == me && report && !seen -> seen = true; changed = graph == RUNNING; graph = ENDED }
    :: atomic { HEARS && registered <= me && graph == ENDED && !told -> told = true }
    :: atomic { HEARS && registered <= me && told && graph != ENDED -> assert(registered == me && report) }
    :: changed -> commit(ENDED); changed = false
#ifdef EARLYACK
    :: atomic { registered == me && report && seen -> report = false }
#else
    :: atomic { registered == me && report && seen && !changed -> report = false }
#endif
    :: me > KILLS && acknowledged && told && !changed && !report -> break
    od;
    assert(kept == ENDED);
dead:
    over[me] = true
}

init
{
    byte i;

    atomic {
        over[0] = true;
        for (i : 1 .. KILLS + 1) {
            run scheduler(i)
        }
    }
}
