"""granary, kept busy: many cases in one graph, many SELECTs in flight."""
import ctypes
import json
import re

from granary_test import GranaryError, Instance, _check, _GraphOptions, _library

_library.granary_sql_graph.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]
IN_FLIGHT = 8


class Engine(Instance):
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
