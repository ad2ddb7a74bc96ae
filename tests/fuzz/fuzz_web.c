/* Any request to the page: who is let in has named this machine, comes from no other site, and has shown the token where one
 * is needed; and any parameters of a question become no option that was not asked for. Lines: what kind of guard, the
 * method, path, Host, Origin, Sec-Fetch-Site, Cookie, Authorization, a question, and its parameters as NAME=VALUE. An empty line
 * is a header that is not there; "TOKEN" and "WORD" in a line stand for those of the guard. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "web/ask/question.h"
#include "web/guard.h"

#define LINES  24
#define LENGTH 2048
#define TOKEN  "00112233445566778899aabbccddeeff"
#define WORD   "ffeeddccbbaa99887766554433221100"

/* Copies a line, with the secrets in their places. */
static void
fill(char *line, const char *from, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < size && used + GUARD_SECRET < LENGTH;) {
        const char *secret = size - i >= 5 && memcmp(from + i, "TOKEN", 5) == 0  ? TOKEN
                             : size - i >= 4 && memcmp(from + i, "WORD", 4) == 0 ? WORD
                                                                                 : NULL;

        if (secret != NULL) {
            memcpy(line + used, secret, GUARD_SECRET - 1);
            used += GUARD_SECRET - 1;
            i += secret[0] == '0' ? 5 : 4;
        } else {
            line[used] = from[i++];
            used += line[used] != '\0';
        }
    }
    line[used] = '\0';
}

static bool
names_this_machine(const char *host)
{
    char name[LENGTH];
    char *colon;

    (void)strcpy(name, host);
    colon = strrchr(name, ':');
    if (colon != NULL && strchr(colon, ']') == NULL) {
        *colon = '\0';
    }
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 || strcmp(name, "[::1]") == 0 ||
           strcasecmp(name, "proxy.example") == 0;
}

static void
check_let_in(const struct guard *guard, const struct guard_request *request, const char *path)
{
    static const char *const secrets[] = {"api/", "events", "metrics", "trace.json", "login"};

    must(strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0);
    must(!request->body && !request->doubled);
    must(request->host != NULL && names_this_machine(request->host));
    must(request->origin == NULL || (strstr(request->origin, "://") != NULL &&
                                     strcasecmp(strstr(request->origin, "://") + 3, request->host) == 0));
    must(path >= request->path && path <= request->path + strlen(request->path));
    must(guard->open || strncmp(request->path, "/" WORD "/", GUARD_SECRET + 1) == 0);
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        if (strncmp(path, secrets[i], strlen(secrets[i])) != 0 || (i > 0 && strcmp(path, secrets[i]) != 0)) {
            continue;
        }
        must(request->site == NULL || strcmp(request->site, "none") == 0 || strcmp(request->site, "same-origin") == 0);
        must(guard->open || (request->cookie != NULL && strstr(request->cookie, "granary=" TOKEN) != NULL) ||
             (request->authorization != NULL && strstr(request->authorization, TOKEN) != NULL));
    }
}

static void
ask(char lines[LINES][LENGTH], size_t first, size_t count)
{
    const struct question_row *row = count > first ? question_find(lines[first]) : NULL;
    struct question question;

    if (row == NULL || question_begin(&question, row) != GRANARY_OK) {
        return;
    }
    for (size_t i = first + 1; i < count; i++) {
        char *equals = strchr(lines[i], '=');

        if (equals != NULL) {
            *equals = '\0';
            (void)question_add(&question, lines[i], equals + 1);
        }
    }
    for (size_t i = 0; i < question.option_count; i++) {
        must(strncmp(question.options[i], "--", 2) == 0 && strchr(question.options[i], '=') != NULL);
    }
    must(row->keys || question.key_count == 0);
    question_fini(&question);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char lines[LINES][LENGTH];
    struct guard guard = {.token = TOKEN, .word = WORD, .host = "proxy.example"};
    const char *at = (const char *)bytes, *end = at + size;
    const char *path = NULL, *why = NULL;
    struct guard_request request;
    size_t count = 0;

    memset(lines, 0, sizeof lines);
    while (at < end && count < LINES) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        fill(lines[count++], at, (size_t)((newline == NULL ? end : newline) - at));
        at = newline == NULL ? end : newline + 1;
    }
#define GIVEN(i) (lines[i][0] == '\0' ? NULL : lines[i])
    guard.open = strchr(lines[0], 'o') != NULL;
    request = (struct guard_request){.method = lines[1],
                                     .path = lines[2],
                                     .host = GIVEN(3),
                                     .origin = GIVEN(4),
                                     .site = GIVEN(5),
                                     .cookie = GIVEN(6),
                                     .authorization = GIVEN(7),
                                     .body = strchr(lines[0], 'b') != NULL,
                                     .doubled = strchr(lines[0], 'd') != NULL};
    if (guard_judge(&guard, &request, &path, &why) == 0) {
        check_let_in(&guard, &request, path);
    } else {
        must(why != NULL && why[0] != '\0');
    }
    ask(lines, 8, count);
    return 0;
}
