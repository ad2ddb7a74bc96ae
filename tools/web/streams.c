/* A stream copies the message that it begins to send; its connection sleeps while there is no newer one. */
#include "web/streams.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/text/buf.h"

#define STREAMS_MAX 128
#define BLOCK       4096
#define SOCKET_SIZE 16384 /* a page that does not read is known after a few messages */

struct stream {
    struct streams *streams;
    struct MHD_Connection *connection;
    char *message; /* NULL: none is under way */
    size_t size, sent;
    uint64_t seen;
    bool sleeps;
    struct stream *next;
};

struct streams {
    pthread_mutex_t lock;
    struct stream *first;
    size_t count;
    char *newest;
    size_t size;
    uint64_t number; /* of the newest */
    bool stopping;
};

granary_err
streams_create(struct streams **ret_streams)
{
    struct streams *streams = calloc(1, sizeof *streams);

    if (streams == NULL) {
        return gr_no_memory("streams of events");
    }
    (void)pthread_mutex_init(&streams->lock, NULL);
    *ret_streams = streams;
    return GRANARY_OK;
}

/* With the lock. */
static void
wake_all(struct streams *streams)
{
    for (struct stream *stream = streams->first; stream != NULL; stream = stream->next) {
        if (stream->sleeps) {
            stream->sleeps = false;
            MHD_resume_connection(stream->connection);
        }
    }
}

void
streams_stop(struct streams *streams)
{
    (void)pthread_mutex_lock(&streams->lock);
    streams->stopping = true;
    wake_all(streams);
    (void)pthread_mutex_unlock(&streams->lock);
}

void
streams_destroy(struct streams *streams)
{
    if (streams != NULL) {
        (void)pthread_mutex_destroy(&streams->lock);
        free(streams->newest);
        free(streams);
    }
}

/* With the lock. Whether there is something to send. */
static bool
refill(struct stream *stream)
{
    struct streams *streams = stream->streams;

    if (stream->message != NULL && stream->sent < stream->size) {
        return true;
    }
    free(stream->message);
    stream->message = NULL;
    if (stream->seen == streams->number) {
        return false;
    }
    stream->message = malloc(streams->size);
    if (stream->message == NULL) {
        return false; /* the next one may be luckier */
    }
    memcpy(stream->message, streams->newest, streams->size);
    stream->size = streams->size;
    stream->sent = 0;
    stream->seen = streams->number;
    return true;
}

static ssize_t
read_stream(void *context, uint64_t position, char *bytes, size_t size)
{
    struct stream *stream = context;
    ssize_t n = 0;

    (void)position;
    (void)pthread_mutex_lock(&stream->streams->lock);
    if (stream->streams->stopping) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (refill(stream)) {
        n = (ssize_t)(stream->size - stream->sent < size ? stream->size - stream->sent : size);
        memcpy(bytes, stream->message + stream->sent, (size_t)n);
        stream->sent += (size_t)n;
    } else {
        stream->sleeps = true;
        MHD_suspend_connection(stream->connection);
    }
    (void)pthread_mutex_unlock(&stream->streams->lock);
    return n;
}

static void
end_stream(void *context)
{
    struct stream *stream = context;
    struct streams *streams = stream->streams;

    (void)pthread_mutex_lock(&streams->lock);
    for (struct stream **at = &streams->first; *at != NULL; at = &(*at)->next) {
        if (*at == stream) {
            *at = stream->next;
            streams->count--;
            break;
        }
    }
    (void)pthread_mutex_unlock(&streams->lock);
    free(stream->message);
    free(stream);
}

struct MHD_Response *
streams_respond(struct streams *streams, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct stream *stream = calloc(1, sizeof *stream);
    struct MHD_Response *response = NULL;
    bool full;

    if (stream == NULL) {
        return NULL;
    }
    *stream = (struct stream){.streams = streams, .connection = connection};
    (void)pthread_mutex_lock(&streams->lock);
    full = streams->count == STREAMS_MAX || streams->stopping;
    if (!full) {
        stream->next = streams->first;
        streams->first = stream;
        streams->count++;
    }
    (void)pthread_mutex_unlock(&streams->lock);
    if (full) {
        free(stream);
        return NULL;
    }
    if (info != NULL) {
        (void)setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &(int){SOCKET_SIZE}, sizeof(int));
    }
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, stream, end_stream);
    if (response == NULL) {
        end_stream(stream);
    }
    return response;
}

void
streams_publish(struct streams *streams, const char *text)
{
    struct gr_buf message = {0};

    gr_buf_addf(&message, "data: %s\n\n", text);
    (void)pthread_mutex_lock(&streams->lock);
    if (gr_buf_ok(&message)) {
        free(streams->newest);
        streams->size = message.size;
        streams->newest = gr_buf_take(&message);
        streams->number++;
        wake_all(streams);
    }
    (void)pthread_mutex_unlock(&streams->lock);
    gr_buf_free(&message);
}

size_t
streams_count(struct streams *streams)
{
    size_t count;

    (void)pthread_mutex_lock(&streams->lock);
    count = streams->count;
    (void)pthread_mutex_unlock(&streams->lock);
    return count;
}
