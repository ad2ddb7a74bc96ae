/* Each part tells its checks by doctor_tell(), which prints them and counts what needs attention. */
#include "cli/instance/doctor/doctor.h"
#include "cli/print/show.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/instance.h"

void
doctor_tell(struct doctor *doctor, enum doctor_grade grade, const char *what, const char *fix, const char *format, ...)
{
    static const char *const names[] = {[DOCTOR_OK] = "ok", [DOCTOR_LESS] = "less", [DOCTOR_ATTENTION] = "attention"};
    char sentence[SHOW_TEXT];
    char shown[SHOW_TEXT];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    doctor->less += grade == DOCTOR_LESS;
    doctor->attention += grade == DOCTOR_ATTENTION;
    if (doctor->look.cli->json) {
        json_open(&doctor->json, NULL, '{');
        json_text(&doctor->json, "check", what);
        json_text(&doctor->json, "grade", names[grade]);
        json_text(&doctor->json, "text", sentence);
        if (fix != NULL) {
            json_text(&doctor->json, "fix", fix);
        }
        json_close(&doctor->json);
        return;
    }
    (void)printf("%-9s  %-14s  %s\n", names[grade], what, show_text(sentence, shown));
    if (fix != NULL) {
        (void)printf("%-9s  %-14s  -> %s\n", "", "", show_text(fix, shown));
    }
}

/* An instance that is not up, or is another user's, is nothing to attend to: then only the host is looked at. */
static int
open_instance(struct cli *cli)
{
    struct doctor *doctor = cli->self;
    granary_err err = doctor->look.copy != NULL ? granary_inspect_open_copy(doctor->look.copy, &doctor->look.inspector)
                                                : granary_inspect_open(cli->instance, &doctor->look.inspector);

    doctor->look.cli = cli;
    if ((err == GRANARY_EUNREACHABLE || err == GRANARY_EPERM) && doctor->look.copy == NULL) {
        (void)snprintf(doctor->trouble, sizeof doctor->trouble, "%s",
                       err == GRANARY_EPERM ? granary_error_message() : "no instance is up");
        return 0;
    }
    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    (void)granary_inspect_instance(doctor->look.inspector, &doctor->look.info);
    return 0;
}

static void
close_instance(struct cli *cli)
{
    look_close(&((struct doctor *)cli->self)->look);
}

static int
run_doctor(struct cli *cli)
{
    struct doctor *doctor = cli->self;
    struct gr_instance instance;
    granary_err err = gr_instance_resolve(cli->instance, &instance);

    if (err != GRANARY_OK) {
        return err;
    }
    doctor->spill_dir = doctor->look.info.spill_dir[0] == '/' ? doctor->look.info.spill_dir : instance.spill_default;
    if (cli->json) {
        json_open(&doctor->json, NULL, '{');
        json_open(&doctor->json, "checks", '[');
    }
    doctor_kernel(doctor);
    doctor_host(doctor);
    doctor_service(doctor);
    doctor_instance(doctor);
    if (cli->json) {
        json_close(&doctor->json);
        json_unsigned(&doctor->json, "less", doctor->less);
        json_unsigned(&doctor->json, "attention", doctor->attention);
        json_close(&doctor->json);
    } else {
        (void)printf("%u need attention, %u could be better\n", doctor->attention, doctor->less);
    }
    return doctor->attention == 0 ? 0 : 1;
}

static const struct access doctor_access = {.options = look_options, .open = open_instance, .close = close_instance};

const struct command command_doctor = {
    .access = &doctor_access, COMMAND_ZERO(struct doctor), .plain = true, .run = run_doctor};
