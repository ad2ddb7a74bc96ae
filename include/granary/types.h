/*
 * granary: types every part of the public API shares.
 *
 * Errors    Functions that can fail return granary_err: GRANARY_OK (0) or a negative GRANARY_E...; ret_ parameters
 *           stay untouched on failure. granary_error_message() then gives the sentence for humans: what, why, what
 *           to do. It belongs to the calling thread and is valid until that thread's next failing call.
 * Threads   Every function may be called from any thread unless its comment says otherwise.
 * Structs   Those of options and of results may grow: begin with all zero, {0}. sized.h tells the rest.
 * Fork      A handle belongs to the process that opened it: in a forked child its calls return GRANARY_EFORKED.
 */
#ifndef GRANARY_TYPES_H
#define GRANARY_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(GRANARY_BUILD) && defined(__GNUC__)
#define GRANARY_API __attribute__((visibility("default")))
#else
#define GRANARY_API
#endif

#define GRANARY_VERSION_MAJOR 0
#define GRANARY_VERSION_MINOR 2
#define GRANARY_VERSION_PATCH 0
#define GRANARY_VERSION       "0.2.0"

typedef enum granary_err {
    GRANARY_OK = 0,             /* success */
    GRANARY_EFAILED = -1,       /* the work failed: the message has its words; `granary tasks KEY` has the subtask */
    GRANARY_EINVAL = -2,        /* an argument, or a statement, makes no sense: the message quotes it */
    GRANARY_EUNREACHABLE = -3,  /* no instance there, or a daemon that is gone or does not answer: `granary status` */
    GRANARY_ENOENT = -4,        /* no object, name, session, table, file or graph of that name */
    GRANARY_EFULL = -5,         /* memory, disk, a quota or a table is full: the message says who holds what */
    GRANARY_ETIMEDOUT = -6,     /* not in the time that was given; what was asked for may still happen */
    GRANARY_EPERM = -7,         /* not permitted: of another user, read-only, or given up by --confine */
    GRANARY_ECORRUPT = -8,      /* bytes that fail their checksum, or are none of what they should be: `granary fsck` */
    GRANARY_EEXIST = -9,        /* the id or name is taken */
    GRANARY_EPROTO = -10,       /* the other side broke the protocol: a defect of it, or no granary at all */
    GRANARY_EVERSION = -11,     /* the other side, or a file, is of another version: the message names both */
    GRANARY_ENOMEM = -12,       /* this process has no memory, address space or descriptor left */
    GRANARY_EIO = -13,          /* a read or write failed: the message has the file and the system's words */
    GRANARY_EUNSUPPORTED = -14, /* this release, instance or kind of thing cannot do that */
    GRANARY_ECANCELLED = -15,   /* somebody stopped it: the graph, or the wait */
    GRANARY_EBUSY = -16,        /* somebody uses it now: the message says who; try again later */
    GRANARY_EFORKED = -17,      /* the handle is the parent process's: open one after fork() */
    GRANARY_ETYPE = -18,        /* of another kind or dtype than was asked for */
    GRANARY_ESTATE = -19,  /* not now: before or after what comes first, such as a buffer that was sealed already */
    GRANARY_ELOST = -20,   /* gone for good with the process that held it: make it again */
    GRANARY_ESEALED = -21, /* sealed: it is read, and does not change any more */
} granary_err;

/* "ENOENT" for GRANARY_ENOENT; "E?" for a value that is none. Static storage. */
GRANARY_API const char *granary_error_name(granary_err err);

/* The fixed sentence of an error, such as "not found". Static storage. */
GRANARY_API const char *granary_error_text(granary_err err);

/* The calling thread's last failure in full; "" when it had none. */
GRANARY_API const char *granary_error_message(void);

/* The command-line exit status that stands for an error: 0 to 8. */
GRANARY_API int granary_error_exit_status(granary_err err);

/* GRANARY_VERSION of the library that runs, which may differ from the header that was compiled. */
GRANARY_API const char *granary_version(void);

/* ---- levels: where bytes lie. A set of levels is their sum. ---- */

typedef enum granary_level {
    GRANARY_LEVEL_GPU = 1,
    GRANARY_LEVEL_MEMORY = 2,
    GRANARY_LEVEL_DISK = 4,
    GRANARY_LEVEL_REMOTE = 8,
} granary_level;
typedef unsigned granary_levels;

/*
 * A set from text: names joined by "|", "+", "," or " "; case does not matter. "MEMORY & DISK" is understood as the
 * union too, as the systems before this one wrote it. Errors: EINVAL, naming the word
 */
GRANARY_API granary_err granary_levels_parse(const char *text, granary_levels *ret_levels);

/* "memory|disk"; "none" for 0. Writes at most size bytes with the NUL; returns ret_text. */
GRANARY_API const char *granary_levels_format(granary_levels levels, char *ret_text, size_t size);

/* The level a level spills to (GPU to MEMORY to DISK to REMOTE); 0 behind the last. */
GRANARY_API granary_levels granary_level_below(granary_level level);

/* ---- ids ---- */

#define GRANARY_ID_BYTES 16
#define GRANARY_ID_TEXT  32 /* hex digits, without the terminating NUL */

/* Names an object within its session. All zero bytes is not a valid id. */
typedef struct granary_id {
    unsigned char bytes[GRANARY_ID_BYTES];
} granary_id;

/* A fresh id from the kernel's random numbers. */
GRANARY_API granary_id granary_id_random(void);

/* The id of a name in a session: XXH3-128 of both, the same in every process. session NULL means "default". */
GRANARY_API granary_id granary_id_from_name(const char *session, const char *name);
/* The same for a key of any bytes. The bytes of a name give the id of that name. key may be NULL when size is 0. */
GRANARY_API granary_id granary_id_from_key(const char *session, const void *key, size_t size);

/* Write 32 lower-case hex digits and a NUL. */
GRANARY_API void granary_id_format(granary_id id, char ret_text[GRANARY_ID_TEXT + 1]);

/* Parse exactly 32 hex digits (either case). Errors: EINVAL, and *ret_id is left alone. */
GRANARY_API granary_err granary_id_parse(const char *text, size_t length, granary_id *ret_id);

#ifdef __cplusplus
}
#endif
#endif
