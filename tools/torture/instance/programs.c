/* A copy is written beside, and renamed: who runs the file before goes on with it. */
#include "torture/instance/programs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define NAME_BEGIN "granary"

static bool
copy_bytes(int in, int out)
{
    ssize_t count;

    while ((count = sendfile(out, in, NULL, 1 << 24)) > 0) {
    }
    return count == 0;
}

static bool
install_one(const struct programs *programs, const char *name)
{
    char from[PATH_MAX + NAME_MAX + 2], beside[PATH_MAX + NAME_MAX + 8], into[PATH_MAX + NAME_MAX + 2];
    int in, out;
    bool good;

    (void)snprintf(from, sizeof from, "%s/%s", programs->from, name);
    (void)snprintf(into, sizeof into, "%s/%s", programs->into, name);
    (void)snprintf(beside, sizeof beside, "%s.new", into);
    in = open(from, O_RDONLY | O_CLOEXEC);
    out = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    good = in >= 0 && out >= 0 && copy_bytes(in, out);
    gr_fd_close(&in);
    gr_fd_close(&out);
    good = good && rename(beside, into) == 0;
    if (!good) {
        perror(from);
    }
    return good;
}

bool
programs_install(const struct programs *programs)
{
    struct dirent *entry;
    bool good = true;
    DIR *stream = opendir(programs->from);

    if (stream == NULL) {
        perror(programs->from);
        return false;
    }
    while (good && (entry = readdir(stream)) != NULL) {
        if (strncmp(entry->d_name, NAME_BEGIN, strlen(NAME_BEGIN)) == 0) {
            good = install_one(programs, entry->d_name);
        }
    }
    (void)closedir(stream);
    return good;
}

/* $GRANARY_BIN, or where this program is. */
static bool
find_home(char home[static PATH_MAX])
{
    const char *bin = getenv("GRANARY_BIN");
    char self[PATH_MAX];
    ssize_t size;

    if (bin != NULL) {
        return realpath(bin, home) != NULL;
    }
    size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0) {
        return false;
    }
    self[size] = '\0';
    *strrchr(self, '/') = '\0';
    return realpath(self, home) != NULL;
}

bool
programs_begin(struct programs *programs, const char *directory)
{
    char package[PATH_MAX + 16], beside[PATH_MAX];

    *programs = (struct programs){.from = ""};
    (void)snprintf(programs->into, sizeof programs->into, "%s/bin", directory);
    (void)snprintf(beside, sizeof beside, "%s/python", directory);
    if (!find_home(programs->from) || mkdir(programs->into, 0700) < 0 || !programs_install(programs)) {
        perror("granary: torture: install");
        return false;
    }
    (void)snprintf(package, sizeof package, "%s/../python", programs->from);
    return symlink(package, beside) == 0 && setenv("GRANARY_BIN", programs->into, 1) == 0;
}

bool
programs_replaced(pid_t pid)
{
    static const char mark[] = " (deleted)"; /* as the kernel writes it */
    char path[64], program[PATH_MAX];
    ssize_t size;

    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    size = readlink(path, program, sizeof program);
    return size >= (ssize_t)strlen(mark) && memcmp(program + size - strlen(mark), mark, strlen(mark)) == 0;
}
