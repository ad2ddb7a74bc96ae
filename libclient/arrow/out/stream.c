/* Frames one after the other as a stream of arrays. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/out/out.h"
#include "base/error.h"

/* A frame that was got and not given yet. */
struct next {
    granary_view view;
    granary_frame *frame; /* NULL: there is none */
};

struct stream {
    struct out_source source;
    struct out_shape shape;
    struct next next;
    bool ended;
    bool given;         /* an array: the columns stay as they are */
    granary_err failed; /* it stays so */
    char *error;
};

static const struct {
    granary_err err;
    int number;
} numbers[] = {
    {GRANARY_EINVAL, EINVAL},       {GRANARY_ENOENT, ENOENT},    {GRANARY_EFULL, ENOSPC},
    {GRANARY_ETIMEDOUT, ETIMEDOUT}, {GRANARY_EPERM, EPERM},      {GRANARY_ENOMEM, ENOMEM},
    {GRANARY_EUNSUPPORTED, ENOSYS}, {GRANARY_EBUSY, EBUSY},      {GRANARY_ECANCELLED, ECANCELED},
    {GRANARY_ETYPE, EINVAL},        {GRANARY_EFORKED, ENOTCONN}, {GRANARY_EUNREACHABLE, ENOTCONN},
};

static int
number_of(granary_err err)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].err == err) {
            return numbers[i].number;
        }
    }
    return EIO;
}

/* The next frame, unless it is there. */
static granary_err
fetch(struct stream *stream)
{
    struct next next = {.frame = NULL};
    granary_err err;

    if (stream->next.frame != NULL || stream->ended) {
        return GRANARY_OK;
    }
    err = out_source_next(&stream->source, &next.view, &stream->ended);
    if (err != GRANARY_OK || stream->ended) {
        return err;
    }
    err = granary_frame_open(&next.view, &next.frame);
    err = err == GRANARY_OK ? gr_frame_check(next.frame) : err;
    if (err == GRANARY_OK && stream->shape.fields == NULL) {
        err = out_shape_of(next.frame, &stream->shape);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(next.frame);
        granary_object_release(stream->source.client, &next.view);
        return err;
    }
    stream->next = next;
    return GRANARY_OK;
}

/* What was got as an array. */
static granary_err
give(struct stream *stream, struct ArrowArray *ret_array)
{
    granary_frame *given = stream->next.frame;
    granary_frame *other = NULL;
    struct out_lease *lease;
    granary_err err = out_conform(&stream->shape, given, &other);

    if (err != GRANARY_OK) {
        return err;
    }
    err = out_lease_create(stream->source.client, &stream->next.view, other != NULL ? other : given,
                           other != NULL ? given : NULL, &lease);
    if (err != GRANARY_OK) {
        gr_frame_destroy(other);
        return err;
    }
    stream->next = (struct next){.frame = NULL};
    stream->given = true;
    err = out_array(lease, ret_array);
    out_lease_unref(lease);
    return err;
}

/* What a call returns; a failure is kept, with its message. */
static int
answer(struct stream *stream, granary_err err)
{
    if (err != GRANARY_OK) {
        stream->failed = err;
        stream->error = strdup(granary_error_message()); /* NULL: no message */
    }
    return err == GRANARY_OK ? 0 : number_of(err);
}

static int
stream_schema(struct ArrowArrayStream *self, struct ArrowSchema *ret_schema)
{
    struct stream *stream = self->private_data;
    granary_err err;

    if (stream->failed != GRANARY_OK) {
        return number_of(stream->failed);
    }
    err = fetch(stream);
    if (err == GRANARY_OK && stream->shape.fields == NULL) {
        err = gr_fail(GRANARY_ENOENT, "the stream has no frame that could tell its columns");
    }
    return answer(stream, err == GRANARY_OK ? out_schema(&stream->shape, ret_schema) : err);
}

static int
stream_next(struct ArrowArrayStream *self, struct ArrowArray *ret_array)
{
    struct stream *stream = self->private_data;
    granary_err err;

    if (stream->failed != GRANARY_OK) {
        return number_of(stream->failed);
    }
    err = fetch(stream);
    if (err == GRANARY_OK && stream->next.frame == NULL) {
        *ret_array = (struct ArrowArray){.release = NULL};
        return 0;
    }
    return answer(stream, err == GRANARY_OK ? give(stream, ret_array) : err);
}

static const char *
stream_error(struct ArrowArrayStream *self)
{
    const struct stream *stream = self->private_data;

    return stream->failed == GRANARY_OK ? NULL
           : stream->error == NULL      ? granary_error_text(stream->failed)
                                        : stream->error;
}

static void
stream_destroy(struct stream *stream)
{
    gr_frame_destroy(stream->next.frame);
    if (stream->source.client != NULL) {
        granary_object_release(stream->source.client, &stream->next.view);
    }
    out_shape_free(&stream->shape);
    out_source_end(&stream->source);
    free(stream->error);
    free(stream);
}

static void
stream_release(struct ArrowArrayStream *self)
{
    stream_destroy(self->private_data);
    self->release = NULL;
}

granary_err
granary_stream_request(struct ArrowArrayStream *self, const struct ArrowSchema *schema)
{
    struct stream *stream;
    granary_err err;

    if (self->release != stream_release) {
        return gr_fail(GRANARY_EINVAL, "the Arrow stream is none of granary's, or was released already");
    }
    stream = self->private_data;
    if (stream->given) {
        return gr_fail(GRANARY_ESTATE, "an array of the Arrow stream was given already: ask for columns before that");
    }
    err = stream->failed == GRANARY_OK ? fetch(stream) : stream->failed;
    if (err != GRANARY_OK) {
        return stream->failed == GRANARY_OK ? err : gr_fail(err, "%s", stream_error(self));
    }
    if (stream->shape.fields == NULL) {
        return gr_fail(GRANARY_ENOENT, "the stream has no frame that could tell its columns");
    }
    return out_request(&stream->shape, schema);
}

granary_err
out_stream(struct out_source *source, struct ArrowArrayStream *ret_stream)
{
    struct stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL) {
        out_source_end(source);
        return gr_no_memory("an Arrow stream");
    }
    stream->source = *source;
    *ret_stream = (struct ArrowArrayStream){.get_schema = stream_schema,
                                            .get_next = stream_next,
                                            .get_last_error = stream_error,
                                            .release = stream_release,
                                            .private_data = stream};
    return GRANARY_OK;
}
