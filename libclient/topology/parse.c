/* Topology files: a line a node, with cpus, memory and distances. */
#include "topology/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/size.h"

/* A file being read. */
struct reading {
    const char *name;
    int line;
    struct topology *topology;
    size_t distances[TOPOLOGY_NODES_MAX]; /* how many each node gives; 0: none */
    int lines[TOPOLOGY_NODES_MAX];        /* where each node is */
};

static granary_err
fail_at(const struct reading *reading, int line, const char *what, const char *word)
{
    return gr_fail(GRANARY_EINVAL, "%s:%d: %s%s%s%s", reading->name, line, what, word == NULL ? "" : ": '",
                   word == NULL ? "" : word, word == NULL ? "" : "'");
}

/* A number from 0 to most; -1: it is none. */
static long
number_of(const char *word, long most)
{
    char *end;
    long number = strtol(word, &end, 10);

    return isdigit((unsigned char)word[0]) && *end == '\0' && number <= most ? number : -1;
}

/* "0-3,8" */
static bool
read_cpus(char *word, cpu_set_t *ret_cpus)
{
    char *rest = NULL;

    for (char *part = strtok_r(word, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        char *dash = strchr(part, '-');
        long first, last;

        if (dash != NULL) {
            *dash = '\0';
        }
        first = number_of(part, CPU_SETSIZE - 1);
        last = dash == NULL ? first : number_of(dash + 1, CPU_SETSIZE - 1);
        if (first < 0 || last < first) {
            return false;
        }
        for (long cpu = first; cpu <= last; cpu++) {
            CPU_SET((int)cpu, ret_cpus);
        }
    }
    return CPU_COUNT(ret_cpus) > 0;
}

/* The words behind "node N". */
static granary_err
read_node(struct reading *reading, size_t number, char *rest)
{
    struct topology_node *node = &reading->topology->nodes[number];
    char *key = strtok_r(NULL, " \t\r", &rest);

    while (key != NULL) {
        char *word = strtok_r(NULL, " \t\r", &rest);
        char shown[64];

        (void)snprintf(shown, sizeof shown, "%s", word == NULL ? "" : word);
        if (strcmp(key, "cpus") == 0) {
            if (word == NULL || !read_cpus(word, &node->cpus)) {
                return fail_at(reading, reading->line, "cpus are written as 0-3,8", shown);
            }
        } else if (strcmp(key, "memory") == 0) {
            if (word == NULL || gr_size_parse(word, &node->memory_bytes) != GRANARY_OK) {
                return fail_at(reading, reading->line, "memory is a size such as 8G", shown);
            }
        } else if (strcmp(key, "distance") == 0) {
            for (; word != NULL && isdigit((unsigned char)word[0]); word = strtok_r(NULL, " \t\r", &rest)) {
                long distance = number_of(word, UINT8_MAX);

                if (distance < 1 || reading->distances[number] == TOPOLOGY_NODES_MAX) {
                    return fail_at(reading, reading->line, "distances are numbers from 1 to 255, one a node", word);
                }
                node->distances[reading->distances[number]++] = (uint8_t)distance;
            }
            key = word;
            continue;
        } else {
            return fail_at(reading, reading->line, "neither cpus nor memory nor distance", key);
        }
        key = strtok_r(NULL, " \t\r", &rest);
    }
    return CPU_COUNT(&node->cpus) > 0 ? GRANARY_OK : fail_at(reading, reading->line, "a node has cpus", NULL);
}

static granary_err
read_line(struct reading *reading, char *line)
{
    struct topology *topology = reading->topology;
    char *rest = NULL;
    char *word;
    long number;

    line[strcspn(line, "#")] = '\0';
    word = strtok_r(line, " \t\r", &rest);
    if (word == NULL) {
        return GRANARY_OK;
    }
    if (strcmp(word, "node") != 0) {
        return fail_at(reading, reading->line, "a line begins with 'node'", word);
    }
    word = strtok_r(NULL, " \t\r", &rest);
    number = word == NULL ? -1 : number_of(word, TOPOLOGY_NODES_MAX - 1);
    if (number < 0) {
        return fail_at(reading, reading->line, "the number of a node is from 0 to 63", word == NULL ? "" : word);
    }
    if (reading->lines[number] != 0) {
        return fail_at(reading, reading->line, "this node is there already", word);
    }
    reading->lines[number] = reading->line;
    topology->count = (size_t)number < topology->count ? topology->count : (size_t)number + 1;
    return read_node(reading, (size_t)number, rest);
}

static granary_err
check(struct reading *reading)
{
    struct topology *topology = reading->topology;

    if (topology->count == 0) {
        return gr_fail(GRANARY_EINVAL, "%s: no node is in it", reading->name);
    }
    for (size_t i = 0; i < topology->count; i++) {
        char text[16];

        (void)snprintf(text, sizeof text, "%zu", i);
        if (reading->lines[i] == 0) {
            return fail_at(reading, reading->line, "there is no node of this number, below the highest", text);
        }
        if (reading->distances[i] == 0) {
            topology_default_distances(topology->nodes, topology->count, i);
        } else if (reading->distances[i] != topology->count) {
            return fail_at(reading, reading->lines[i], "not as many distances as there are nodes", NULL);
        }
    }
    return GRANARY_OK;
}

granary_err
topology_parse_lines(const char *text, const char *name, struct topology *topology)
{
    struct reading reading = {.name = name, .topology = topology};
    char *copy = strdup(text);
    char *next = copy;
    granary_err err = copy == NULL ? gr_fail(GRANARY_ENOMEM, "%s: out of memory", name) : GRANARY_OK;

    while (err == GRANARY_OK && next != NULL) {
        char *line = strsep(&next, "\n");

        reading.line++;
        err = read_line(&reading, line);
    }
    if (err == GRANARY_OK) {
        err = check(&reading);
    }
    free(copy);
    return err;
}
