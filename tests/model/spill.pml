/*
 * One id whose object goes to disk and comes back while clients get it, delete it and put another one under its id.
 *
 * The store's loop is one thread; each of its steps is atomic here. Workers read and write meanwhile: spill_run() of
 * store/evict.c, the jobs of store/reading.c. A step of the loop is: a seal; spill_submit(); spill_book() and
 * spill_end(), when a file is written; object_evict(); object_delete(); a client's request, restore_request() of
 * store/restore.c, with restore_place() and restore_start(); restore_finished(). Leases are lease.pml's.
 *
 * What must hold  An object in memory or in a file has its own bytes.
 *                 A file that is read is there; when nobody's object is in it, it goes.
 *                 Memory that something is read into or written from is nobody else's.
 *                 Who gets an object that was there all the while gets it; who is answered is answered once.
 *
 * Parameters      OPS   seals, deletions, evictions and spills
 * Controls        BYID       a file that is written counts for whatever has the id now
 *                 EARLY      an object has its copy when that begins to be written
 *                 NOBUSY     memory that is read into can be given away when its object is deleted
 *                 NOHOLD     a file that is read does not count as used
 *                 NOLOOK     what was read back is booked without a look whether it is still wanted
 *                 NORELEASE  a file nobody is in is kept
 *                 ALLPINS    one that was deleted while it was read answers those, too, who wait for its successor
 *                 SAMEJOB    who wants the successor waits for what reads its predecessor
 */

#define FILES   3 /* numbers 1 to FILES; each is used once */
#define PLACES  2
#define CLIENTS 2

#define NOWHERE 0
#define SEALED  1
#define SPILLED 2

#define IDLE      0
#define SUBMITTED 1
#define DONE      2

/* The slot. bytes: what its object is, 0 is nobody's. */
byte state, serial, bytes, where, copy;
byte next_serial = 1, next_bytes = 1, next_file = 1;

byte memory[PLACES];
byte live[PLACES], busy[PLACES];

byte file[FILES + 1];
bool there[FILES + 1];
byte holders[FILES + 1];

/* The spill under way, and the restores: the newest of the id is in the session's map. */
byte spill_state, spill_serial, spill_place, spill_file;
byte restore_state[2], restore_serial[2], restore_place[2], restore_file[2];
byte newest = 2;

byte get[CLIENTS];  /* IDLE, SUBMITTED: waits, DONE */
bool gone[CLIENTS]; /* its object was not there for a while */

#define MAY_PLACE(p) (live[p] == 0 && busy[p] == 0)

/* ---- workers ---- */

active proctype writer()
{
    byte buffer;
end:
    do
    :: atomic { spill_state == SUBMITTED && buffer == 0 -> buffer = memory[spill_place] + 1 }
    :: atomic { buffer > 0 -> /* or the disk fails, and there is no file */
        if
        :: file[spill_file] = buffer - 1; there[spill_file] = true
        :: skip
        fi;
        buffer = 0; spill_state = DONE }
    od
}

active [2] proctype reader()
{
    byte me = _pid - 1;
end:
    do
    :: atomic { restore_state[me] == SUBMITTED ->
        assert(there[restore_file[me]]);
        memory[restore_place[me]] = file[restore_file[me]];
        restore_state[me] = DONE }
    od
}

/* ---- the store ---- */

inline release(f)
{
    holders[f]--;
#ifndef NORELEASE
    if
    :: holders[f] == 0 -> there[f] = false; file[f] = 0
    :: else -> skip
    fi
#endif
}

/* Segments settle: without objects and jobs, memory is anybody's. */
inline settle(p)
{
    if
    :: MAY_PLACE(p) -> memory[p] = 0
    :: else -> skip
    fi
}

inline seal(p)
{
    state = SEALED; bytes = next_bytes; next_bytes++; serial = next_serial; next_serial++;
    where = p; copy = 0; memory[p] = bytes; live[p] = 1
}

inline spill_begin()
{
    spill_state = SUBMITTED; spill_serial = serial; spill_place = where; spill_file = next_file; next_file++;
    busy[where]++;
#ifdef EARLY
    copy = spill_file; holders[spill_file]++
#endif
}

inline spill_booked()
{
    if
    :: there[spill_file] ->
        holders[spill_file]++;
        if
#ifdef BYID
        :: state == SEALED && copy == 0 -> copy = spill_file; holders[spill_file]++
#else
        :: state == SEALED && copy == 0 && serial == spill_serial -> copy = spill_file; holders[spill_file]++
#endif
        :: else -> skip
        fi;
        release(spill_file)
    :: else -> skip
    fi;
    busy[spill_place]--; settle(spill_place);
    spill_state = IDLE; spill_serial = 0; spill_place = 0; spill_file = 0
}

inline evict()
{
    live[where] = 0; settle(where);
    state = SPILLED; where = copy; copy = 0
}

inline delete()
{
    if
    :: state == SPILLED -> release(where)
    :: state == SEALED ->
        if
        :: copy != 0 -> release(copy)
        :: else -> skip
        fi;
        live[where] = 0; settle(where)
    fi;
    state = NOWHERE; bytes = 0; serial = 0; where = 0; copy = 0;
    gone[0] = true; gone[1] = true
}

/* Everybody who waits for the id. */
inline answer(found)
{
    for (client : 0 .. CLIENTS - 1) {
        if
        :: get[client] == SUBMITTED ->
            assert(found || gone[client]);
            get[client] = DONE
        :: else -> skip
        fi
    }
    client = 0
}

inline request(who)
{
    gone[who] = state == NOWHERE;
    if
    :: state != SPILLED -> get[who] = DONE
    :: else ->
        get[who] = SUBMITTED;
#ifndef SAMEJOB
        if /* restore_enqueue(): in place of what reads its predecessor */
        :: newest != 2 -> newest = (restore_serial[newest] == serial -> newest : 2)
        :: else -> skip
        fi
#endif
    fi
}

inline restore_begin(r, p)
{
    restore_state[r] = SUBMITTED; restore_serial[r] = serial; restore_place[r] = p; restore_file[r] = where;
#ifndef NOBUSY
    busy[p]++;
#endif
#ifndef NOHOLD
    holders[where]++;
#endif
    newest = r
}

inline restore_finished(r)
{
    if
#ifdef NOLOOK
    :: true ->
#else
    :: state == SPILLED && serial == restore_serial[r] ->
#endif
        state = SEALED; copy = restore_file[r]; where = restore_place[r]; serial = next_serial; next_serial++;
        live[where] = 1;
        answer(true)
    :: !(state == SPILLED && serial == restore_serial[r]) ->
#ifdef ALLPINS
        answer(false)
#else
        if
        :: newest == r -> answer(false)
        :: else -> skip
        fi
#endif
    fi;
#ifndef NOBUSY
    busy[restore_place[r]]--;
#endif
    settle(restore_place[r]);
#ifndef NOHOLD
    release(restore_file[r]);
#endif
    if
    :: newest == r -> newest = 2
    :: else -> skip
    fi;
    restore_state[r] = IDLE; restore_serial[r] = 0; restore_place[r] = 0; restore_file[r] = 0
}

#ifdef SAMEJOB
#define WANTED (newest == 2)
#else
#define WANTED (newest == 2 || restore_serial[newest] != serial)
#endif
#define WAITS    (get[0] == SUBMITTED || get[1] == SUBMITTED)
#define MAY_READ (state == SPILLED && WAITS && WANTED)

inline check()
{
    assert(state != SEALED || memory[where] == bytes);
    assert(state != SPILLED || (there[where] && file[where] == bytes));
    assert(state != SEALED || copy == 0 || file[copy] == bytes)
}

active proctype store()
{
    byte ops, client;

    do
    :: atomic { ops < OPS && state == NOWHERE && next_bytes < 3 && MAY_PLACE(0) -> ops++; seal(0); check() }
    :: atomic { ops < OPS && state == NOWHERE && next_bytes < 3 && MAY_PLACE(1) -> ops++; seal(1); check() }
    :: atomic { ops < OPS && state == SEALED && copy == 0 && spill_state == IDLE && next_file <= FILES ->
        ops++; spill_begin() }
    :: atomic { spill_state == DONE -> spill_booked(); check() }
    :: atomic { ops < OPS && state == SEALED && copy != 0 -> ops++; evict(); check() }
    :: atomic { ops < OPS && state != NOWHERE -> ops++; delete(); check() }
    :: atomic { get[0] == IDLE -> request(0) }
    :: atomic { get[1] == IDLE -> request(1) }
    :: atomic { MAY_READ && restore_state[0] == IDLE && MAY_PLACE(0) -> restore_begin(0, 0) }
    :: atomic { MAY_READ && restore_state[0] == IDLE && MAY_PLACE(1) -> restore_begin(0, 1) }
    :: atomic { MAY_READ && restore_state[1] == IDLE && MAY_PLACE(0) -> restore_begin(1, 0) }
    :: atomic { MAY_READ && restore_state[1] == IDLE && MAY_PLACE(1) -> restore_begin(1, 1) }
    :: atomic { WAITS && newest == 2 && state != SPILLED -> answer(false) } /* restore_serve(): deleted before it began */
    :: atomic { restore_state[0] == DONE -> restore_finished(0); check() }
    :: atomic { restore_state[1] == DONE -> restore_finished(1); check() }
    :: atomic { spill_state == IDLE && restore_state[0] == IDLE && restore_state[1] == IDLE &&
                get[0] == DONE && get[1] == DONE -> break } /* else it stops here, and SPIN says so */
    od;
    if
    :: state != NOWHERE -> atomic { delete() }
    :: else -> skip
    fi;
    assert(!there[1] && !there[2] && !there[3])
}
