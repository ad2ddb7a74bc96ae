/*
 * Memory for a few objects: writers that sleep, rooms they can spare, and one who needs nearly all of it.
 *
 * Writers carve objects from a room, and offer it whenever nothing is being made in it: room_offer(), room_take_back()
 * and room_install() of libclient/object/write/room.c. A writer sleeps for ever whenever it likes, as long as it has no object
 * open. The store takes rooms that are offered when somebody waits for memory: take() and close_taken() of store/spare.c;
 * it may die in the midst of that, and the next one ends it, spare_adopt(). What was sealed is spilled when memory is
 * needed, so it does not count for long. One more client waits for all of memory at once.
 *
 * A request for room is named in another word before it is sent, exchange() of socket.c; what was granted is taken by
 * exchanging that for 0, room_take_granted() of room.c. A store may die when it has granted a room, before it answers or
 * behind that, and the writer sleep for ever then. So the next store takes such a room back, take_unanswered() of
 * spare.c, and a writer that does wake finds that, and asks again.
 *
 * What must hold  Nobody writes into memory that is not its own.
 *                 What was put into a ring is there.
 *                 Who waits for room gets it: no state is an end in which somebody waits.
 *
 * Parameters      MEMORY   units; a room is one, the large object all of them
 *                 OBJECTS  that each writer puts at most
 *                 CRASHES  of the store
 * Controls        NOTAKE     rooms of who sleeps are not taken
 *                 NODRAIN    ... and what is in the ring is not executed before
 *                 NOCLAIM    a writer begins an object in a room that it offers
 *                 NOADOPT    a store does not end what the last one took
 *                 CLEARS     a writer clears the word when it finds its room taken
 *                 REGRANT    the segment is granted to its writer again before that has found it taken
 *                 UNASKED    what was granted when the store died is not taken back
 *                 BLIND      a writer uses what it was granted without a look at the word
 */

#define WRITERS  2
#define SEGMENTS 4 /* numbers, each the store's, or granted to one writer */
#define NOBODY   3

/* Shared memory. A page's word: SPARE(segment), with its lowest bit set when it was taken, or 0. */
#define SPARE(segment) ((segment) * 2)
#define TAKEN          1
byte word[WRITERS];
/* The other word: ASKED, with the same bit, or 0. */
#define ASKED 2
byte asked[WRITERS];
byte granted[WRITERS]; /* the segment that was granted for what is asked, as its record says; 0: none */
byte ring[WRITERS];        /* entries not yet executed ... */
byte ring_segment[WRITERS];
byte owner[SEGMENTS + 1] = NOBODY; /* of an open segment */

/* The store's: how many rooms more there may be; what it has answered. */
byte unused = MEMORY;
bool waits[WRITERS + 1];
byte answer[WRITERS]; /* 0: the store hung up */
bool died[WRITERS];   /* ... or died behind its answer */
bool adopts;          /* the next store does not serve yet */
byte crashes = CRASHES;

/* What is true. */
byte sealed; /* entries executed while their segment was open */
byte pushed; /* entries ever made */
bool served; /* the large one */

/* ---- the writers ---- */

proctype writer(byte me)
{
    byte left = OBJECTS;
    byte room; /* client->room; 0: none */

    do
    :: left == 0 -> break
    :: true -> break /* sleeps for ever */
    :: left > 0 ->
        /* room_take_back() */
#ifndef NOCLAIM
        atomic {
            if
            :: room > 0 && word[me] == SPARE(room) -> word[me] = 0
            :: room > 0 && word[me] == SPARE(room) + TAKEN ->
#ifdef CLEARS
                word[me] = 0;
#endif
                room = 0
            :: else -> skip
            fi
        };
#endif
        if
        :: room == 0 ->
ask:        atomic { !adopts -> asked[me] = ASKED; granted[me] = 0; died[me] = false; waits[me] = true };
            atomic {
                !waits[me] ->
                if
                :: died[me] -> goto asleep
                :: true -> skip
                fi;
                if
                :: answer[me] == 0 -> goto ask
                :: else -> skip
                fi;
#ifndef BLIND
                if
                :: asked[me] == ASKED + TAKEN -> goto ask
                :: else -> skip
                fi;
#endif
                asked[me] = 0;
                room = answer[me]
            }
        :: else -> skip
        fi;
        assert(owner[room] == me); /* writes */
        atomic { ring[me]++; ring_segment[me] = room; pushed++ };
        left--;
        word[me] = SPARE(room) /* room_settle(), room_offer() */
    od;
asleep:
    skip
}

/* Needs all of memory at once, and has no room. */
proctype large()
{
    waits[WRITERS] = true;
    !waits[WRITERS];
    served = true
}

/* ---- the store ---- */

inline execute(i)
{
    if
    :: ring[i] > 0 -> assert(owner[ring_segment[i]] == i); sealed = sealed + ring[i]; ring[i] = 0
    :: else -> skip
    fi
}

inline close_taken(i)
{
#ifndef NODRAIN
    execute(i);
#endif
    if
    :: owner[word[i] / 2] == i -> owner[word[i] / 2] = NOBODY; unused++
    :: else -> skip
    fi
}

inline take(i)
{
    word[i] = word[i] + TAKEN;
    if
    :: crashes > 0 -> crashes--; adopts = true /* the next store has the shared memory, and nothing else */
    :: true -> close_taken(i)
    fi
}

inline take_unanswered(i)
{
    if
    :: asked[i] > 0 && granted[i] > 0 ->
        asked[i] = ASKED + TAKEN;
        if
        :: crashes > 0 -> crashes--; adopts = true
        :: true ->
            execute(i);
            owner[granted[i]] = NOBODY; granted[i] = 0; unused++
        fi
    :: else -> skip
    fi
}

#define IS_OFFERED(i) (word[i] > 0 && word[i] % 2 == 0)
#define IS_TAKEN(i)   (word[i] % 2 == 1)
/* Any segment that is nobody's will do, but for spare_is_taken(). */
#ifdef REGRANT
#define MAY_HAVE(i, s) (owner[s] == NOBODY)
#else
#define MAY_HAVE(i, s) (owner[s] == NOBODY && word[i] != SPARE(s) + TAKEN)
#endif
/* Somebody waits in vain. */
#define SHORT (waits[WRITERS] || ((waits[0] || waits[1]) && unused == 0))

inline grant(i)
{
    if
    :: MAY_HAVE(i, 1) -> answer[i] = 1
    :: MAY_HAVE(i, 2) -> answer[i] = 2
    :: MAY_HAVE(i, 3) -> answer[i] = 3
    :: MAY_HAVE(i, 4) -> answer[i] = 4
    fi;
    owner[answer[i]] = i; granted[i] = answer[i]; unused--; waits[i] = false;
    if
    :: crashes > 0 -> crashes--; adopts = true; died[i] = true; answer[i] = 0
    :: crashes > 0 -> crashes--; adopts = true; died[i] = true
    :: true -> skip
    fi
}

proctype store()
{
end:
    do
    :: atomic { adopts ->
        adopts = false;
#ifndef NOADOPT
        if
        :: IS_TAKEN(0) -> close_taken(0)
        :: else -> skip
        fi;
        if
        :: IS_TAKEN(1) -> close_taken(1)
        :: else -> skip
        fi;
#endif
#ifndef UNASKED
        take_unanswered(0);
        take_unanswered(1)
#endif
        }
    :: atomic { !adopts && ring[0] > 0 -> execute(0) }
    :: atomic { !adopts && ring[1] > 0 -> execute(1) }
    :: atomic { !adopts && waits[0] && unused > 0 -> grant(0) }
    :: atomic { !adopts && waits[1] && unused > 0 -> grant(1) }
    :: atomic { !adopts && waits[WRITERS] && unused == MEMORY -> waits[WRITERS] = false }
#ifndef NOTAKE
    :: atomic { !adopts && SHORT && IS_OFFERED(0) -> take(0) }
    :: atomic { !adopts && SHORT && IS_OFFERED(1) -> take(1) }
#endif
    od
}

/* At the end of everything. */
proctype judge()
{
    timeout;
    assert(served && !waits[0] && !waits[1]);
    assert(sealed == pushed)
}

init
{
    atomic { run writer(0); run writer(1); run large(); run store(); run judge() }
}
