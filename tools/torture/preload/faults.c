/*
 * libgranary-faults.so: the points call.* and alloc.any of contract/faults.def. Preloaded, it stands before libc's
 * system calls and allocations; a process whose GRANARY_FAULT or GRANARY_FAULT_NOTE is set attaches its
 * gr_fault_meet(), which is asked from then on at each call.
 *
 * What counts is a call by granary's own code: by the program or library that attached, by libgranary and by those
 * libraries that report failures to it. Calls by libc and libzmq do not: libzmq ends the process when memory is short.
 */
#include "faults.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Set once, when the process has begun; the ranges are complete before. */
static meet_function *volatile meet;
static struct range {
    uintptr_t from, to;
} ranges[32];
static size_t range_count;

static const char *const reporting[] = {"libgranary.so", "libgranary-store.so", "libgranary-worker.so",
                                        "libsqlite3.so", "libprotobuf-c.so",    "libjansson.so",
                                        "liblz4.so"};

static bool
is_reporting(const char *path)
{
    const char *name = strrchr(path, '/');

    name = name == NULL ? path : name + 1;
    for (size_t i = 0; i < sizeof reporting / sizeof reporting[0]; i++) {
        if (strncmp(name, reporting[i], strlen(reporting[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Add an object's code, if it is one of those, or the one with the function in it. */
static int
add_object(struct dl_phdr_info *object, size_t size, void *function)
{
    bool ours = is_reporting(object->dlpi_name);

    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        uintptr_t from = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;

        ours = ours || (object->dlpi_phdr[i].p_type == PT_LOAD && (uintptr_t)function >= from &&
                        (uintptr_t)function < from + object->dlpi_phdr[i].p_memsz);
    }
    for (int i = 0; ours && i < object->dlpi_phnum && range_count < sizeof ranges / sizeof ranges[0]; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            uintptr_t from = object->dlpi_addr + part->p_vaddr;

            ranges[range_count++] = (struct range){from, from + part->p_memsz};
        }
    }
    return 0;
}

/* What base/fault.c looks for: with this symbol the library is loaded. */
__attribute__((visibility("default"))) void granary_faults_attach(meet_function *function);

void
granary_faults_attach(meet_function *function)
{
    void *address;

    memcpy(&address, &function, sizeof address);
    meet = NULL;
    range_count = 0;
    (void)dl_iterate_phdr(add_object, address);
    meet = function;
}

enum gr_fault_action
fault_at(enum gr_fault_point point, const void *caller)
{
    meet_function *function = meet;

    for (size_t i = 0; function != NULL && i < range_count; i++) {
        if ((uintptr_t)caller - ranges[i].from < ranges[i].to - ranges[i].from) {
            return function(point);
        }
    }
    return GR_FAULT_NOTHING;
}
