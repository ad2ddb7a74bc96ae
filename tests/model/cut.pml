/*
 * Reads of mutable tables at a time, of include/contract/mutable.h: writers commit entries to lanes of their own, readers
 * cut at a time, and nobody waits for anybody.
 *
 * A lane's word is the count of committed entries and a state. A writer fills the slot behind them, tells
 * its time, sets the word to PENDING, looks at the table's frontier, and commits by exchanging the word for one entry more. A
 * reader at T raises the frontier to T. Then it looks at each lane's word, and revokes an entry that is pending at or
 * before T. Whoever comes second finds what the other did. A writer may be stopped anywhere for any time, or die; the
 * lane of a dead one gets another writer.
 *
 * What must hold  A cut is final: when a read at T has been answered, nothing at or before T becomes visible any more.
 *                 A read at T is answered with all that is committed at or before T, in every lane of every table.
 *                 Who commits has its entry in the lane, under its time.
 *
 * Parameters      ENTRIES  that each lane has room for
 *                 READERS  each of which cuts once, at any time
 *                 KILLS    of writers, whose times may be any: what a clock or a frontier gives is among them
 * Controls        BLIND    a writer does not look at the frontier
 *                 EARLY    ... or looks before its word says PENDING
 *                 LATE     a reader raises the frontier when it has looked at the lanes
 *                 LENIENT  ... or does not revoke what is pending
 *                 ONCE     ... or does not look at the word again behind the time that is pending
 *                 PLAIN    a writer commits without an exchange
 *                 INHERIT  who takes a lane over commits what is pending there
 *                 ONE      a cut of several tables raises the frontier of the first alone
 */

#define LANES  2 /* lane l is of table l: a cut is one over both */

#define IDLE    0
#define PENDING 1
#define REVOKED 2
#define WITH(count, state) ((count) * 4 + (state))
#define STATE(word)        ((word) % 4)
#define COUNT(word)        ((word) / 4)

/* Shared memory. */
byte frontier[LANES];
byte word[LANES];
byte pending[LANES];        /* times */
byte slot[LANES * ENTRIES]; /* times */

byte kills = KILLS;

/* What is true. */
byte answered;                   /* the latest time that a read was answered for */
byte truth[LANES * ENTRIES];     /* the times that writers have committed */
byte committed[LANES];

#define AT(lane, n) ((lane) * ENTRIES + (n))

inline commit()
{
    /* In one step with the exchange, what the reader was told is still so. */
    truth[AT(me, n)] = t;
    committed[me] = n + 1;
    n++;
    assert(t > answered);
    t = 0;
    now = 0
}

#define MAY_DIE                                \
    atomic {                                   \
        if                                     \
        :: kills > 0 -> kills--; goto born     \
        :: skip                                \
        fi                                     \
    }

/* The writers of a lane, one after the other: who is killed does nothing more, and another one has the lane. */
proctype writer(byte me)
{
    byte n, t, now;

born:
    atomic { now = word[me]; n = COUNT(now); t = 0 }
#ifdef INHERIT
    if
    :: STATE(now) == PENDING ->
        atomic { t = slot[AT(me, n)]; word[me] = WITH(n + 1, IDLE); commit() }
    :: STATE(now) == REVOKED -> word[me] = WITH(n, IDLE)
    :: else
    fi;
#else
    if
    :: STATE(now) != IDLE -> word[me] = WITH(n, IDLE)
    :: else
    fi;
#endif
next:
    if
    :: n < ENTRIES -> skip
    :: goto done
    fi;
    if
    :: t = 1
    :: t = 2
    fi;
#ifdef EARLY
    if
    :: t <= frontier[me] -> goto next
    :: else
    fi;
#endif
    slot[AT(me, n)] = t;
    pending[me] = t;
    word[me] = WITH(n, PENDING);
    MAY_DIE;
#if !defined(BLIND) && !defined(EARLY)
    if
    :: t <= frontier[me] -> goto withdraw
    :: else
    fi;
#endif
    MAY_DIE;
#ifdef PLAIN
    now = word[me];
    if
    :: now == WITH(n, PENDING) -> atomic { word[me] = WITH(n + 1, IDLE); commit(); goto next }
    :: else
    fi;
#else
    atomic {
        if
        :: word[me] == WITH(n, PENDING) -> word[me] = WITH(n + 1, IDLE); commit(); goto next
        :: else
        fi
    }
#endif
withdraw:
    word[me] = WITH(n, IDLE);
    goto next; /* refused, or moved forward: another time */
done:
    atomic { n = 0; t = 0; now = 0 }
}

/* One cut over all tables. */
proctype reader()
{
    byte t, lane, now, n, i, seen[LANES];

    if
    :: t = 1
    :: t = 2
    fi;
#ifndef LATE
    do
    :: lane < LANES ->
        atomic {
            if
            :: frontier[lane] < t -> frontier[lane] = t
            :: else
            fi;
#ifdef ONE
            lane = LANES
#else
            lane++
#endif
        }
    :: else -> break
    od;
#endif
    lane = 0;
    do
    :: lane < LANES ->
look:
        atomic { now = word[lane]; n = COUNT(now) }
#ifndef LENIENT
        if
        :: STATE(now) == PENDING ->
            if
            :: pending[lane] <= t ->
                atomic {
                    if
                    :: word[lane] == now -> word[lane] = WITH(n, REVOKED)
                    :: else -> goto look
                    fi
                }
#ifdef ONCE
            :: else
#else
            :: else ->
                if
                :: word[lane] != now -> goto look
                :: else
                fi
#endif
            fi
        :: else
        fi;
#endif
        atomic {
            do
            :: i < n ->
                assert(slot[AT(lane, i)] == truth[AT(lane, i)]);
                seen[lane] = seen[lane] + (slot[AT(lane, i)] <= t -> 1 : 0);
                i++
            :: else -> break
            od;
            i = 0;
            lane++
        }
    :: else -> break
    od;
    atomic {
        lane = 0;
        do
        :: lane < LANES ->
            n = 0;
            i = 0;
#ifdef LATE
            frontier[lane] = (frontier[lane] < t -> t : frontier[lane]);
#endif
            do
            :: i < committed[lane] -> n = n + (truth[AT(lane, i)] <= t -> 1 : 0); i++
            :: else -> break
            od;
            assert(seen[lane] == n);
            lane++
        :: else -> break
        od;
        answered = (t > answered -> t : answered);
        lane = 0; n = 0; i = 0; t = 0; now = 0; seen[0] = 0; seen[1] = 0
    }
}

init
{
    byte i;

    atomic {
        run writer(0); run writer(1);
        i = 0;
        do
        :: i < READERS -> run reader(); i++
        :: else -> break
        od
    }
}
