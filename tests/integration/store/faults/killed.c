/* The child is traced and goes step by step: so no instruction is left out, as it would be by a clock. */
#include "killed.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/store/fixture.h"

static void
be_killed(void **state, const char *name, const struct killed_deed *deed)
{
    granary_client *client = fixture_connect(state);
    void *opened = deed->open(client, name, deed->context);

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0) {
        _exit(1);
    }
    deed->run(opened, deed->context);
    _exit(0);
}

bool
killed_do(void **state, const char *name, const struct killed_deed *deed, uint64_t instructions)
{
    const pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        be_killed(state, name, deed);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
    for (uint64_t i = 0; i < instructions && WIFSTOPPED(status); i++) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return false;
    }
    if (deed->meanwhile != NULL) {
        deed->meanwhile(deed->context);
        assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
        assert_int_equal(fixture_wait(child), 0);
        return true;
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return true;
}
