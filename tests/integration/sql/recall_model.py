"""Random sequences of writes, renames, loads, deletions and queries: with recall and without, answers are the same.

    recall_model.py BINARIES [STEPS] [SEED]    default: 150 steps, seed 1
"""
import collections
import ctypes
import hashlib
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../support/py'))
from command_line import CommandLine  # noqa: E402



class Id(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_ubyte * 16)]


class Result(ctypes.Structure):  # granary_result
    _fields_ = [('chunk_count', ctypes.c_size_t), ('chunks', ctypes.POINTER(Id)),
                ('chunk_rows', ctypes.POINTER(ctypes.c_int64)), ('is_tensor', ctypes.c_bool), ('dims', ctypes.c_int),
                ('shape', ctypes.c_int64 * 8), ('splits', ctypes.c_int64 * 8), ('is_objects', ctypes.c_bool),
                ('complete', ctypes.c_bool), ('chunk_there', ctypes.c_void_p)]


class View(ctypes.Structure):  # granary_view
    _fields_ = [('id', Id), ('data', ctypes.c_void_p), ('data_size', ctypes.c_uint64), ('meta', ctypes.c_void_p),
                ('meta_size', ctypes.c_uint64), ('serial', ctypes.c_uint64), ('lease', ctypes.c_uint64)]


class Asker:
    """Queries in this process: a few a millisecond where a command takes several."""

    def __init__(self, binaries, instance):
        self.library = ctypes.CDLL(os.path.join(binaries, '../lib/libgranary.so'))
        self.library.granary_error_message.restype = ctypes.c_char_p
        os.environ['GRANARY_INSTANCE'] = instance
        self.client = ctypes.c_void_p()
        self.check(self.library.granary_connect_sized(None, ctypes.byref(self.client), ctypes.c_size_t(0)))

    def check(self, error):
        if error != 0:
            raise RuntimeError(self.library.granary_error_message().decode())

    def ask(self, query, mode):
        """A digest of all bytes of the answer, or the error."""
        os.environ['GRANARY_RECALL'] = mode
        graph, key, text = ctypes.c_void_p(), ctypes.create_string_buffer(64), query.encode()
        try:
            self.check(self.library.granary_sql_graph(self.client, text, ctypes.c_size_t(len(text)), ctypes.byref(graph)))
            self.check(self.library.granary_graph_run_sized(self.client, graph, None, -1, key, None, *[ctypes.c_size_t(0)] * 2))
            return self.digest(key)
        except RuntimeError as error:
            return f'failed: {str(error).splitlines()[0]}'
        finally:
            self.library.granary_graph_destroy(graph)
            self.library.granary_graph_delete(self.client, key)

    def digest(self, key):
        result, digest = Result(), hashlib.blake2b()
        size = ctypes.c_size_t(ctypes.sizeof(result))
        self.check(self.library.granary_graph_result_sized(self.client, key, b'result', ctypes.byref(result), size))
        for i in range(result.chunk_count):
            view = View()
            self.check(self.library.granary_object_get(self.client, result.chunks[i], -1, ctypes.byref(view)))
            digest.update(ctypes.string_at(view.data, view.data_size))
            self.library.granary_object_release(self.client, ctypes.byref(view))
        self.library.granary_result_free_sized(ctypes.byref(result), size)
        return digest.hexdigest()


FILES = ['f0.csv', 'f1.csv', 'f2.csv']
TABLES = ['t0', 't1', 't2', 't3']
# Queries that begin alike stand together.
ALIKE = [['select count(*) as n, sum(a) as s from {x}',
          'select b, sum(a) as s from {x} group by b order by b',
          'select a from {x} where b = {k} order by a',
          'select max(a) - min(a) as d from (select a from {x} where b <> {k}) q',
          'select count(distinct a) as n from {x}'],
         ['select x.a, y.b from {x} x join {y} y on x.a = y.a order by x.a, y.b limit 20',
          'select y.b, count(*) as n from {x} x join {y} y on x.a = y.a group by y.b order by y.b'],
         ['select y.b, sum(x.a) as s from {x} x join {y} y on x.a = y.a where x.b < 2 group by y.b order by y.b',
          'select y.b, avg(x.a) as s, count(*) as n from {x} x join {y} y on x.a = y.a where x.b < 2 group by y.b order by y.b',
          'select x.b, max(y.a) as s from {x} x join {y} y on x.a = y.a where x.b < 2 group by x.b order by x.b'],
         ['select n, count(*) as c from (select a, count(*) as n from {x} group by a) q group by n order by n',
          'select max(n) as m, sum(a) as s from (select a, count(*) as n from {x} group by a) q']]


class Model:
    def __init__(self, cli, asker, seed):
        self.cli = cli
        self.asker = asker
        self.random = random.Random(seed)
        self.log = collections.deque(maxlen=2000)
        self.compared = 0
        self.uses = collections.Counter()
        for name in FILES:
            self.write(name)
        for name in TABLES:
            cli.must('load', name, self.path(FILES[0]))
        cli.must('sql', 'create table m (a bigint, b bigint)')
        time.sleep(2.1)  # files that changed lately are not recalled; later ones are, when they have been there for as long

    def path(self, name):
        return os.path.join(self.cli.base, name)

    def write(self, name):
        """Of a few sizes and values, so that another content has the same size, and the same content comes again."""
        rows = self.random.choice([3, 3, 40])
        digit = self.random.randrange(4)
        with open(self.path(name), 'w') as out:
            out.write('a,b\n' + ''.join(f'{(digit + i * 7) % 10},{i % 3}\n' for i in range(rows)))

    def source(self):
        return self.random.choice([f"'{self.path(self.random.choice(FILES))}'"] + TABLES + ['m'])

    def queries(self):
        x, y, k = self.source(), self.source(), self.random.randrange(3)
        return [query.format(x=x, y=y, k=k) for query in self.random.sample(self.random.choice(ALIKE), 2)]

    def step(self):
        do = self.random.random()
        if do < 0.03:
            name = self.random.choice(FILES)
            self.log.append(f'write {name}')
            self.write(name)
        elif do < 0.05:
            one, other = self.random.sample(FILES, 2)
            self.log.append(f'rename {one} over {other}, and write it again')
            os.rename(self.path(one), self.path(other))
            self.write(one)
        elif do < 0.12:
            self.run('load', '--replace', self.random.choice(TABLES), self.path(self.random.choice(FILES)))
        elif do < 0.13:
            self.run('forget', self.random.choice(TABLES))
        elif do < 0.16:
            self.run('sql', '--keep', self.random.choice(TABLES), '--replace', self.queries()[0])
        elif do < 0.19:
            self.run('sql', f'insert into m values ({self.random.randrange(9)}, {self.random.randrange(3)})')
        elif do < 0.195:
            self.count_uses()
            self.run('recall', 'clear')
        else:
            for query in self.queries():
                self.compare(query)

    def run(self, *arguments):
        """It may fail, for a table that is not there: what follows is compared."""
        self.log.append(' '.join(arguments))
        self.cli.call(*arguments)

    def count_uses(self):
        """How often results and steps were recalled that are known now."""
        for row in json.loads(self.cli.must('recall', 'list', '--json')):
            self.uses[row['kind']] += row['uses']

    def compare(self, query):
        """Half of the queries leave their parts to others, however small they are."""
        mode = self.random.choice(['eager', 'on'])
        self.log.append(f'{mode}: {query}')
        digests = [self.asker.ask(query, how) for how in (mode, 'off', mode)]
        if len(set(digests)) != 1 or 'not in the store' in digests[0]:  # nobody deletes what a table has
            print('\n'.join(self.log))
            sys.exit(f'these differ: {digests}')
        self.compared += not digests[0].startswith('failed')


def main():
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with CommandLine(sys.argv[1]) as cli:
        model = Model(cli, Asker(sys.argv[1], cli.environment['GRANARY_INSTANCE']), seed)
        for _ in range(steps):
            model.step()
        model.count_uses()
        print(f'seed {seed}: {steps} steps, {model.compared} answers compared, uses seen: {dict(model.uses)}')
        assert model.compared > steps / 4 and model.uses['result'] > 0 and model.uses['step'] > 0


if __name__ == '__main__':
    main()
