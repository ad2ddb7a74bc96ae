/* Lease pages in one range of addresses: a page is mapped over its place, and the place is made empty again. */
#include "store/base/lease_region.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

#define PAGE  4096u
#define PLACE ((sizeof(struct gr_lease_page) + PAGE - 1) / PAGE * PAGE)

struct lease_region {
    char *base;
    unsigned places;
    unsigned next;
    bool *taken;
};

/* What the signal handler may see. */
static char *volatile guarded_base;
static volatile size_t guarded_size;

static void
on_sigbus(int signal, siginfo_t *info, void *context)
{
    char *at = info->si_addr;
    struct sigaction standard = {.sa_handler = SIG_DFL};

    (void)context;
    if (guarded_base != NULL && at >= guarded_base && at < guarded_base + guarded_size) {
        char *page = guarded_base + (size_t)(at - guarded_base) / PAGE * PAGE;

        if (mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
            return;
        }
    }
    (void)sigaction(signal, &standard, NULL); /* not ours: the fault comes again, and ends us */
}

granary_err
lease_region_create(unsigned places, struct lease_region **ret_region)
{
    struct lease_region *region = calloc(1, sizeof *region);
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

    if (region == NULL || (region->taken = calloc(places, sizeof *region->taken)) == NULL) {
        free(region);
        return gr_fail(GRANARY_ENOMEM, "no memory for %u clients", places);
    }
    region->places = places;
    region->base = mmap(NULL, places * PLACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region->base == MAP_FAILED) {
        granary_err err = gr_fail_errno("lease pages of %u clients", places);

        free(region->taken);
        free(region);
        return err;
    }
    guarded_size = places * PLACE;
    guarded_base = region->base;
    (void)sigaction(SIGBUS, &action, NULL);
    *ret_region = region;
    return GRANARY_OK;
}

void
lease_region_destroy(struct lease_region *region)
{
    if (region != NULL) {
        guarded_base = NULL;
        (void)munmap(region->base, region->places * PLACE);
        free(region->taken);
        free(region);
    }
}

granary_err
lease_region_map(struct lease_region *region, int fd, unsigned *ret_place, struct gr_lease_page **ret_page)
{
    for (unsigned i = 0; i < region->places; i++) {
        unsigned place = (region->next + i) % region->places;
        void *at = region->base + place * PLACE;

        if (region->taken[place]) {
            continue;
        }
        if (mmap(at, sizeof(struct gr_lease_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != at) {
            return gr_fail_errno("map a lease page");
        }
        region->taken[place] = true;
        region->next = place + 1;
        *ret_place = place;
        *ret_page = at;
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EFULL, "all %u places for clients are taken", region->places);
}

void
lease_region_unmap(struct lease_region *region, unsigned place)
{
    (void)mmap(region->base + place * PLACE, PLACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
               -1, 0);
    region->taken[place] = false;
}
