/* Errors: the names, exit statuses and texts of the codes, and each thread's last message. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[1024];

static const struct {
    granary_err err;
    int exit_status;
    const char *name;
    const char *text;
} errors[] = {
#define ERR(name, value, exit, text) {value, exit, #name, text},
#include "contract/errors.def"
#undef ERR
};

#define ERR(name, value, exit, text)                                                                                   \
    _Static_assert(GRANARY_##name == (value), "errors.def and granary/types.h differ: " #name);
#include "contract/errors.def"
#undef ERR

static size_t
position_of(granary_err err)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].err == err) {
            return i;
        }
    }
    return SIZE_MAX;
}

bool
gr_err_is_known(granary_err err)
{
    return position_of(err) != SIZE_MAX;
}

const char *
granary_error_name(granary_err err)
{
    size_t i = position_of(err);

    return i == SIZE_MAX ? "E?" : errors[i].name;
}

const char *
granary_error_text(granary_err err)
{
    size_t i = position_of(err);

    return i == SIZE_MAX ? "unknown error" : errors[i].text;
}

int
granary_error_exit_status(granary_err err)
{
    size_t i = position_of(err);

    return i == SIZE_MAX ? 1 : errors[i].exit_status;
}

const char *
granary_error_message(void)
{
    return message;
}

const char *
granary_version(void)
{
    static const char version[] = GR_VERSION_MARK GRANARY_VERSION; /* found in the files of programs, too */

    return version + sizeof GR_VERSION_MARK - 1;
}

void
gr_fail_message(const char *format, ...)
{
    char text[sizeof message]; /* the arguments may point into message */
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(message, text, sizeof message);
}

granary_err
gr_fail_in(granary_err err, const char *format, ...)
{
    char what[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return gr_fail(err, "%s: %s", what, message);
}

granary_err
gr_err_from_errno(int error)
{
    switch (error) {
    case 0:
        return GRANARY_OK;
    case ENOENT:
        return GRANARY_ENOENT;
    case EEXIST:
        return GRANARY_EEXIST;
    case EACCES:
    case EPERM:
    case EROFS:
        return GRANARY_EPERM;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return GRANARY_ENOMEM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return GRANARY_EFULL;
    case EINVAL:
    case ENAMETOOLONG:
    case EISDIR:
    case ENOTDIR:
        return GRANARY_EINVAL;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ENOTCONN:
    case EHOSTUNREACH: /* ZeroMQ: no such peer */
        return GRANARY_EUNREACHABLE;
    case ETIMEDOUT:
    case EAGAIN:
        return GRANARY_ETIMEDOUT;
    case EBUSY:
        return GRANARY_EBUSY;
    default:
        return GRANARY_EIO;
    }
}

granary_err
gr_fail_errno(const char *format, ...)
{
    int error = errno;
    char what[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    /* A failure, also when whoever failed has told no reason. */
    return error == 0 ? gr_fail(GRANARY_EIO, "%s: no reason was given", what)
                      : gr_fail(gr_err_from_errno(error), "%s: %s%s", what, strerror(error),
                                error == EFBIG    ? ": raise the limit (ulimit -f)"
                                : error == EMFILE ? ": raise the limit (ulimit -n)"
                                                  : "");
}
