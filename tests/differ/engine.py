"""granary, kept busy: many cases in one graph, many SELECTs in flight."""
import ctypes
import json
import os
import re
import subprocess

from granary_test import BIN, GranaryError, Instance, _check, _GraphOptions, _library

_library.granary_sql_graph.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]
IN_FLIGHT = 8


class Optimizer:
    """What the optimiser makes of graphs, as JSON: optimized.c at the other end of a pipe."""

    def __init__(self, instance):
        environment = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}
        self.process = subprocess.Popen([os.path.join(os.path.dirname(BIN), 'tests', 'optimized_graphs'), instance],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def submit(self, kind, text, chunk_bytes=0, key=None):
        """The key of the optimised graph."""
        self.process.stdin.write(f'{kind} {len(text)} {chunk_bytes} {key or "-"}\n'.encode() + text)
        self.process.stdin.flush()
        what, size = self.process.stdout.readline().split()
        answer = self.process.stdout.read(int(size))
        if what == b'key':
            return ctypes.create_string_buffer(answer, 64)
        if b'report this' in answer:  # nobody may take it for a graph that is wrong
            raise AssertionError(f'{answer.decode()}\n{text.decode()}')
        raise GranaryError(answer.decode())


class Engine(Instance):
    """optimized: what runs is what the optimiser makes of each graph, written as a graph again."""

    def __init__(self, executors=2, memory=None, optimized=False):
        super().__init__(executors, memory)
        self.wants_optimized, self.optimizer = optimized, None

    def __enter__(self):
        super().__enter__()
        if self.wants_optimized:
            self.optimizer = Optimizer(self.instance)
        return self

    def __exit__(self, *exception):
        if self.optimizer:
            self.optimizer.close()
        super().__exit__(*exception)

    def begin(self, nodes, targets, chunk_bytes=0, key=None, level='tileable'):
        if self.optimizer and level == 'tileable':
            return self.optimizer.submit('json', json.dumps({'nodes': nodes, 'targets': targets}).encode(), chunk_bytes, key)
        return super().begin(nodes, targets, chunk_bytes, key, level)

    def run_cases(self, cases, chunk_bytes=0):
        """Each case is (nodes, target), names its own. Their results in order; a GranaryError where one was refused or failed."""
        answers = [None] * len(cases)
        self._run_some(list(range(len(cases))), cases, answers, chunk_bytes)
        return answers

    def _run_some(self, which, cases, answers, chunk_bytes):
        while which:
            nodes, targets = {}, []
            for i in which:
                nodes.update({f'{i}.{name}': renamed(node, i) for name, node in cases[i][0].items()})
                targets.append(f'{i}.{cases[i][1]}')
            try:
                for i, result in zip(which, self.run(nodes, targets, chunk_bytes)):
                    answers[i] = result
                return
            except GranaryError as error:
                if len(which) == 1:
                    answers[which[0]] = error
                    return
                named = [int(n) for n in re.findall(r"'(\d+)\.", str(error)) if int(n) in which]
                if not named:  # it does not say which: halve
                    half = len(which) // 2
                    self._run_some(which[:half], cases, answers, chunk_bytes)
                    which = which[half:]
                    continue
                answers[named[0]] = error
                which = [i for i in which if i != named[0]]

    def table(self, name, columns, pieces=1):
        """Columns as a table that SQL names."""
        self.drop(name)
        source = self.put(columns, pieces)
        self.submit({'piece': source, 'table': {'op': 'select', 'input': 'piece', 'columns': list(columns)}}, ['table'], key=name)

    def drop(self, name):
        try:
            self.delete(name.encode())
        except GranaryError:
            pass

    def sql(self, texts):
        """The results of SELECTs in order; GranaryErrors among them."""
        answers, flying = [None] * len(texts), []
        for i, text in enumerate(texts):
            if len(flying) >= IN_FLIGHT:
                self._land(flying.pop(0), answers)
            try:
                flying.append((i, self._take_off(text)))
            except GranaryError as error:
                answers[i] = error
        for one in flying:
            self._land(one, answers)
        return answers

    def _take_off(self, text):
        graph, key = ctypes.c_void_p(), ctypes.create_string_buffer(64)
        raw = text.encode()
        if self.optimizer:
            return self.optimizer.submit('sql', raw)
        _check(_library.granary_sql_graph(self.client, raw, len(raw), ctypes.byref(graph)))
        try:
            _check(_library.granary_graph_submit(self.client, graph, ctypes.byref(_GraphOptions()), key))
        finally:
            _library.granary_graph_destroy(graph)
        return key

    def _land(self, one, answers):
        i, key = one
        try:
            _check(_library.granary_graph_wait(self.client, key, -1, None))
            answers[i] = self.result(key, 'result')
        except GranaryError as error:
            answers[i] = error
        self.delete(key)


def renamed(node, number):
    """A node of case `number` among those of others."""
    node = dict(node)
    if 'input' in node:
        node['input'] = f'{number}.{node["input"]}'
    if 'inputs' in node:
        node['inputs'] = [f'{number}.{name}' for name in node['inputs']]
    return node


def shown(nodes, target):
    return json.dumps({'nodes': nodes, 'targets': [target]}, ensure_ascii=False)
