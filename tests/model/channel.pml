/*
 * Messages of one writer to readers who share them, of include/contract/channel.h: take, done, sweep and mourn. A message is
 * one position; the ring has SIZE of them.
 *
 * A reader claims the message at `taken`, then exchanges `taken` for what is behind it and for its own number. Who takes
 * next helps the one before: it marks that one's claim as owned. The writer sweeps up to the least of `taken` and the claims, and
 * writes over what was swept. A reader may be killed anywhere; another one looks then whether the dead one had taken what it
 * claims, and has that in its stead: it claims it, too, stops sweeps that have looked before, and ends the dead one's claim.
 * Readers who mourn take turns, as by GR_CHANNEL_LOCK_MEMBERS.
 *
 * What must hold  A message that a reader has is not written over. Each message is done with once. It is given to a second
 *                 reader only when the first one was killed while it had it. None is left when the readers end.
 *
 * Parameters      MESSAGES that are put
 *                 READERS
 *                 KILLS    of readers; one stays
 * Controls        NOHELP   who takes does not help the one before
 *                 NOCLAIM  a reader claims when it has taken
 *                 NOLOOK   a sweep does not look at claims
 *                 EARLY    a sweep looks at claims before it looks at `taken`
 *                 TRUST    a mourner believes every claim of a message that was taken
 *                 STALE    a mourner looks at the claim before `taken` alone
 *                 UNSEEN   a mourner does not stop sweeps that looked at its claim before it was there
 *                 GAP      a mourner ends the dead one's claim before it has made its own
 *                 DOUBLE   a mourner leaves equal claims of other dead readers
 */

#define SIZE 2
#define NOBODY READERS

/* A claim is one word: position * 3 + state */
#define NONE      0
#define TENTATIVE 1
#define OWNED     2
#define CLAIM(position, state) ((position) * 3 + (state))
#define STATE(claim)    ((claim) % 3)
#define POSITION(claim) ((claim) / 3)
/* taken: position * (READERS + 1) + who took last */
#define TAKEN(position, who) ((position) * (READERS + 1) + (who))
#define AT(word)  ((word) / (READERS + 1))
#define WHO(word) ((word) % (READERS + 1))

byte slot[SIZE];
byte head;
byte swept;
byte generation; /* a part of swept's word */
byte taken = NOBODY;
byte claim[READERS];
bool dead[READERS];
byte alive = READERS;
byte kills = KILLS;
bool mourning;

/* Ghosts: what is true, whatever the words say. */
byte held[MESSAGES]; /* by a reader that lives: its number + 1 */
byte given[MESSAGES];
byte killed_with[MESSAGES];
byte finished[MESSAGES];

active proctype writer()
{
    byte n, s, g, limit, c, i;

    do
    :: n < MESSAGES ->
        do
        :: head - swept < SIZE -> break
        :: else ->
            d_step { s = swept; g = generation };
            limit = head;
#ifndef EARLY
            if
            :: AT(taken) < limit -> limit = AT(taken)
            :: else
            fi;
#endif
            i = 0;
            do
#ifndef NOLOOK
            :: i < READERS ->
                c = claim[i];
                if
                :: STATE(c) != NONE && POSITION(c) >= s && POSITION(c) < limit -> limit = POSITION(c)
                :: else
                fi;
                i++
#endif
            :: else -> break
            od;
#ifdef EARLY
            if
            :: AT(taken) < limit -> limit = AT(taken)
            :: else
            fi;
#endif
            atomic {
                if
                :: generation == g && limit > s -> swept = limit
                :: else
                fi
            }
        od;
        slot[n % SIZE] = 255; /* half written */
        slot[n % SIZE] = n;
        head++;
        n++
    :: else -> break
    od
}

/* This reader has the message at p. */
inline use()
{
    atomic {
        assert(finished[p] == 0);
        given[p]++;
        assert(given[p] <= 1 + killed_with[p])
    };
    assert(slot[p % SIZE] == p);
    if
    :: atomic { kills > 0 && alive > 1 -> kills--; goto killed }
    :: skip
    fi;
    assert(slot[p % SIZE] == p);
    d_step {
        claim[me] = NONE;
        held[p] = 0;
        finished[p]++
    }
}

inline die()
{
    if
    :: atomic { kills > 0 && alive > 1 -> kills--; goto killed }
    :: skip
    fi
}

inline mourn(b)
{
    c = claim[b];
    p = POSITION(c);
    if
    :: STATE(c) == NONE
    :: STATE(c) != NONE && has && POSITION(c) == mine ->
#ifndef DOUBLE
        claim[b] = NONE
#else
        skip
#endif
    :: STATE(c) != NONE && has && POSITION(c) != mine
    :: STATE(c) != NONE && !has ->
        t = taken;
#ifndef STALE
        c = claim[b];
#endif
        if
#ifdef TRUST
        :: AT(t) > p ->
#else
        :: STATE(c) == OWNED || (WHO(t) == b && AT(t) > p) ->
#endif
#ifdef GAP
            claim[b] = NONE;
            die();
            claim[me] = CLAIM(p, OWNED);
#else
            claim[me] = CLAIM(p, OWNED);
            held[p] = me + 1;
            die();
#ifndef UNSEEN
            generation++;
#endif
            claim[b] = NONE;
#endif
            held[p] = me + 1;
            has = true;
            mine = p
        :: else -> claim[b] = NONE
        fi
    fi
}

active [READERS] proctype reader()
{
    byte me = _pid - 1;
    byte t, c, p, mine, i;
    bool has, ok, locked;

    do
    /* All was put and taken, and no dead reader has anything: the end. */
    :: atomic {
           head == MESSAGES && AT(taken) == MESSAGES && alive == 1 && !mourning ->
           ok = true;
           i = 0;
           do
           :: i < READERS -> ok = ok && (i == me || STATE(claim[i]) == NONE); i++
           :: else -> break
           od;
           if
           :: ok -> break
           :: else
           fi
       }
    /* The others may end before: one stays. */
    :: atomic { head == MESSAGES && AT(taken) == MESSAGES && alive > 1 -> alive--; goto left }
    /* Take. */
    :: t = taken;
        if
        :: AT(t) < head ->
            p = AT(t);
#ifndef NOHELP
            if
            :: WHO(t) != NOBODY && WHO(t) != me ->
                c = claim[WHO(t)];
                if
                :: STATE(c) == TENTATIVE && POSITION(c) < AT(t) ->
                    atomic {
                        if
                        :: claim[WHO(t)] == c -> claim[WHO(t)] = CLAIM(POSITION(c), OWNED)
                        :: else
                        fi
                    }
                :: else
                fi
            :: else
            fi;
#endif
#ifndef NOCLAIM
            claim[me] = CLAIM(p, TENTATIVE);
            die();
#endif
            atomic {
                if
                :: taken == t -> taken = TAKEN(p + 1, me); ok = true; held[p] = me + 1
                :: else -> ok = false
                fi
            };
            die();
#ifdef NOCLAIM
            if
            :: ok -> claim[me] = CLAIM(p, TENTATIVE)
            :: else
            fi;
#endif
            if
            :: ok -> use()
            :: else -> claim[me] = NONE
            fi
        :: else
        fi
    /* Mourn. */
    :: atomic { !mourning && alive < READERS -> mourning = true; locked = true };
        has = false;
        i = 0;
        do
        :: i < READERS ->
            if
            :: dead[i] -> mourn(i)
            :: else
            fi;
            i++
        :: else -> break
        od;
        atomic { mourning = false; locked = false };
        if
        :: has -> p = mine; use()
        :: else
        fi
    od;
    /* The last one: nothing is left. */
    i = 0;
    do
    :: i < MESSAGES -> assert(finished[i] == 1); i++
    :: else -> break
    od;
    goto left;
killed:
    atomic {
        /* The kernel ends its locks. What it had goes to another one. */
        if
        :: locked -> mourning = false
        :: else
        fi;
        i = 0;
        do
        :: i < MESSAGES ->
            if
            :: held[i] == me + 1 -> killed_with[i]++; held[i] = 0
            :: else
            fi;
            i++
        :: else -> break
        od;
        dead[me] = true;
        alive--
    };
left:
    skip
}
