/*
 * What the machine's service manager does to an instance that nobody told it of: logind removes shared memory of who logs
 * out (RemoveIPC), and tmpfiles what was not touched for long below /var/tmp.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/instance/doctor/doctor.h"

#define UID_PEOPLE 1000 /* the first that is no system user's: RemoveIPC spares those */
#define BYTES_MOST (1 << 20)

/* Below $GRANARY_DOCTOR_ROOT, which is for tests. */
static void
path_of(const char *path, char ret_path[PATH_MAX])
{
    const char *root = getenv("GRANARY_DOCTOR_ROOT");

    (void)snprintf(ret_path, PATH_MAX, "%s%s", root == NULL ? "" : root, path);
}

static bool
is_there(const char *path)
{
    char whole[PATH_MAX];

    path_of(path, whole);
    return access(whole, F_OK) == 0;
}

/* Each line of the files that match, in the order of the patterns and of names. */
static void
each_line(const char *const *patterns, void (*take)(void *context, char *line), void *context)
{
    for (; *patterns != NULL; patterns++) {
        char whole[PATH_MAX];
        glob_t found;

        path_of(*patterns, whole);
        if (glob(whole, 0, NULL, &found) != 0) {
            continue;
        }
        for (size_t i = 0; i < found.gl_pathc; i++) {
            char *text = NULL;
            char *rest = NULL;
            size_t size;

            if (gr_file_read(found.gl_pathv[i], BYTES_MOST, &text, &size) == GRANARY_OK) {
                for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
                    take(context, line);
                }
            }
            free(text);
        }
        globfree(&found);
    }
}

/* ---- log-out ---- */

static void
take_logind(void *context, char *line)
{
    static const char name[] = "RemoveIPC=";

    line += strspn(line, " \t");
    if (strncmp(line, name, strlen(name)) == 0) {
        *(bool *)context =
            strchr("yYtT1oO", line[strlen(name)]) != NULL && strncasecmp(line + strlen(name), "of", 2) != 0;
    }
}

static void
tell_logout(struct doctor *doctor)
{
    static const char *const files[] = {"/usr/lib/systemd/logind.conf", "/usr/lib/systemd/logind.conf.d/*.conf",
                                        "/etc/systemd/logind.conf", "/etc/systemd/logind.conf.d/*.conf", NULL};
    const char *wish = getenv("GRANARY_DOCTOR_ROOT");
    const struct passwd *user = getpwuid(geteuid());
    char linger[PATH_MAX];
    bool removes = true; /* when nobody says anything */

    if (!is_there("/run/systemd/users") || user == NULL) {
        return;
    }
    (void)snprintf(linger, sizeof linger, "/var/lib/systemd/linger/%s", user->pw_name);
    each_line(files, take_logind, &removes);
    if (!removes || (geteuid() < UID_PEOPLE && wish == NULL)) {
        doctor_tell(doctor, DOCTOR_OK, "log-out", NULL, "shared memory stays when user %s logs out", user->pw_name);
    } else if (is_there(linger)) {
        doctor_tell(doctor, DOCTOR_OK, "log-out", NULL, "user %s lingers: shared memory stays after the log-out",
                    user->pw_name);
    } else {
        doctor_tell(
            doctor, DOCTOR_ATTENTION, "log-out", "loginctl enable-linger, or RemoveIPC=no in /etc/systemd/logind.conf",
            "when user %s logs out, logind removes his shared memory, objects and all (RemoveIPC=yes), and ends "
            "his services",
            user->pw_name);
    }
}

/* ---- what is cleaned ---- */

struct cleaning {
    const char *path; /* of the spill directory */
    bool cleaned;     /* a directory above it has an age */
    bool spared;      /* it is excluded by name */
};

/* "TYPE PATH MODE USER GROUP AGE" */
static void
take_tmpfiles(void *context, char *line)
{
    struct cleaning *cleaning = context;
    char *words[6] = {NULL};
    char *rest = NULL;
    size_t count = 0, length;

    for (char *word = strtok_r(line, " \t", &rest); word != NULL && count < 6; word = strtok_r(NULL, " \t", &rest)) {
        words[count++] = word;
    }
    if (count < 2 || words[0][0] == '#') {
        return;
    }
    length = strlen(words[1]);
    if (toupper((unsigned char)words[0][0]) == 'X') {
        cleaning->spared = cleaning->spared || fnmatch(words[1], cleaning->path, 0) == 0;
    } else if (count == 6 && isdigit((unsigned char)words[5][0]) && length > 1 &&
               strncmp(words[1], cleaning->path, length) == 0 && cleaning->path[length] == '/') {
        cleaning->cleaned = true;
    }
}

static void
tell_cleaning(struct doctor *doctor)
{
    static const char *const files[] = {"/usr/lib/tmpfiles.d/*.conf", "/run/tmpfiles.d/*.conf",
                                        "/etc/tmpfiles.d/*.conf", NULL};
    struct cleaning cleaning = {.path = doctor->spill_dir};
    char fix[512];

    each_line(files, take_tmpfiles, &cleaning);
    if (!cleaning.cleaned) {
        return;
    }
    if (cleaning.spared) {
        doctor_tell(doctor, DOCTOR_OK, "cleaning", NULL, "systemd-tmpfiles spares %s", doctor->spill_dir);
        return;
    }
    (void)snprintf(
        fix, sizeof fix,
        "echo 'x %s' > /etc/tmpfiles.d/granary.conf (the package has it), or name a directory elsewhere with "
        "--spill-dir",
        doctor->spill_dir);
    doctor_tell(doctor, DOCTOR_ATTENTION, "cleaning", fix,
                "systemd-tmpfiles removes files of %s that were not touched for some time: persistent objects, and "
                "spilled ones that nobody reads",
                doctor->spill_dir);
}

void
doctor_service(struct doctor *doctor)
{
    tell_logout(doctor);
    tell_cleaning(doctor);
}
