/*
 * A writer hands an object over and may die at any moment; the store may die as well, and the next one goes on.
 *
 * The writer fills its buffer, writes an entry into its ring and moves the head on: fill_entry(), ring_add() of
 * libclient/object/write/ring.c. The store executes entries: ring_drain(), execute() of store/ring.c, seal() of
 * store/object.c. The next store adopts: objects and their segments first, then the entry that was under way
 * (adopt_finish_entries(), handle_again()), then it looks who has died (adopt_drop_gone()). Who has died is drained and
 * buried: leave_session() of store/client.c, memory_writer_gone().
 *
 * What must hold  An object that is there has its bytes, and the memory under it is its own.
 *                 What the writer put into its ring is executed once: an object is sealed once, and accounted for once.
 *                 A writer that lives is answered OK, with what it asked for done; also the second time it asks for the
 *                 same, it hears EEXIST and not OK.
 *                 When a dead writer is buried, what it had put into its ring is there, and the rest of its memory is
 *                 the store's again.
 *
 * Controls        NOBYTES      the head moves on before the bytes are there
 *                 NOBEGUN      the record does not say which entry is under way
 *                 TAILFIRST    the tail passes an entry before its answer is there
 *                 NODRAIN      a dead writer's ring is not drained
 *                 EARLYCLOSE   its memory is taken before its ring is drained
 *                 NOACCOUNT    the next store does not count what lies in segments
 *                 AGAINSEALS   an entry that was under way is executed like any other
 */

#define ENTRIES 2 /* seal the object, twice: the second one is refused */

#define NONE   0
#define OK     1
#define EEXIST 2
#define EINVAL 3

/* Shared memory: outlives everybody. */
bool filled;          /* the object's bytes are in its segment */
byte head;            /* of the ring, in the writer's page */
byte status[ENTRIES]; /* of its entries */
byte begun;           /* in the store's record of the client: entry number + 1 */
byte tail;            /* ... and how far the ring has been executed */
bool recorded = true; /* ... and that it is there */
bool sealed;          /* a slot in the index is SEALED */
bool open = true;     /* the segment is the writer's */

/* The store's own memory: the next one has to find it out. */
byte live;       /* objects it counts in the segment */
bool mine;       /* it counts the segment's rest as its own */

/* What is true, which nobody can see. */
bool writer_dead;
byte seals;      /* how often the object has been sealed */

#define STEP                                                                                                           \
    if                                                                                                                 \
    :: crashes > 0 -> crashes--; goto adopt                                                                            \
    :: skip                                                                                                            \
    fi

/* ---- the writer ---- */

proctype writer()
{
    byte at;

    do
    :: at == ENTRIES -> break
    :: at < ENTRIES ->
        if
        :: writer_dead = true; goto dead
        :: skip
        fi;
#ifdef NOBYTES
        head = at + 1;
        if
        :: writer_dead = true; goto dead
        :: skip
        fi;
        filled = true;
#else
        filled = true;
        if
        :: writer_dead = true; goto dead
        :: skip
        fi;
        head = at + 1;
#endif
        /* ring_await() */
        if
        :: tail > at -> skip
        :: writer_dead = true; goto dead
        fi;
        assert(status[at] == (at == 0 -> OK : EEXIST));
        assert(sealed);
        at++
    od;
    writer_dead = true; /* says goodbye, or does not: it is the same here */
dead:
    skip
}

/* ---- the store ---- */

/* seal() */
inline seal()
{
    if
    :: !open -> err = EINVAL
    :: open && sealed -> err = EEXIST
    :: else ->
        assert(filled);
        sealed = true; seals++;
        STEP;
        live++; /* segment_seal() */
        err = OK
    fi
}

/* object_is_sealed(): of this request, in this place */
inline handle_again()
{
#ifdef AGAINSEALS
    seal()
#else
    if
    :: sealed && tail == 0 -> err = OK
    :: else -> seal()
    fi
#endif
}

inline execute()
{
    again = begun == tail + 1;
    if
    :: !again || status[tail] == NONE ->
#ifndef NOBEGUN
        begun = tail + 1;
#endif
        STEP;
        if
        :: again -> handle_again()
        :: else -> seal()
        fi;
        STEP;
#ifdef TAILFIRST
        at = tail;
        tail = tail + 1;
        STEP;
        status[at] = err;
        goto executed;
#else
        status[tail] = err;
#endif
        STEP
    :: else -> skip
    fi;
    tail = tail + 1;
executed:
    STEP;
    err = NONE
}

proctype store()
{
    byte crashes = CRASHES, err, at;
    bool again;

serve:
    do
    :: head > tail && recorded -> execute()
    :: writer_dead && recorded -> break
    od;
bury: /* leave_session() */
#ifdef EARLYCLOSE
    open = false;
#endif
#ifndef NODRAIN
    do
    :: head > tail -> execute()
    :: else -> break
    od;
#endif
    STEP;
    open = false; /* memory_writer_gone() */
    mine = true;
    STEP;
    recorded = false; /* root_drop_client() */
    goto buried;
adopt: /* what the last one knew is gone */
    live = 0; mine = false; err = NONE; again = false; at = 0;
#ifndef NOACCOUNT
    live = (sealed -> 1 : 0); /* segment_adopted() */
#endif
    mine = !open;
    if /* adopt_finish_entries() */
    :: recorded && begun == tail + 1 && head > tail -> execute()
    :: else -> skip
    fi;
    if
    :: !recorded -> skip
    :: else -> goto serve
    fi;
buried:
    assert(seals <= 1);
    assert(live == (sealed -> 1 : 0));
    assert(!open && mine);
    assert(head == 0 || sealed);
    assert(head == tail)
}

init
{
    atomic { run writer(); run store() }
}
