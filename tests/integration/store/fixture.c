#include "fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/instance.h"

static struct daemon daemon_of_test;

static const char *const arguments[] = {"--memory", "64M", NULL};

int
fixture_start(void **state)
{
    *state = &daemon_of_test;
    return daemon_start(&daemon_of_test, arguments) ? 0 : -1;
}

int
fixture_stop(void **state)
{
    return daemon_stop(*state) ? 0 : -1;
}

void
fixture_assert_err(granary_err got, granary_err want, const char *expression, const char *file, int line)
{
    if (got != want) {
        print_error("%s is %s (%s), not %s\n", expression, granary_error_name(got), granary_error_message(),
                    granary_error_name(want));
        _fail(file, line);
    }
}

void
fixture_restart(void **state)
{
    daemon_kill(*state);
    assert_true(daemon_restart(*state, arguments));
}

void
fixture_power_off(void **state)
{
    const struct daemon *daemon = *state;
    struct gr_instance instance;

    daemon_kill(*state);
    assert_ok(gr_instance_resolve(daemon->directory, &instance));
    (void)gr_instance_sweep_shm(&instance);
}

void
fixture_power_on(void **state)
{
    assert_true(daemon_restart(*state, arguments));
}

static granary_client *
connect_with(void **state, int reconnect_ms)
{
    const struct daemon *daemon = *state;
    granary_connect_options options = {.instance = daemon->directory, .reconnect_ms = reconnect_ms};
    granary_client *client = NULL;

    assert_ok(granary_connect(&options, &client));
    return client;
}

granary_client *
fixture_connect_briefly(void **state)
{
    return connect_with(state, -1);
}

granary_client *
fixture_connect(void **state)
{
    return connect_with(state, 0);
}

granary_id
fixture_id(uint64_t n)
{
    granary_id id;
    uint64_t words[2] = {(n + 1) * 0x9e3779b97f4a7c15ull, n};

    memcpy(id.bytes, words, sizeof id.bytes);
    return id;
}

void
fixture_fill(void *bytes, uint64_t n, uint64_t size)
{
    char *at = bytes;
    uint64_t word = n * 0xd6e8feb86659fd93ull + 1;

    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(at, &word, sizeof word);
        word += 0x9e3779b97f4a7c15ull;
    }
    memcpy(at, &word, size);
}

bool
fixture_content_is(const void *bytes, uint64_t n, uint64_t size)
{
    const char *at = bytes;
    uint64_t word = n * 0xd6e8feb86659fd93ull + 1;

    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        if (memcmp(at, &word, sizeof word) != 0) {
            return false;
        }
        word += 0x9e3779b97f4a7c15ull;
    }
    return memcmp(at, &word, size) == 0;
}

granary_err
fixture_put(granary_client *client, uint64_t n, uint64_t size, int flags)
{
    granary_buffer buffer;
    granary_err err;

    if (flags == 0) {
        err = granary_object_create(client, fixture_id(n), size, 0, 10000, &buffer);
        if (err == GRANARY_OK) {
            fixture_fill(buffer.data, n, size);
            err = granary_object_seal(client, &buffer);
        }
        return err;
    }
    char bytes[4096];

    assert_true(size <= sizeof bytes);
    fixture_fill(bytes, n, size);
    return granary_object_put(client, fixture_id(n), bytes, size, NULL, 0, flags);
}

void
fixture_check(granary_client *client, uint64_t n, uint64_t size)
{
    granary_view view;

    assert_ok(granary_object_get(client, fixture_id(n), 60000, &view));
    assert_int_equal(view.data_size, size);
    assert_true(fixture_content_is(view.data, n, size));
    granary_object_release(client, &view);
}

granary_store_stat
fixture_stat(granary_client *client)
{
    granary_store_stat stat;

    assert_ok(granary_store_stat_get(client, &stat));
    assert_int_equal(stat.free_bytes + stat.reserved_bytes + stat.writing_bytes + stat.sealed_bytes +
                         stat.retiring_bytes + stat.pooled_bytes,
                     stat.capacity_bytes);
    return stat;
}

void
fixture_settle(granary_client *client, uint64_t clients)
{
    granary_store_stat stat = fixture_stat(client);

    /* The store is told of a death by the kernel and has no word to wait for: look every millisecond. */
    for (int i = 0; i < 60000; i++) {
        if (stat.writing_bytes == 0 && stat.retiring_bytes == 0 && stat.clients == clients) {
            return;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        stat = fixture_stat(client);
    }
    print_error("writing %llu retiring %llu clients %llu after a minute\n", (unsigned long long)stat.writing_bytes,
                (unsigned long long)stat.retiring_bytes, (unsigned long long)stat.clients);
    fail();
}

int
fixture_wait(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
