/*
 * A store dies in the middle of a change to its index, at every single store to shared memory, and the next one adopts
 * what is there: everything is as it was before the change, or as it is after it. Adopting is such a change, too.
 *
 * Compiled with INDEX_STEPS: index_step() is called at each such place, copies the file and adopts the copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "store/base/shmfile.h"
#include "store/index/index_parts.h"

#ifdef __SANITIZE_ADDRESS__ /* large mappings are slow there */
#define SLOTS_FIRST 4       /* steps in a row that change slots only are all looked at, so many, ... */
#define SLOTS_EVERY 499u    /* ... and then one in so many */
#else
#define SLOTS_FIRST 64
#define SLOTS_EVERY 61u
#endif
#define NESTED_EVERY 61 /* of the adoptions, one in so many is killed at each of its own steps */

static void
no_step(void)
{
}

void (*index_step)(void) = no_step;

/* ---- the index that is changed ---- */

static char prefix[48];
static struct index subject;
static _Atomic uint32_t depth;
static uint64_t serial;

static granary_id
id_of(uint64_t n)
{
    granary_id id = {{0}};

    memcpy(id.bytes, &n, sizeof n);
    id.bytes[12] = 7;
    return id;
}

static granary_err
add(uint64_t n)
{
    struct index_object object = {.id = id_of(n), .serial = ++serial, .offset = n * 64, .data_size = n, .where = 3};
    struct gr_slot *slot;

    object.stamp = object.serial << 20;
    return index_insert(&subject, &object, &slot);
}

static int
setup(void **state)
{
    (void)state;
    (void)snprintf(prefix, sizeof prefix, "/granary.test.crash.%d.", (int)getpid());
    serial = 0;
    return index_create(&subject, prefix, 1, &depth) == GRANARY_OK ? 0 : -1;
}

static void
drop_copies(void)
{
    char name[96];

    for (uint32_t session = 2; session <= 3; session++) {
        shmfile_name(name, prefix, session, "index", SHMFILE_NO_NUMBER);
        (void)shm_unlink(name);
    }
}

static int
teardown(void **state)
{
    (void)state;
    index_step = no_step;
    drop_copies();
    index_fini(&subject);
    return 0;
}

/* ---- what an adopted copy holds, as one number ---- */

static uint64_t
mix(uint64_t sum, uint64_t value)
{
    sum ^= value;
    sum *= 0xd6e8feb86659fd93ull;
    return sum ^ sum >> 32;
}

/* Where an object is changes with a rewrite that is under way; that it is there, does not. */
static uint64_t
slot_sum(const struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);
    enum gr_slot_state state = slot_state(slot);
    uint64_t sum = mix(mix(slot_hash(slot), state), object.stamp);

    if (state == GR_SLOT_BETWEEN) {
        return sum;
    }
    sum = mix(mix(mix(sum, object.serial), object.offset), object.data_size);
    return mix(mix(sum, object.where), object.meta_size);
}

static uint64_t
index_sum(const struct index *adopted)
{
    struct gr_slot *slot;
    uint64_t position = 0;
    uint64_t sum = 0;
    uint64_t objects = 0;

    while ((slot = index_next(adopted, &position)) != NULL) {
        struct index_object object = slot_object(slot);
        bool alias = slot_state(slot) == GR_SLOT_ALIAS;

        /* Found by who looks for it, too. */
        assert_ptr_equal(
            alias ? index_find_alias(adopted, object.id) : index_find_serial(adopted, object.id, object.serial), slot);
        sum += slot_sum(slot);
        objects += alias ? 0 : 1;
    }
    assert_int_equal(objects, adopted->objects);
    return sum;
}

/* ---- copies ---- */

static void
copy_part(char *to, const char *from, int fd, uint64_t at, uint64_t size)
{
    assert_int_equal(posix_fallocate(fd, (off_t)at, (off_t)size), 0);
    memcpy(to + at, from + at, size);
}

/* The file as it is now, as the index of another session. */
static void
copy_index(const struct index *from, uint32_t session)
{
    char name[96];
    void *to;
    int fd;

    shmfile_name(name, prefix, session, "index", SHMFILE_NO_NUMBER);
    fd = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) {
        assert_int_equal(shmfile_create(name, GR_INDEX_SPAN, &fd), GRANARY_OK);
    }
    to = mmap(NULL, GR_INDEX_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    assert_ptr_not_equal(to, MAP_FAILED);
    copy_part(to, from->base, fd, GR_INDEX_DIRECTORY_AT, from->directory_bytes);
    copy_part(to, from->base, fd, GR_INDEX_RECORDS_AT, from->record_bytes);
    copy_part(to, from->base, fd, GR_INDEX_PAGES_AT, from->page_count * GR_PAGE_BYTES);
    (void)munmap(to, GR_INDEX_SPAN);
    (void)close(fd);
}

/* ---- the steps ---- */

static struct {
    uint64_t sums[4]; /* the different ones, in the order they came */
    unsigned sum_count;
    uint64_t outline; /* of everything but the slots */
    uint64_t steps;
    uint64_t alike; /* in a row */
    uint64_t adoptions;
    uint64_t nested_steps;
    uint64_t nested_outline;
    uint64_t nested_alike;
    struct index *nested; /* being adopted, step by step */
    uint64_t nested_sum;
} seen;

static uint64_t
adopt_copy(const struct index *from, uint32_t session, _Atomic uint32_t *copy_depth)
{
    struct index copy;
    uint64_t sum;
    granary_err err;

    copy_index(from, session);
    err = index_adopt(&copy, prefix, session, copy_depth);
    if (err != GRANARY_OK) {
        print_message("step %llu: %s\n", (unsigned long long)seen.steps, granary_error_message());
    }
    assert_int_equal(err, GRANARY_OK);
    sum = index_sum(&copy);
    /* It goes on from there. */
    if (index_find(&copy, id_of(1 << 30)) == NULL) {
        struct gr_slot *slot;

        assert_int_equal(index_insert(&copy, &(struct index_object){.id = id_of(1 << 30), .serial = serial + 1}, &slot),
                         GRANARY_OK);
        assert_ptr_equal(index_find(&copy, id_of(1 << 30)), slot);
    }
    index_close(&copy);
    return sum;
}

static uint64_t
outline_of(const struct index *at)
{
    uint64_t sum = *at->depth;

    for (uint32_t page = 0; page < at->page_count; page++) {
        sum = mix(mix(sum, index_page_word(at, page)), index_page_prefix(at, page));
    }
    for (uint32_t entry = 0; entry < 2u << *at->depth; entry++) {
        sum = mix(sum, index_directory(at)[entry]);
    }
    return sum;
}

/* Whether this step is one to look at. */
static bool
is_due(const struct index *at, uint64_t *outline, uint64_t *alike)
{
    uint64_t now = outline_of(at);

    *alike = now == *outline ? *alike + 1 : 0;
    *outline = now;
    return *alike <= SLOTS_FIRST || *alike % SLOTS_EVERY == 0;
}

static void
nested_step(void)
{
    _Atomic uint32_t copy_depth = *seen.nested->depth;

    if (!is_due(seen.nested, &seen.nested_outline, &seen.nested_alike)) {
        return;
    }
    index_step = no_step;
    seen.nested_steps++;
    assert_int_equal(adopt_copy(seen.nested, 3, &copy_depth), seen.nested_sum);
    index_step = nested_step;
}

/* The adoption itself dies at each of its steps. */
static void
adopt_nested(uint64_t sum)
{
    struct index copy;
    _Atomic uint32_t copy_depth = depth;

    copy_index(&subject, 2);
    seen.nested = &copy;
    seen.nested_sum = sum;
    index_step = nested_step;
    assert_int_equal(index_adopt(&copy, prefix, 2, &copy_depth), GRANARY_OK);
    index_step = no_step;
    assert_int_equal(index_sum(&copy), sum);
    index_close(&copy);
}

static void
on_step(void)
{
    _Atomic uint32_t copy_depth = depth;
    uint64_t sum;

    seen.steps++;
    if (!is_due(&subject, &seen.outline, &seen.alike)) {
        return;
    }
    index_step = no_step;
    sum = adopt_copy(&subject, 2, &copy_depth);
    if (seen.sum_count == 0 || seen.sums[seen.sum_count - 1] != sum) {
        assert_true(seen.sum_count < 4);
        seen.sums[seen.sum_count++] = sum;
    }
    if (seen.adoptions++ % NESTED_EVERY == 0) {
        adopt_nested(sum);
    }
    index_step = on_step;
}

/* Do it, dying at each step. The different states met must be `states` in number: before, after, and one between. */
static void
do_dying(void (*change)(void), unsigned states)
{
    memset(&seen, 0, sizeof seen);
    seen.sums[seen.sum_count++] = index_sum(&subject);
    seen.outline = outline_of(&subject);
    index_step = on_step;
    change();
    index_step = no_step;
    assert_int_equal(seen.sums[seen.sum_count - 1], index_sum(&subject));
    assert_int_equal(seen.sum_count, states);
}

/* ---- changes ---- */

static void
insert_one(void)
{
    assert_int_equal(add(100000), GRANARY_OK);
}

static void
insert_is_all_or_nothing(void **state)
{
    (void)state;
    assert_int_equal(add(1), GRANARY_OK);
    do_dying(insert_one, 2);
}

static void
remove_one(void)
{
    index_remove(&subject, index_find(&subject, id_of(100000)));
}

static void
remove_is_all_or_nothing(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 1500; n++) {
        assert_int_equal(add(n), GRANARY_OK);
    }
    for (uint64_t n = 0; n < 1500; n += 2) {
        index_remove(&subject, index_find(&subject, id_of(n)));
    }
    insert_one();
    do_dying(remove_one, 2);
    assert_int_equal(subject.objects, 750);
}

/* One object of each state, which a split must take along. */
static void
add_states(void)
{
    struct gr_slot *slot;

    assert_int_equal(add(200000), GRANARY_OK);
    slot_enter(index_find(&subject, id_of(200000)), GR_SLOT_DELETING);
    assert_int_equal(add(200000), GRANARY_OK);
    assert_int_equal(add(200001), GRANARY_OK);
    slot = index_find(&subject, id_of(200001));
    slot_rewrite(slot, &(struct index_object){.id = id_of(200001), .serial = ++serial, .where = 9}, GR_SLOT_SPILLED);
    assert_int_equal(add(200002), GRANARY_OK);
    slot_enter(index_find(&subject, id_of(200002)), GR_SLOT_RETIRING);
    assert_int_equal(index_insert_alias(&subject, id_of(200003), id_of(5), ++serial, 1, &slot), GRANARY_OK);
}

/* Fill the page of id 100000 until the next object splits it. */
static void
fill_page(void)
{
    uint32_t at = gr_index_prefix(slot_key_of(id_of(100000)).hash);

    for (uint64_t n = 0; subject.pages[index_page_of(&subject, at)].counts.filled < PAGE_FULL; n++) {
        if (index_find(&subject, id_of(n)) == NULL) {
            assert_int_equal(add(n), GRANARY_OK);
        }
    }
    /* No tomb will do: the place of the new one is an EMPTY slot. */
    assert_int_equal(subject.pages[index_page_of(&subject, at)].counts.taken,
                     subject.pages[index_page_of(&subject, at)].counts.filled);
}

static void
split_is_all_or_nothing(void **state)
{
    (void)state;
    add_states();
    fill_page();
    assert_int_equal(depth, 0);
    do_dying(insert_one, 2);
    assert_int_equal(depth, 1);
    assert_int_equal(subject.splits, 1);
    assert_true(seen.steps > 6000 && seen.nested_steps > 0);
}

/* Pages are used again, the directory is larger than the page's depth asks for. */
static void
later_split_is_all_or_nothing(void **state)
{
    uint64_t splits;

    (void)state;
    add_states();
    for (uint64_t n = 0; depth < 2; n++) {
        assert_int_equal(add(n), GRANARY_OK);
    }
    fill_page();
    splits = subject.splits;
    do_dying(insert_one, 2);
    assert_int_equal(subject.splits, splits + 1);
}

static void
rebuild_is_all_or_nothing(void **state)
{
    uint64_t n = 0;

    (void)state;
    add_states();
    while (subject.pages[0].counts.filled < PAGE_FULL) {
        assert_int_equal(add(n++), GRANARY_OK);
    }
    /* Tombs where the new one does not look. */
    for (n = 0; subject.pages[0].counts.taken > PAGE_FULL / 2; n++) {
        struct gr_slot *slot = index_find(&subject, id_of(n));
        struct slot_key key = slot_key_of(id_of(100000));
        uint32_t at = (uint32_t)(slot - index_slots(&subject, 0));

        if ((at - gr_page_home(key.hash)) % GR_PAGE_SLOTS > 64) {
            atomic_store(&slot->word, GR_WORD(0, GR_SLOT_TOMB));
            subject.pages[0].counts.taken--;
            subject.objects--;
        }
    }
    do_dying(insert_one, 2);
    assert_int_equal(depth, 0);
    assert_int_equal(subject.splits, 1);
    assert_true(seen.steps > 2000);
}

static void
rewrite_one(void)
{
    struct gr_slot *slot = index_find(&subject, id_of(1));
    struct index_object object = slot_object(slot);

    object.where = 77;
    object.offset = 4096;
    slot_enter(slot, GR_SLOT_RETIRING);
    slot_rewrite(slot, &object, GR_SLOT_SPILLED);
}

/* In between it is BETWEEN, with what does not change. */
static void
rewrite_passes_through_between(void **state)
{
    (void)state;
    assert_int_equal(add(1), GRANARY_OK);
    do_dying(rewrite_one, 3);
}

static void
repoint_one(void)
{
    assert_int_equal(index_repoint_alias(&subject, id_of(100000), id_of(6), ++serial), GRANARY_OK);
}

static void
repointing_is_all_or_nothing(void **state)
{
    struct gr_slot *slot;

    (void)state;
    assert_int_equal(index_insert_alias(&subject, id_of(100000), id_of(5), ++serial, 1, &slot), GRANARY_OK);
    do_dying(repoint_one, 2);
    assert_memory_equal(&(granary_id[]){index_resolve(&subject, id_of(100000))}, &(granary_id[]){id_of(6)}, 16);
    fill_page();
    do_dying(repoint_one, 2);
    assert_int_equal(subject.splits, 1);
}

/* ---- what is no index ---- */

static granary_err
adopt_damaged(void (*damage)(struct index *))
{
    _Atomic uint32_t copy_depth = depth;
    struct index copy;
    granary_err err;

    copy_index(&subject, 2);
    assert_int_equal(index_adopt(&copy, prefix, 2, &copy_depth), GRANARY_OK);
    damage(&copy);
    index_close(&copy);
    err = index_adopt(&copy, prefix, 2, &copy_depth);
    if (err == GRANARY_OK) {
        index_close(&copy);
    }
    return err;
}

static void
impossible_state(struct index *damaged)
{
    atomic_store(&index_record(damaged, 1)->word, 77);
}

static void
impossible_depth(struct index *damaged)
{
    atomic_store(&index_record(damaged, 1)->word, GR_PAGE_WORD(1, 14, GR_PAGE_LIVE));
}

static void
lost_page(struct index *damaged)
{
    index_page_enter(damaged, 1, GR_PAGE_FREE);
}

static void
twin_page(struct index *damaged)
{
    atomic_store(&index_record(damaged, 1)->prefix, index_page_prefix(damaged, 2));
}

static void
impossible_depth_of_all(struct index *damaged)
{
    atomic_store(damaged->depth, 16);
}

static void
wrong_entry(struct index *damaged)
{
    atomic_store(&index_directory(damaged)[0], ~0ull);
}

static void
no_damage(struct index *damaged)
{
    (void)damaged;
}

static void
damage_is_refused(void **state)
{
    (void)state;
    fill_page();
    insert_one(); /* pages 1 and 2 are LIVE, 0 is FREE */
    assert_int_equal(adopt_damaged(no_damage), GRANARY_OK);
    assert_int_equal(adopt_damaged(wrong_entry), GRANARY_OK); /* the records know better */
    assert_int_equal(adopt_damaged(impossible_state), GRANARY_ECORRUPT);
    assert_int_equal(adopt_damaged(impossible_depth), GRANARY_ECORRUPT);
    assert_int_equal(adopt_damaged(lost_page), GRANARY_ECORRUPT);
    assert_int_equal(adopt_damaged(twin_page), GRANARY_ECORRUPT);
    assert_int_equal(adopt_damaged(impossible_depth_of_all), GRANARY_ECORRUPT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(insert_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(remove_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(split_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(later_split_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(rebuild_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(rewrite_passes_through_between, setup, teardown),
        cmocka_unit_test_setup_teardown(repointing_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
