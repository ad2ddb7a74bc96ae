"""What test_refcounts.py repeats: one function for each class of operations, which leaves nothing behind."""
import asyncio
import os
import pickle
import threading

import numpy as np
import pandas as pd

import arrow_structs
import functions_for_tests as f
from granary import _granary
from package_test import granary

OPERATIONS = {}
SCHEMA = {'x': 'int64', 's': 'string'}
ROWS = {'x': [1, 2], 's': ['a', None]}
FRAME = pd.DataFrame({'i': [1, 2], 'f': [.5, np.nan], 's': ['x', None], 'c': pd.Categorical(['p', 'q']),
                      't': pd.to_datetime(['2020-01-01', None]), 'n': pd.array([1, None], 'Int32')})


def operation(function):
    OPERATIONS[function.__name__] = (function, False)
    return function


def of_numpy(function):
    """It runs code of NumPy or pandas, which is built so that its references do not count in sys.gettotalrefcount()."""
    OPERATIONS[function.__name__] = (function, True)
    return function


def fails(kinds, call, *args, **kwargs):
    """Makes sure that the call fails. (assertRaises() clears frames, which would hide what they keep.)"""
    try:
        call(*args, **kwargs)
    except kinds:
        return
    raise AssertionError(f'{call} did not fail')


@operation
def values(session):
    for given in (b'', b'abc', bytearray(b'x' * 100000), None, {'a': [1, (2, 'ü')]}, ValueError('x')):
        ref = session.put(given)
        ref.get()
        ref.view().tobytes()
        (ref.info, repr(ref), hash(ref))
    pickle.loads(pickle.dumps(ref)).get()
    session._client.digest(ref.id)
    fails(TypeError, session.put, threading.Lock())


@of_numpy
def arrays(session):
    for given in (np.arange(5.), np.array(['a', None], object), np.zeros((0, 3))):
        session.put(given).get()
    back = session.put(np.arange(12).reshape(3, 4)).get()
    for part in (back, back[1:, ::2], back.T):
        pickle.loads(pickle.dumps(part)).sum()
    with session.empty((3, 4), 'f4') as array:
        array[:] = 7


@of_numpy
def frames(session):
    back = session.put(FRAME).get()
    back.to_dict()
    back.to_pandas()
    back['s'].tolist()
    for column in ('i', 'f', 'c', 't', 'n'):
        back[column]
    ref = session.put(FRAME)
    session._client.read_rows(ref.id, 0, 1, ['i', 's'])


@operation
def names(session):
    ref = session.put(b'1', 'one')
    other = session.put(b'2')
    session.names.replace('one', other, ref)
    session.get('one')
    session.names.wait('one', 1)
    ('one' in session.names, list(session.names), len(session.names), session.id_of('one'))
    fails(FileExistsError, session.names.replace, 'one', ref)
    del session.names['one']
    fails(KeyError, session.names.__getitem__, 'one')
    alias = os.urandom(16)
    session._client.alias(alias, other.id)
    session.delete(alias)


@operation
def holds(session):
    ref = session.put(b'1')
    for scope in ('client', 'session'):
        with session.pin(ref, scope, 'a reason'):
            session._client.holds(ref.id)
    session.prefetch([ref])
    session._client.hint(ref.id, 1)
    session._client.holds()
    session.evict(1)
    fails((ValueError, TypeError), session.pin, ref, 'nonsense')


@operation
def waits(session):
    ids = [session.put(b'x').id, os.urandom(16)]
    ref = session.put(b'kept')
    session.wait([ref, ids[1]], least=1, timeout=1)
    session.wait(ids, timeout=0)
    session.get_many([ref, ids[1]])
    (ref in session, ids[1] in session)
    fails(TimeoutError, session.get, ids[1], 0.001)
    fails(TimeoutError, session.names.wait, 'never', 0.001)
    fails(KeyError, session.delete, ids[1])
    session._client.put_error(ids[1], -5, 'told')
    fails(granary.Error, session.get, ids[1])
    session.delete(ids[1])


@operation
def streams(session):
    with session.writer() as file:
        file.write(b'x' * 1000)
    with session.reader(file.ref, window=4096) as reader:
        reader.seek(10)
        reader.read()
    session.reader(file.ref)
    session.writer().write(b'given up')
    aborted = session.writer()
    aborted.write(b'x')
    aborted.abort()
    fails(TypeError, session.writer().write, 'text')
    fails(KeyError, session.reader, os.urandom(16), timeout=0)


@operation
def events(session):
    with session.events(['seal', 'delete']) as seen:
        seen.fileno()
        session.put(b'seen').delete()
        (seen.next(10), next(seen))
        fails(TimeoutError, seen.next, 0.001)
    session.events()
    fails(ValueError, session.events, 'nonsense')


@operation
def asynchronous(session):
    async def run():
        with session.events('seal') as seen, session.channel('c') as channel:
            session.put(b'seen')
            await seen.__anext__()
            channel.put(1)
            steps = channel.__aiter__()
            await steps.__anext__()
            await steps.aclose()
            channel.drop()

    asyncio.run(run())


@operation
def counters(session):
    counter = session.counter('c')
    counter.set(counter.add(3))
    (counter.get(), counter.set_if(-5, 4), counter.wait(0, 1), repr(counter))
    fails(TimeoutError, counter.wait, 1 << 60, 0.001)
    fails(OverflowError, counter.set, 1 << 63)
    fails(granary.Invalid, session.counter, '')


@of_numpy
def tables(session):
    table = session.create_table('t', SCHEMA)
    first = table.append(ROWS)
    table.append(pd.DataFrame(ROWS), token=7)
    read = table.read()
    table.update(read.numbers[:1], {'s': 'z'})
    table.update([read.numbers[1]], {'x': [4], 's': [None]})
    table.delete(read.numbers[2:])
    (read.to_dict(), table.read(first).to_pandas(), table.read_since(first).to_dict(), len(table), table.schema, table.info, table.cut())
    for bad in ({'x': [1]}, {'x': [1.5], 's': ['a']}, {'x': ['q'], 's': ['a']}, {'x': [1, 2], 's': ['a']}, [1, 2]):
        fails((ValueError, TypeError), table.append, bad)
    fails(granary.NotFound, table.update, [10**6], {'x': 1})
    fails(FileExistsError, session.create_table, 't', SCHEMA)
    session.tables()
    session._client.delete_tree(table.snapshot())
    session.table('t').drop()
    table.close()
    fails(granary.NotFound, session.table, 't')


@of_numpy
def tensors(session):
    tensor = session.create_tensor('a', (8, 8), 'f8', chunk=(4, 4))
    tensor[2:6, 3] = np.arange(4.)
    tensor[:] = 1.
    (tensor[1:3].sum(), tensor[0, 0], tensor.shape, tensor.dtype)
    fails((ValueError, TypeError, IndexError), tensor.__setitem__, 99, 'nonsense')
    fails(IndexError, tensor.__getitem__, 99)
    tensor.drop()
    tensor.close()


@operation
def channels(session):
    for broadcast in (False, True):
        channel = session.channel('c', broadcast=broadcast, ring_bytes=1 << 16)
        reader = session.channel('c')
        if broadcast:
            reader.join('reader', oldest=True)
        ref = session.put(b'x' * 100)
        for one in (b'abc', bytearray(b'x' * 100000), {'a': 1}, ref):
            channel.put(one)
            reader.get(5)
            reader.done()
        channel.put('two')
        (reader.receive(5), channel.info, session.channels(), repr(channel), pickle.loads(pickle.dumps(channel)))
        fails(TimeoutError, reader.get, 0.001)
        if broadcast:
            session.channel('c').observe().close()
        channel.seal()
        list(reader)
        fails(granary.Sealed, channel.put, 1)
        fails(TypeError, session.channel, 'c', broadcast=not broadcast)
        reader.close()
        channel.drop()
        channel.close()
    fails(granary.NotFound, session._client.channel_open, 'c')


@of_numpy
def arrow(session):
    frame = session.put(FRAME).get()
    arrow_structs.consume(frame.__arrow_c_stream__())
    frame.__arrow_c_stream__()
    formats = arrow_structs.consume(frame.__arrow_c_stream__(frame.__arrow_c_schema__())).formats
    asked = dict(zip(frame.columns, formats), n='g', c='u')
    arrow_structs.consume(frame.__arrow_c_stream__(arrow_structs.schema_capsule(asked)))
    fails(granary.Invalid, frame.__arrow_c_stream__, arrow_structs.schema_capsule({'i': 'l'}))
    fails(TypeError, frame.__arrow_c_stream__, 3)
    arrow_structs._LIVE.clear()
    for one in session._client.arrow_put(frame.__arrow_c_stream__()):
        session.delete(one)
    given = arrow_structs.Producer()
    stream = given.exporter([given.schema('n', 'x')], [(1, [given.array(1, [])])])
    granary.from_arrow(stream).collect()
    batch = given.capsule(given.schema('+s', '', [given.schema('n', 'x')])), given.capsule(given.batch(1, [given.array(1, [])]))
    session.delete(session._client.arrow_put_array(*batch))
    fails((granary.Error, ValueError), session._client.arrow_put_array, *batch)
    fails((granary.Error, ValueError), session._client.arrow_put, stream.given)
    fails(TypeError, session._client.arrow_put, 3)
    fails(granary.Error, session._client.arrow_put, session._client.arrow_frames([os.urandom(16)]))


@of_numpy
def graphs(session):
    plan = granary.from_dict({'n': [1, 2, 3]})
    done = plan.filter(granary.col('n') > 1).collect()
    (done.to_dict(), len(done), [chunk.to_dict() for chunk in done], done['n'].tolist(), done.lazy().head(1).collect(), plan.explain())
    granary.sql('SELECT sum(n) AS s FROM plan', plan=plan).to_dict()
    for bad in (lambda: plan.select('m').collect(), lambda: granary.sql('SELECT nope FROM plan', plan=plan), lambda: granary.sql('nonsense'),
                lambda: plan.with_columns(m=granary.col('n') / 0 * (1 << 62)).agg(s='nonsense(m)').collect()):
        fails(Exception, bad)
    fails(Exception, session.execute, 'nonsense')
    for subject in ('graphs', 'executors', 'sessions'):
        session.info(subject)
    (session.stat(), session.objects(), session.sessions(), session.why(session.info('graphs')[0]['key']))
    session._client.recall_clear()


@of_numpy
def live(session):
    table = session.create_table('l', SCHEMA)
    table.append(ROWS)
    with session.live('SELECT s, sum(x) AS n FROM l GROUP BY s') as query:
        (query.kind, query.next(30).to_dict())
        fails(TimeoutError, query.next, 0.001)
        table.append(ROWS)
        query.next(30)
    fails(Exception, session.live, 'nonsense')
    table.drop()
    table.close()


@operation
def sessions(session):
    session._client.session_create('other')
    with granary.Session(session.instance, 'other') as other:
        other.put(b'x').get()
        other.counter('c').add(1)
    fails(ValueError, other.put, b'x')
    session._client.session_delete('other')
    fails(granary.NotFound, granary.Session(session.instance, 'no such session', existing=True).put, b'x')


@operation
def executor(session):
    with granary.Executor(max_workers=1) as pool:
        pool.submit(f.add, 3, b=4).result()
        list(pool.map(f.add, range(20)))
        fails(ValueError, pool.submit(f.fail, 'bad row').result)
        fails(TypeError, pool.submit(f.add, threading.Lock()).result)


@operation
def remote_calls(session):
    add = granary.remote(f.add)
    add.submit(3, b=4).result()
    fails(ValueError, granary.remote(f.fail).submit('bad row').result)


@of_numpy
def functions_on_chunks(session):
    frame = granary.from_dict({'n': [1, 2, 3]})
    frame.map_chunk(lambda chunk: chunk, columns={'n': 'int64'}).collect()
    fails(granary.Error, frame.map_chunk(f.fail, columns={}).collect)


@operation
def arguments(session):
    """Each method with what it does not take."""
    client, id = session._client, os.urandom(16)
    ref = session.put(FRAME)
    view = client.get(ref.id, 0)
    buffer = client.create(id, 1)
    for one in (client, client.counter('c'), client.subscribe(0), client.writer(os.urandom(16)), buffer, view, view.frame(), client.reader(ref.id)):
        for name in dir(type(one)):
            method = getattr(one, name)
            if name.startswith('_') or not callable(method):
                continue
            fails(TypeError, method, nonsense=object())
            for bad in ((object(),), (id, object()), ('text', object()), (object(),) * 20):
                try:
                    method(*bad)
                except (TypeError, ValueError, KeyError, granary.Error):
                    pass
    session.delete(id)  # an object() is true, and so has the buffer sealed
    for name in ('id_from_name', 'address', 'frame_of_bytes'):
        fails((TypeError, ValueError), getattr(_granary, name), object(), object(), object())
    fails(granary.Error, _granary.frame_of_bytes, b'no', b'frame')
