#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "topology/topology.h"

static struct topology topology;

static void
a_file_says_what_there_is(void **state)
{
    int nodes[TOPOLOGY_NODES_MAX];
    char text[64];

    (void)state;
    assert_int_equal(topology_parse("# two\n\nnode 1 memory 2G cpus 2,900-901 distance 21 10\n"
                                    "  node 0\tcpus 0-1   # the first\r\n",
                                    "f", &topology),
                     GRANARY_OK);
    assert_true(topology.from_file);
    assert_int_equal(topology.count, 2);
    assert_string_equal(topology_cpus(&topology.nodes[0].cpus, text, sizeof text), "0-1");
    assert_string_equal(topology_cpus(&topology.nodes[1].cpus, text, sizeof text), "2,900-901");
    assert_true(topology.nodes[1].memory_bytes == 2ull << 30);
    assert_int_equal(topology.nodes[0].distances[0], 10);
    assert_int_equal(topology.nodes[0].distances[1], 20);
    assert_int_equal(topology.nodes[1].distances[0], 21);
    /* Also nodes none of whose cpus are here. */
    assert_int_equal(topology_usable(&topology, nodes), 2);
    assert_int_equal(nodes[1], 1);
}

static void
mistakes_are_told_with_their_line(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"", "f: no node"},
        {"\nnod 0 cpus 1", "f:2: a line begins with 'node': 'nod'"},
        {"node", "f:1: the number of a node"},
        {"node -1 cpus 0", "f:1: the number of a node is from 0 to 63: '-1'"},
        {"node 64 cpus 0", "f:1: the number of a node is from 0 to 63: '64'"},
        {"node 0", "f:1: a node has cpus"},
        {"node 0 cpus", "f:1: cpus are written as 0-3,8"},
        {"node 0 cpus 3-1", "f:1: cpus are written as 0-3,8: '3-1'"},
        {"node 0 cpus 0-99999", "f:1: cpus are written as"},
        {"node 0 cpus 0x1", "f:1: cpus are written as"},
        {"node 0 cpus ,", "f:1: cpus are written as"},
        {"node 0 cpus 0 memory lots", "f:1: memory is a size such as 8G: 'lots'"},
        {"node 0 cpus 0 colour blue", "f:1: neither cpus nor memory nor distance: 'colour'"},
        {"node 0 cpus 0 distance 10 20", "f:1: not as many distances"},
        {"node 0 cpus 0 distance 0", "f:1: distances are numbers from 1 to 255"},
        {"node 0 cpus 0 distance 256", "f:1: distances are numbers from 1 to 255"},
        {"node 0 cpus 0\nnode 0 cpus 1", "f:2: this node is there already: '0'"},
        {"node 1 cpus 0", "f:1: there is no node of this number, below the highest: '0'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(topology_parse(cases[i].text, "f", &topology), GRANARY_EINVAL);
        if (strstr(granary_error_message(), cases[i].says) == NULL) {
            fail_msg("'%s' says '%s' and not '%s'", cases[i].text, granary_error_message(), cases[i].says);
        }
    }
}

/* The cpu set a process was given is what it has: the machine's nodes cover it. */
static void
the_machine_is_read(void **state)
{
    int nodes[TOPOLOGY_NODES_MAX];
    cpu_set_t ours;
    size_t count;

    (void)state;
    assert_int_equal(unsetenv("GRANARY_TOPOLOGY"), 0);
    assert_int_equal(topology_read(&topology), GRANARY_OK);
    assert_false(topology.from_file);
    count = topology_usable(&topology, nodes);
    assert_true(count >= 1 && count <= topology.count);
    assert_true(topology.nodes[topology_here(&topology)].usable);
    assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        bool covered = false;

        for (size_t i = 0; i < count; i++) {
            covered = covered || CPU_ISSET(cpu, &topology.nodes[nodes[i]].cpus);
        }
        assert_true(covered || !CPU_ISSET(cpu, &ours));
    }
}

static void
pin_to(int node)
{
    struct topology_pin pin;

    topology_pin_plan(&topology, node, &pin);
    assert_false(pin.memory_set);
    topology_pin_apply(&pin);
}

/* To the cpus of the node that are there; when none is, nothing changes. */
static void
pinning_takes_what_is_there(void **state)
{
    cpu_set_t before, now;
    char text[64];
    int cpu = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    while (!CPU_ISSET(cpu, &before)) {
        cpu++;
    }
    (void)snprintf(text, sizeof text, "node 0 cpus 1022-1023\nnode 1 cpus %d,1021", cpu);
    assert_int_equal(topology_parse(text, "f", &topology), GRANARY_OK);
    pin_to(0);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&before, &now));
    pin_to(7);
    pin_to(-1);
    pin_to(1);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_COUNT(&now) == 1 && CPU_ISSET(cpu, &now));
    assert_int_equal(topology_here(&topology), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_says_what_there_is),
        cmocka_unit_test(mistakes_are_told_with_their_line),
        cmocka_unit_test(the_machine_is_read),
        cmocka_unit_test(pinning_takes_what_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
