/*
 * Waiting for a write to a mutable table, of include/contract/mutable.h: sleepers and writers meet at two words, `waited`
 * and the bell, a futex.
 *
 * Who sleeps reads the bell, sets `waited`, looks at the newest write, and sleeps while the bell is what it was. Who has
 * committed looks at `waited`; where it is set, it clears it, moves the bell on, and wakes all. A sleeper may be killed
 * anywhere.
 *
 * What must hold  Nobody sleeps for ever beside a write that is later than what it waits for: such an end is no valid one.
 *
 * Parameters      WRITES   of each writer
 *                 SLEEPERS each of which waits for the first write, then for a later one
 *                 KILLS    of sleepers
 * Controls        BLIND    a writer looks at `waited` before its write is there
 *                 EARLY    a sleeper looks at the newest write before it sets `waited`
 *                 LATE     a sleeper reads the bell when it has looked
 *                 AFTER    a writer clears `waited` when it has rung
 */

#define WRITERS 2

byte newest;
bool waited;
byte bell;
byte kills = KILLS;
byte done; /* writers */

inline ring()
{
    if
    :: seen ->
#ifdef AFTER
        bell++;
        waited = false
#else
        waited = false;
        bell++
#endif
    :: else
    fi;
    seen = false
}

active [WRITERS] proctype writer()
{
    byte n;
    bool seen;

    do
    :: n < WRITES ->
#ifdef BLIND
        seen = waited;
        newest++;
#else
        newest++;
        seen = waited;
#endif
        ring();
        n++
    :: else -> break
    od;
    done++
}

active [SLEEPERS] proctype sleeper()
{
    byte after, was;
    bool found;

    do
    :: after < 2 ->
        found = false;
#ifdef LATE
        waited = true;
        found = newest > after;
        was = bell;
#else
        was = bell;
#ifdef EARLY
        found = newest > after;
        waited = true;
#else
        waited = true;
        found = newest > after;
#endif
#endif
        if
        :: found -> after = newest
        :: else ->
            /* Asleep. When no more writes come and there is none to be seen, it may sleep on. */
            if
            :: bell != was
            :: done == WRITERS && newest <= after -> break
            :: kills > 0 -> kills--; break
            fi
        fi
    :: else -> break
    od
}
