/*
 * The lease protocol of include/contract/shm.h: readers lease an object from shared memory without a message, while the
 * store evicts it, brings it back, deletes it, replaces the page its slot is in, and dies and is followed by another.
 *
 * Memory is that of x86 (TSO): what a process stores waits in a buffer of its own, in order, and may reach memory only
 * after later loads of that process. A locked instruction waits until the buffer is empty.
 *
 * What must hold: while a reader has a lease, the bytes it reads are its object's; and who finds nothing is right.
 *
 * Parameters   OPS       changes the store makes
 *              CRASHES   times it dies
 *              DO_EVICT, DO_DELETE, DO_PAGES   which changes
 * Controls: each leaves out one thing, and SPIN must find the error.
 *              NOFENCE       the hazard is published by a plain store
 *              NOSTOREFENCE  the slot's word is changed by a plain store before the hazards are scanned
 *              NOCHECK       the word is not looked at again behind the hazard
 *              EARLYFREE     the bytes go before the hazards are scanned
 *              REUSE         an object that comes back has its old serial
 *              NOBETWEEN     an eviction changes fields in RETIRING, which the next store takes back
 *              NORECHECK     the directory entry is not looked at again behind the hazard
 *              NOMOVED       ... and the slots of a page that was replaced do not say so
 *              NOLOOK        the directory entry is not looked at again by who found nothing
 */

#define READERS 2
#define STORE   READERS /* whose buffer */

/* The cells of shared memory. */
#define DIRECTORY       0                               /* generation * 2 + page */
#define RECORD(page)    (1 + (page))                    /* generation * 4 + state of a page */
#define WORD(page, at)  (3 + ((page) * 2 + (at)) * 3)   /* serial * 16 + state */
#define ID(page, at)    (4 + ((page) * 2 + (at)) * 3)
#define OFFSET(page, at) (5 + ((page) * 2 + (at)) * 3)
#define HAZARD(reader)  (15 + (reader))                 /* serial */
#define BYTES(offset)   (15 + READERS + (offset))       /* serial of the object whose bytes they are */
#define CELLS           (15 + READERS + 3)

#define EMPTY    0
#define TOMB     1
#define SEALED   2
#define RETIRING 3
#define SPILLED  4
#define DELETING 5
#define MOVED    6
#define BETWEEN  7

#define FREE     0
#define BUILDING 1
#define LIVE     2
#define DEAD     3

#define IN_FILE 7 /* an offset in a spill file: no bytes there */

#define WITH(serial, state) ((serial) * 16 + (state))
#define STATE(word)         ((word) % 16)
#define SERIAL(word)        ((word) / 16)

#define X 1 /* the object that is read */
#define Y 2 /* its neighbour, which never changes: serial 1, bytes 2 */

byte m[CELLS];
chan buffer[READERS + 1] = [2] of { byte, byte };
bool deleting; /* ghost: X was not there for a while, or is not */

/* ---- memory ---- */

#define PUT(who, cell, value) buffer[who]!cell, value
#define DRAINED(who)          (len(buffer[who]) == 0)

inline exchange(who, cell, value)
{
    atomic { DRAINED(who) -> m[cell] = value }
}

active proctype memory()
{
    byte cell, value;
end:
    do
    :: atomic { buffer[0]?cell, value -> m[cell] = value; cell = 0; value = 0 }
    :: atomic { buffer[1]?cell, value -> m[cell] = value; cell = 0; value = 0 }
    :: atomic { buffer[2]?cell, value -> m[cell] = value; cell = 0; value = 0 }
    od
}

/* ---- readers ---- */

proctype reader(byte me)
{
    byte entry, page, at, word, offset, now;
    bool was_deleting;

begin:
    atomic { entry = m[DIRECTORY]; page = entry % 2; at = 0; was_deleting = deleting }
probe:
    word = m[WORD(page, at)];
    if
    :: STATE(word) == EMPTY -> goto nothing
    :: STATE(word) != EMPTY -> now = m[ID(page, at)]
    fi;
    if
    :: now != X || STATE(word) == TOMB || STATE(word) == DELETING ->
        if
        :: at == 0 -> at = 1; goto probe
        :: else -> goto nothing
        fi
    :: now == X && STATE(word) == SEALED -> skip
    :: else -> goto done /* tries again: another reader does that here */
    fi;
    offset = m[OFFSET(page, at)];
#ifdef NOFENCE
    PUT(me, HAZARD(me), SERIAL(word));
#else
    exchange(me, HAZARD(me), SERIAL(word));
#endif
#ifndef NOCHECK
    now = m[WORD(page, at)];
    if
    :: now != word -> goto release
    :: else -> skip
    fi;
#endif
#if !defined(NORECHECK) && !defined(NOMOVED)
    now = m[DIRECTORY];
    if
    :: now != entry -> goto release
    :: else -> skip
    fi;
#endif
    /* Leased: its bytes are there, and stay. */
    assert(offset != IN_FILE && m[BYTES(offset)] == SERIAL(word));
    assert(m[BYTES(offset)] == SERIAL(word));
release:
    PUT(me, HAZARD(me), 0);
    goto done;
nothing:
#ifndef NOLOOK
    now = m[DIRECTORY];
    if
    :: now != entry -> goto done /* tries again */
    :: else -> skip
    fi;
#endif
    assert(was_deleting || deleting);
done:
    atomic { entry = 0; page = 0; at = 0; word = 0; offset = 0; now = 0; was_deleting = 0 }
}

/* ---- the store ---- */

/* It may die before any of its stores. What is in its buffer reaches memory all the same. */
#define STEP                                                                                                           \
    if                                                                                                                 \
    :: crashes > 0 -> crashes--; goto adopt                                                                            \
    :: skip                                                                                                            \
    fi

inline put(cell, value)
{
    STEP;
    PUT(STORE, cell, value)
}

/* A change of state before a scan of the hazards. */
inline enter(state)
{
    STEP;
#ifdef NOSTOREFENCE
    PUT(STORE, WORD(page, at), WITH(serial, state));
#else
    exchange(STORE, WORD(page, at), WITH(serial, state));
#endif
}

inline scan()
{
    held = m[HAZARD(0)] == serial;
    held = held || m[HAZARD(1)] == serial
}

inline write_slot(to, place, id, where, word)
{
    put(ID(to, place), id);
    put(OFFSET(to, place), where);
    put(WORD(to, place), word)
}

inline evict()
{
    enter(RETIRING);
#ifdef EARLYFREE
    put(BYTES(offset), 0);
#endif
    scan();
    if
    :: held -> put(WORD(page, at), WITH(serial, SEALED))
    :: else ->
#ifndef NOBETWEEN
        put(WORD(page, at), WITH(serial, BETWEEN));
#endif
        put(OFFSET(page, at), IN_FILE);
        put(WORD(page, at), WITH(serial, SPILLED));
        put(BYTES(offset), 0);
        state = SPILLED; offset = IN_FILE
    fi
}

/* To the other place, or the same one. */
inline restore()
{
    if
    :: offset = 0
    :: offset = 1
    fi;
#ifndef REUSE
    serial = next; next++;
#endif
    put(BYTES(offset), serial);
    put(WORD(page, at), WITH(serial, BETWEEN));
    put(OFFSET(page, at), offset);
    put(WORD(page, at), WITH(serial, SEALED));
    state = SEALED
}

inline delete()
{
    deleting = true;
    enter(DELETING);
    state = DELETING
}

/* Deleted, and nobody leases it any more: the bytes go, and its slot. */
inline bury()
{
    scan();
    if
    :: held -> skip
    :: else -> put(WORD(page, at), TOMB); put(BYTES(offset), 0); state = EMPTY
    fi
}

inline create()
{
    serial = next; next++;
    if
    :: offset = 0
    :: offset = 1
    fi;
    put(BYTES(offset), serial);
    write_slot(page, at, X, offset, WITH(serial, SEALED));
    state = SEALED
}

/* Whoever leased through its slots before is seen by every scan from here on. */
inline leave_page(from)
{
#ifndef NOMOVED
    value = m[WORD(from, 0)] / 16 * 16 + MOVED;
    put(WORD(from, 0), value);
    value = m[WORD(from, 1)] / 16 * 16 + MOVED;
    put(WORD(from, 1), value);
    value = 0;
#endif
    STEP;
    DRAINED(STORE)
}

inline enter_page(which, to)
{
    value = m[RECORD(which)] / 4 * 4 + to;
    put(RECORD(which), value);
    value = 0
}

/* The other page is made in place of this one, with the two objects in either order. */
inline replace()
{
    DRAINED(STORE);
    other = 1 - page;
    generation = m[RECORD(other)] / 4 + 1;
    put(RECORD(other), generation * 4 + BUILDING);
    put(WORD(other, 0), EMPTY);
    put(WORD(other, 1), EMPTY);
    if
    :: place = 0
    :: place = 1
    fi;
    value = (state == EMPTY -> TOMB : WITH(serial, state));
    write_slot(other, place, X, offset, value);
    place = 1 - place;
    write_slot(other, place, Y, 2, WITH(1, SEALED));
    put(DIRECTORY, generation * 2 + other);
    enter_page(page, DEAD);
    leave_page(page);
    put(RECORD(other), generation * 4 + LIVE);
    enter_page(page, FREE);
    page = other; at = 1 - place; other = 0; place = 0; generation = 0
}

/* A split that was under way is completed, or taken back. */
inline settle_pages()
{
    if
    :: m[RECORD(0)] % 4 == DEAD -> page = 1; other = 0
    :: m[RECORD(1)] % 4 == DEAD -> page = 0; other = 1
    :: m[RECORD(0)] % 4 == LIVE && m[RECORD(1)] % 4 != DEAD -> page = 0; other = 1
    :: m[RECORD(1)] % 4 == LIVE && m[RECORD(0)] % 4 != DEAD -> page = 1; other = 0
    fi;
    if
    :: m[RECORD(other)] % 4 == BUILDING ->
        value = m[RECORD(page)] / 4 * 2 + page;
        put(DIRECTORY, value);
        leave_page(other);
        enter_page(other, FREE)
    :: m[RECORD(other)] % 4 == DEAD ->
        leave_page(other);
        enter_page(page, LIVE);
        enter_page(other, FREE)
    :: else -> skip
    fi;
    other = 0; place = 0; generation = 0; value = 0
}

/* Where the next store finds X: everything else that one knew is gone. */
inline settle_slots()
{
    STEP;
    DRAINED(STORE);
    at = (m[ID(page, 0)] == Y && STATE(m[WORD(page, 0)]) == SEALED -> 1 : 0);
    state = STATE(m[WORD(page, at)]);
    if
    :: state == EMPTY || state == TOMB -> state = EMPTY
    :: else -> serial = SERIAL(m[WORD(page, at)]); offset = m[OFFSET(page, at)]
    fi;
    if
    :: state == RETIRING -> put(WORD(page, at), WITH(serial, SEALED)); state = SEALED
    :: state == BETWEEN ->
        put(OFFSET(page, at), IN_FILE);
        put(WORD(page, at), WITH(serial, SPILLED));
        state = SPILLED; offset = IN_FILE
    :: else -> skip
    fi
}

proctype store()
{
    byte serial = 2, next = 3, page, at, offset, state = SEALED, other, place, generation, value, ops,
         crashes = CRASHES;
    bool held;

serve:
    do
    :: ops == OPS -> break
    :: ops < OPS -> ops++;
        if
#ifdef DO_EVICT
        :: state == SEALED -> evict()
        :: state == SPILLED -> restore()
#endif
#ifdef DO_DELETE
        :: state == SEALED -> delete()
        :: state == EMPTY -> create()
#endif
#ifdef DO_PAGES
        :: replace()
#endif
        :: state == DELETING -> bury()
        :: else -> break
        fi
    od;
    goto stopped;
adopt:
    DRAINED(STORE);
    settle_pages();
    settle_slots();
    goto serve;
stopped:
    skip
}

init
{
    atomic {
        m[DIRECTORY] = 2;
        m[RECORD(0)] = 4 + LIVE;
        m[ID(0, 0)] = X; m[OFFSET(0, 0)] = 0; m[WORD(0, 0)] = WITH(2, SEALED); m[BYTES(0)] = 2;
        m[ID(0, 1)] = Y; m[OFFSET(0, 1)] = 2; m[WORD(0, 1)] = WITH(1, SEALED); m[BYTES(2)] = 1;
        run store();
        run reader(0);
#if ACTIVE > 1
        run reader(1);
#endif
    }
}
