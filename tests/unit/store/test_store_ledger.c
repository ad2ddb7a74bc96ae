/* The ledger: records found and gone, growth, full memory, and what a store that died may have left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "store/ledger/ledger.h"

static char prefix[64];
static _Atomic uint64_t next_token;

static int
setup(void **state)
{
    (void)state;
    (void)snprintf(prefix, sizeof prefix, "/granary.test.ledger.%d.", (int)getpid());
    next_token = 1;
    return 0;
}

static granary_id
id_of(uint64_t n)
{
    return gr_id_from_words(n, 9);
}

static struct gr_ledger_record
fields_of(uint64_t id, uint32_t client, uint64_t request)
{
    return (struct gr_ledger_record){.id = {id, 9}, .client = client, .request = request};
}

static uint32_t
add(struct ledger *ledger, enum gr_ledger_kind kind, uint64_t id, uint32_t client, uint64_t request)
{
    struct gr_ledger_record fields = fields_of(id, client, request);
    uint32_t number;

    if (kind == GR_LEDGER_NAME) {
        (void)snprintf(fields.text, sizeof fields.text, "name %llu", (unsigned long long)id);
    }
    fields.other[0] = kind == GR_LEDGER_LEASE ? 77 : 0;
    assert_int_equal(ledger_add(ledger, kind, &fields, &number), GRANARY_OK);
    return number;
}

static unsigned
records_of(const struct ledger *ledger, uint64_t id)
{
    unsigned count = 0;

    for (uint32_t at = ledger_first_of(ledger, id_of(id)); at != 0; at = ledger_note(ledger, at)->id_next) {
        assert_int_equal(ledger_record(ledger, at)->id[0], id);
        count++;
    }
    return count;
}

/* ---- the tree ---- */

enum { NODES = 4000 };

static struct tree_links links[NODES + 1];

static struct tree_links *
links_of(const void *context, uint32_t node)
{
    (void)context;
    return &links[node];
}

/* Keys are spread: node n has key n * 7919 % 65537. */
static int
compare(const void *context, const void *key, uint32_t node)
{
    uint32_t left = *(const uint32_t *)key;
    uint32_t right = node * 7919 % 65537;

    (void)context;
    return left < right ? -1 : left > right;
}

static void
trees_agree_with_a_model(void **state)
{
    static const struct tree_kind kind = {links_of, compare};
    struct tree tree = {&kind, NULL, 0};
    bool *in = calloc(65537, sizeof *in);
    uint32_t *node_of = calloc(65537, sizeof *node_of);

    (void)state;
    srand(3);
    for (int step = 0; step < 40000; step++) {
        uint32_t node = (uint32_t)(rand() % NODES + 1);
        uint32_t key = node * 7919 % 65537;
        uint32_t probe = (uint32_t)(rand() % 65537);
        uint32_t after = probe + 1;

        assert_int_equal(tree_find(&tree, &key), in[key] ? node : 0);
        if (in[key]) {
            tree_remove(&tree, &key);
        } else {
            tree_insert(&tree, &key, node);
        }
        in[key] = !in[key];
        node_of[key] = node;
        while (after < 65537 && !in[after]) {
            after++;
        }
        assert_int_equal(tree_after(&tree, &probe), after == 65537 ? 0 : node_of[after]);
    }
    free(in);
    free(node_of);
}

/* ---- records ---- */

static void
records_are_found_until_they_go(void **state)
{
    struct ledger ledger;
    uint32_t pin, again, reference, lease;
    uint64_t token;

    (void)state;
    assert_int_equal(ledger_create(&ledger, prefix, 1, GR_SHM_VERSION, &next_token), GRANARY_OK);
    assert_int_equal(ledger_bytes(&ledger), LEDGER_STEP * sizeof(struct gr_ledger_record));
    pin = add(&ledger, GR_LEDGER_PIN, 5, 3, 1);
    again = add(&ledger, GR_LEDGER_PIN, 5, 3, 2);
    reference = add(&ledger, GR_LEDGER_REFERENCE, 5, 3, 3);
    lease = add(&ledger, GR_LEDGER_LEASE, 6, 3, 4);
    assert_int_equal(records_of(&ledger, 5), 3);
    assert_int_equal(records_of(&ledger, 6), 1);
    assert_int_equal(ledger_keepers(&ledger, id_of(5)), 1);
    assert_int_equal(ledger_leases(&ledger, 3), 1);
    assert_int_equal(ledger_find_request(&ledger, 3, 2), again);
    assert_int_equal(ledger_find_request(&ledger, 4, 2), 0);
    token = record_token(ledger_record(&ledger, reference));
    assert_int_equal(ledger_find_token(&ledger, token), reference);
    assert_int_equal(ledger_after(&ledger, token), lease);
    assert_int_equal(ledger_after(&ledger, 0), pin);
    ledger_remove(&ledger, again);
    ledger_remove(&ledger, reference);
    assert_int_equal(ledger_find_token(&ledger, token), 0);
    assert_int_equal(ledger_find_request(&ledger, 3, 2), 0);
    assert_int_equal(ledger_after(&ledger, record_token(ledger_record(&ledger, pin))), lease);
    assert_int_equal(records_of(&ledger, 5), 1);
    assert_int_equal(ledger_keepers(&ledger, id_of(5)), 0);
    ledger_remove(&ledger, pin);
    ledger_remove(&ledger, lease);
    assert_int_equal(ledger.count, 0);
    assert_int_equal(ledger.ids.count + ledger.clients.count + ledger.requests.count, 0);
    ledger_fini(&ledger);
}

static void
belongings_of_clients_that_are_gone_line_up(void **state)
{
    struct ledger ledger;
    unsigned gone = 0;
    uint32_t kept;

    (void)state;
    assert_int_equal(ledger_create(&ledger, prefix, 1, GR_SHM_VERSION, &next_token), GRANARY_OK);
    for (uint32_t client = 1; client <= 3; client++) {
        for (uint64_t request = 1; request <= 5; request++) {
            (void)add(&ledger, request % 2 ? GR_LEDGER_PIN : GR_LEDGER_LEASE, request, client, request);
        }
    }
    kept = ledger_find_request(&ledger, 2, 3);
    ledger_depart(&ledger, 1);
    ledger_depart(&ledger, 7);
    ledger_depart(&ledger, 3);
    /* One in the middle, one at the end, then the rest from the front. */
    ledger_remove(&ledger, ledger_find_request(&ledger, 3, 3));
    ledger_remove(&ledger, ledger_find_request(&ledger, 1, 1));
    for (; ledger.departed != 0; gone++) {
        assert_int_not_equal(ledger_record(&ledger, ledger.departed)->client, 2);
        ledger_remove(&ledger, ledger.departed);
    }
    assert_int_equal(gone, 8);
    assert_int_equal(ledger.count, 5);
    assert_int_equal(ledger_leases(&ledger, 2), 2);
    assert_int_equal(ledger_leases(&ledger, 1), 0);
    assert_int_equal(ledger_find_request(&ledger, 2, 3), kept);
    ledger_fini(&ledger);
}

/* At random, against an array, over several growths. */
static void
ledger_agrees_with_a_model(void **state)
{
    enum { RECORDS = 3000, STEPS = 60000, IDS = 50 };
    uint64_t *tokens = calloc(RECORDS, sizeof *tokens);
    unsigned of_id[IDS] = {0};
    unsigned live = 0;
    struct ledger ledger;
    uint64_t before = 0;
    unsigned seen = 0;

    (void)state;
    srand(11);
    assert_int_equal(ledger_create(&ledger, prefix, 1, GR_SHM_VERSION, &next_token), GRANARY_OK);
    for (int step = 0; step < STEPS; step++) {
        unsigned at = (unsigned)rand() % RECORDS;
        uint64_t id = at % IDS + 1;
        uint32_t number = tokens[at] == 0 ? 0 : ledger_find_token(&ledger, tokens[at]);

        if (tokens[at] == 0) {
            number = add(&ledger, (enum gr_ledger_kind)(at % 4 + 1), id, at % 7 + 1, (uint64_t)step + 1);
            tokens[at] = record_token(ledger_record(&ledger, number));
            of_id[id - 1]++;
            live++;
        } else {
            assert_int_not_equal(number, 0);
            assert_int_equal(ledger_record(&ledger, number)->id[0], id);
            ledger_remove(&ledger, number);
            tokens[at] = 0;
            of_id[id - 1]--;
            live--;
        }
        assert_int_equal(ledger.count, live);
    }
    for (uint64_t id = 1; id <= IDS; id++) {
        assert_int_equal(records_of(&ledger, id), of_id[id - 1]);
    }
    for (uint32_t at; (at = ledger_after(&ledger, before)) != 0; seen++) {
        before = record_token(ledger_record(&ledger, at));
    }
    assert_int_equal(seen, live);
    assert_true(ledger.room < 2 * RECORDS); /* what goes is used again */
    free(tokens);
    ledger_fini(&ledger);
}

/* No memory for more: an error, nothing half done, and it works again afterwards. */
static void
a_ledger_that_cannot_grow_says_so(void **state)
{
    struct rlimit limit, before;
    struct gr_ledger_record fields = fields_of(1, 2, 0);
    struct ledger ledger;
    uint32_t number;

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(ledger_create(&ledger, prefix, 1, GR_SHM_VERSION, &next_token), GRANARY_OK);
    for (uint32_t i = 1; i < LEDGER_STEP; i++) {
        (void)add(&ledger, GR_LEDGER_PIN, i, 2, i);
    }
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = ledger_bytes(&ledger) + 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(ledger_add(&ledger, GR_LEDGER_PIN, &fields, &number), GRANARY_EFULL);
    assert_int_equal(ledger.count, LEDGER_STEP - 1);
    assert_int_equal(records_of(&ledger, 1), 1);
    ledger_remove(&ledger, ledger_find_request(&ledger, 2, 9));
    (void)add(&ledger, GR_LEDGER_PIN, 9, 2, 9);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)add(&ledger, GR_LEDGER_PIN, 1, 2, 5000);
    assert_int_equal(ledger.count, LEDGER_STEP);
    assert_int_equal(ledger_bytes(&ledger), 2 * LEDGER_STEP * sizeof(struct gr_ledger_record));
    ledger_fini(&ledger);
}

/* ---- adoption ---- */

/* The file as a store that dies now leaves it, under another session's name. */
static void
leave_copy(const struct ledger *ledger, uint32_t session)
{
    uint64_t bytes = ledger_bytes(ledger);
    struct gr_ledger *head;
    char name[96];
    int fd;

    (void)snprintf(name, sizeof name, "%ss%u.ledger", prefix, session);
    (void)shm_unlink(name);
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, ledger->file, bytes), bytes);
    head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(head, MAP_FAILED);
    head->session = session;
    (void)munmap(head, sizeof *head);
    (void)close(fd);
}

static void
what_was_written_is_adopted(void **state)
{
    struct ledger ledger, adopted;
    _Atomic uint64_t other_token = 1;
    uint32_t dropped;
    uint32_t last;

    (void)state;
    assert_int_equal(ledger_create(&ledger, prefix, 1, GR_SHM_VERSION, &next_token), GRANARY_OK);
    for (uint32_t i = 1; i <= 1000; i++) {
        (void)add(&ledger, (enum gr_ledger_kind)(i % 2 + 1), i % 10 + 1, i % 3 + 1, i);
    }
    for (uint32_t i = 1; i <= 1000; i += 5) {
        ledger_remove(&ledger, ledger_find_request(&ledger, i % 3 + 1, i));
    }
    last = add(&ledger, GR_LEDGER_NAME, 3, 1, 0);
    leave_copy(&ledger, 2);
    assert_int_equal(ledger_adopt(&adopted, prefix, 2, &other_token, &dropped), GRANARY_OK);
    assert_int_equal(dropped, 0);
    assert_int_equal(adopted.count, ledger.count);
    assert_int_equal(other_token, next_token);
    for (uint32_t i = 1; i <= 1000; i++) {
        uint32_t was = ledger_find_request(&ledger, i % 3 + 1, i);

        assert_int_equal(ledger_find_request(&adopted, i % 3 + 1, i), was);
    }
    for (uint64_t id = 1; id <= 10; id++) {
        assert_int_equal(records_of(&adopted, id), records_of(&ledger, id));
        assert_int_equal(ledger_keepers(&adopted, id_of(id)), ledger_keepers(&ledger, id_of(id)));
    }
    assert_string_equal(ledger_record(&adopted, last)->text, "name 3");
    /* It goes on where the other one was. */
    (void)add(&adopted, GR_LEDGER_PIN, 1, 1, 2000);
    assert_int_equal(adopted.count, ledger.count + 1);
    ledger_fini(&adopted);
    ledger_fini(&ledger);
}

/* A store that dies between any two of the steps that make or take a record leaves it there, or not there. */
static void
a_record_is_there_or_not(void **state)
{
    struct ledger ledger, adopted;
    struct gr_ledger_record *record;
    _Atomic uint64_t other_token;
    uint32_t dropped;
    uint64_t word;

    (void)state;
    assert_int_equal(ledger_create(&ledger, prefix, 1, GR_SHM_VERSION, &next_token), GRANARY_OK);
    (void)add(&ledger, GR_LEDGER_PIN, 1, 2, 1);
    record = ledger_record(&ledger, add(&ledger, GR_LEDGER_REFERENCE, 2, 2, 2));
    word = record_word(record);
    for (unsigned written = 0; written <= sizeof *record - sizeof record->word; written++) {
        struct gr_ledger_record before = *record;

        /* The word is 0 while the fields come, byte by byte for all we know; what lay there before is anything. */
        atomic_store(&record->word, 0);
        memset((char *)record + sizeof record->word + written, 0xa5, sizeof *record - sizeof record->word - written);
        leave_copy(&ledger, 2);
        other_token = 1;
        assert_int_equal(ledger_adopt(&adopted, prefix, 2, &other_token, &dropped), GRANARY_OK);
        assert_int_equal(dropped, 0);
        assert_int_equal(adopted.count, 1);
        assert_int_equal(records_of(&adopted, 1), 1);
        assert_int_equal(records_of(&adopted, 2), 0);
        ledger_fini(&adopted);
        memcpy((void *)record, &before, sizeof *record);
        atomic_store(&record->word, word);
    }
    leave_copy(&ledger, 2);
    assert_int_equal(ledger_adopt(&adopted, prefix, 2, &other_token, &dropped), GRANARY_OK);
    assert_int_equal(adopted.count, 2);
    ledger_fini(&adopted);
    ledger_fini(&ledger);
}

/* Records of random bytes: what is taken over makes sense, the rest is free again. */
static void
garbage_is_dropped(void **state)
{
    struct ledger ledger, adopted;
    _Atomic uint64_t other_token = 1;
    uint32_t dropped = 0;
    uint32_t position;

    (void)state;
    srand(17);
    for (int round = 0; round < 50; round++) {
        uint32_t kept = 0;

        assert_int_equal(ledger_create(&ledger, prefix, 1, GR_SHM_VERSION, &next_token), GRANARY_OK);
        for (uint32_t i = 1; i < LEDGER_STEP; i++) {
            struct gr_ledger_record *record = ledger_record(&ledger, i);

            for (size_t byte = 0; byte < sizeof *record; byte++) {
                ((unsigned char *)record)[byte] = (unsigned char)rand();
            }
            if (i % 2 == 0) { /* nearly right */
                atomic_store(&record->word, (uint64_t)(rand() % 100) << 8 | (uint64_t)(rand() % 8));
                memset(record->text, rand() % 3 == 0 ? 'x' : '\0', sizeof record->text);
                record->scope = (uint16_t)(rand() % 3);
                record->flags = (uint16_t)(rand() % 2);
                record->id[0] = (uint64_t)(rand() % 5);
                record->id[1] = (uint64_t)(rand() % 2);
                record->request = (uint64_t)(rand() % 50);
                record->client = (uint32_t)(rand() % 3);
            }
        }
        leave_copy(&ledger, 2);
        ledger_fini(&ledger);
        assert_int_equal(ledger_adopt(&adopted, prefix, 2, &other_token, &dropped), GRANARY_OK);
        assert_true(adopted.count > 0);
        assert_true(dropped > 0);
        position = 0;
        for (uint32_t at; (at = ledger_next(&adopted, &position)) != 0; kept++) {
            ledger_remove(&adopted, at);
        }
        assert_true(kept + dropped < LEDGER_STEP);
        assert_int_equal(adopted.count, 0);
        assert_int_equal(adopted.ids.count + adopted.clients.count + adopted.requests.count, 0);
        for (uint32_t i = 1; i <= LEDGER_STEP; i++) {
            (void)add(&adopted, GR_LEDGER_PIN, i, 2, i);
        }
        ledger_fini(&adopted);
    }
}

/* A file that is no ledger, or less of one than its header says. */
static void
other_files_are_refused(void **state)
{
    struct ledger ledger, adopted;
    char name[96];
    uint32_t dropped;
    int fd;

    (void)state;
    (void)snprintf(name, sizeof name, "%ss2.ledger", prefix);
    assert_int_equal(ledger_adopt(&adopted, prefix, 2, &next_token, &dropped), GRANARY_ENOENT);
    ledger_fini(&adopted);
    assert_int_equal(ledger_create(&ledger, prefix, 1, GR_SHM_VERSION, &next_token), GRANARY_OK);
    (void)add(&ledger, GR_LEDGER_PIN, 1, 2, 1);
    leave_copy(&ledger, 2);
    fd = shm_open(name, O_RDWR, 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0); /* shorter than it says: what is there counts */
    assert_int_equal(ledger_adopt(&adopted, prefix, 2, &next_token, &dropped), GRANARY_OK);
    assert_int_equal(adopted.room, 31);
    assert_int_equal(adopted.count, 1);
    for (uint32_t i = 2; i <= LEDGER_STEP; i++) {
        (void)add(&adopted, GR_LEDGER_PIN, i, 2, i);
    }
    ledger_fini(&adopted);
    (void)close(fd);
    for (int kind = 0; kind < 3; kind++) {
        leave_copy(&ledger, 2);
        fd = shm_open(name, O_RDWR, 0);
        assert_true(fd >= 0);
        if (kind == 0) {
            assert_int_equal(ftruncate(fd, 100), 0);
        } else {
            assert_int_equal(pwrite(fd, "\1\2\3", 3, kind == 1 ? 0 : 8), 3);
        }
        (void)close(fd);
        assert_int_equal(ledger_adopt(&adopted, prefix, 2, &next_token, &dropped), GRANARY_ECORRUPT);
        (void)shm_unlink(name);
    }
    ledger_fini(&ledger);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_agree_with_a_model),
        cmocka_unit_test_setup(records_are_found_until_they_go, setup),
        cmocka_unit_test_setup(belongings_of_clients_that_are_gone_line_up, setup),
        cmocka_unit_test_setup(ledger_agrees_with_a_model, setup),
        cmocka_unit_test_setup(a_ledger_that_cannot_grow_says_so, setup),
        cmocka_unit_test_setup(what_was_written_is_adopted, setup),
        cmocka_unit_test_setup(a_record_is_there_or_not, setup),
        cmocka_unit_test_setup(garbage_is_dropped, setup),
        cmocka_unit_test_setup(other_files_are_refused, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
