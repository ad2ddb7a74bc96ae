/* A function that waits inside a subtask: for the object whose id comes into the file of its parameter "file". */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <granary/call.h>

GRANARY_FUNCTION(waits, .summary = "waits for an object")
{
    const char *path = granary_call_param(call, "file", "");
    const struct timespec pause = {.tv_nsec = 5000000};
    char text[GRANARY_ID_TEXT + 1] = "";
    void *output;
    granary_err err;
    granary_id id;

    while (strlen(text) != GRANARY_ID_TEXT && !granary_call_cancelled(call)) {
        FILE *file = fopen(path, "r");

        (void)nanosleep(&pause, NULL);
        if (file != NULL) {
            (void)!fgets(text, sizeof text, file);
            (void)fclose(file);
        }
    }
    err = granary_id_parse(text, strlen(text), &id);
    if (err == GRANARY_OK) {
        err = granary_object_wait(granary_call_client(call), &id, 1, 1, 60000, NULL);
    }
    return err == GRANARY_OK ? granary_call_output(call, 0, 1, &output) : err;
}
