/*
 * Power cuts on a real file system: an image mounted by loop, whose file system is shut down without writing its log at
 * a random moment under load, mounted again and looked at.
 */
#ifndef POWER_CUTS_H
#define POWER_CUTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- the file system (cuts_disk.c) ---- */

struct volume {
    char image[64];
    char mount[64];
    const char *type; /* ext4 or xfs */
};

/*
 * Make an image and mount it, in a mount namespace of this process's own: nothing stays, however it ends.
 *
 * Returns 0; 77 when this machine cannot do that, with the reason on stdout; 2 failed
 */
int volume_make(struct volume *volume, const char *type);
void volume_remove(struct volume *volume);
/* The power goes: nothing that is not on the disk now will be. */
bool volume_cut(const struct volume *volume);
/* It comes back. */
bool volume_remount(const struct volume *volume);

/* ---- the load (cuts_load.c) ---- */

enum { THINGS_MOST = 1 << 16, PARTIES = 4 };

/* Who promises: the store (persistent objects), the scheduler (graphs), a file that lines are appended to and synced, a
 * table that is durable on commit (rows). */
enum party { PARTY_STORE, PARTY_SCHED, PARTY_APPEND, PARTY_TABLE };

/* Of a thing (object, graph, line, row), in the order in which it may become them. */
enum fate { FATE_NONE, FATE_PUTTING, FATE_KEPT, FATE_DELETING, FATE_GONE };

/* In memory that all processes share; what is there at the cut is what was promised. */
struct ledger {
    _Atomic uint32_t first[PARTIES]; /* things below are of no interest any more */
    _Atomic uint32_t next[PARTIES];
    _Atomic uint64_t promises[PARTIES];
    _Atomic unsigned char fates[PARTIES][THINGS_MOST];
};

struct load {
    char folder[64]; /* on the volume */
    uint64_t seed;
    struct ledger *ledger;
    char *why; /* 512 bytes, shared */
};

/* In processes of their own: make promises until they are killed or the disk fails. */
void load_run(const struct load *load, enum party party);
/*
 * After a cut: what was promised at `before` is there, with its bytes. `ledger` is corrected to what was found. False:
 * it is not, load->why tells.
 */
bool load_check(const struct load *load, enum party party, const struct ledger *before);

#endif
