"""The simplest driver of a plan (docs/fragments.md): private instances of one machine, each as it were a machine, and the command line.

Fragment P runs on instance P modulo their number. A chunk that another instance needs goes there by `granary export` and `import`.
"""
import json
import os
import pathlib
import re
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from command_line import CommandLine


DTYPES = {'|b1': 'bool', '|i1': 'int8', '|u1': 'uint8', '<i2': 'int16', '<u2': 'uint16', '<i4': 'int32', '<u4': 'uint32', '<i8': 'int64',
          '<u8': 'uint64', '<f4': 'float32', '<f8': 'float64', '<c8': 'complex64', '<c16': 'complex128'}


class Machines:
    def __init__(self, binaries, count=1, memory='256M', places=None):
        self.machines = places or [CommandLine(binaries, memory=memory) for _ in range(count)]
        self.made = {}  # by machine and key of a fragment: ids of its chunks
        self.moved = {}  # by machine, id, and machine: the id there
        self.moving = threading.Lock()

    def __enter__(self):
        for machine in self.machines:
            machine.__enter__()
        self.files = pathlib.Path(self.machines[0].base) / 'chunks'
        self.files.mkdir()
        return self

    def __exit__(self, *exception):
        for machine in self.machines:
            machine.__exit__()

    def command(self, number, *arguments, text=None):
        machine = self.machines[number]
        done = subprocess.run([machine.granary, *arguments], input=text, env=machine.environment, capture_output=True, text=True,
                              errors='replace')
        if done.returncode != 0:
            raise AssertionError(f'{arguments[0]}: {done.stderr[:2000]}')
        return done.stdout

    def run(self, plan, sizes=None):
        """Run a plan: a Run, which has each target's chunks. sizes: gets the bytes of each stage's results, by digest."""
        run = Run(self, plan)
        for stage in plan['stages']:
            run.stage(stage)
            if sizes is not None:
                sizes[stage['digest']] = run.bytes(stage['name'])
        return run


class Run:
    def __init__(self, machines, plan):
        self.machines = machines
        self.plan = plan
        self.chunks = {}  # by stage: by partition: (machine, id) of each chunk

    def place(self, p):
        return p % len(self.machines.machines)

    def stage(self, stage):
        with ThreadPoolExecutor(2) as pool:
            self.chunks[stage['name']] = list(pool.map(lambda p: self.fragment(stage, p), range(stage['partitions'])))

    def taken(self, take, p):
        made = self.chunks[take['stage']]
        return {'same': made[p:p + 1], 'part': [[chunks[p]] for chunks in made if p < len(chunks)],
                'all': made}[take['take']]

    def array(self, nodes, name, take, p, number):
        """A tensor's partitions one behind the other, each as its blocks are."""
        partitions = self.taken(take, p)
        for i, chunks in enumerate(partitions):
            nodes[f'{name} {i}'] = {'op': 'array', 'ids': [self.here(chunk, number) for chunk in chunks], **self.shape(chunks)}
        nodes[name] = {'op': 'concatenate', 'inputs': [f'{name} {i}' for i in range(len(partitions))], 'axis': 0}
        if nodes[f'{name} 0']['shape'] == []:
            nodes[name] = nodes.pop(f'{name} 0')

    def shape(self, chunks):
        """Of blocks in a grid, by the header of each: an NPY file's."""
        shapes = []
        for machine, name in chunks:
            header = self.machines.command(machine, 'get', name)[:400]
            shapes.append([int(n) for n in re.search(r"'shape': \(([^)]*)\)", header)[1].replace(',', ' ').split()])
            dtype = DTYPES[re.search(r"'descr': '([^']*)'", header)[1]]
        chunk = shapes[0]
        if len(chunks) == 1:
            return {'shape': chunk, 'chunk': [max(n, 1) for n in chunk], 'dtype': dtype} if chunk else {'shape': [], 'dtype': dtype}
        rows = chunk[1:] == shapes[-1][1:]
        assert rows, 'the driver of tests knows blocks of rows alone'
        return {'shape': [sum(shape[0] for shape in shapes), *chunk[1:]], 'chunk': chunk, 'dtype': dtype}

    def here(self, chunk, number):
        """The chunk's id on that machine, to which it is brought."""
        machine, name = chunk
        if machine == number:
            return name
        key = (machine, name, number)
        with self.machines.moving:
            if key not in self.machines.moved:
                file = self.machines.files / f'{machine}-{name}-{number}'
                self.machines.command(machine, 'export', name, '-o', str(file))
                self.machines.moved[key] = self.machines.command(number, 'import', '--id-from', f'{machine}-{name}', str(file)).split()[0]
                file.unlink()
        return self.machines.moved[key]

    def fragment(self, stage, p):
        number, key = self.place(p), f'fragment-{stage["digest"]}-{p}'
        if (number, key) in self.machines.made:  # by another plan
            return self.machines.made[number, key]
        graph = json.loads(json.dumps(stage['graph']))
        for name in stage['part_of']:
            graph['nodes'][name]['part'] = p
        for name, take in stage['inputs'].items():
            if graph['nodes'][name]['op'] == 'array':
                self.array(graph['nodes'], name, take, p, number)
            else:
                graph['nodes'][name]['ids'] = [self.here(chunk, number) for chunks in self.taken(take, p) for chunk in chunks]
        self.machines.command(number, 'run', '--replace', '--keep', key, '-', text=json.dumps(graph))
        chunks = [(number, line.split()[-1]) for line in self.machines.command(number, 'results', key, 'out').splitlines()]
        if stage['chunks'] not in (0, len(chunks)):
            raise AssertionError(f'{stage["name"]} of partition {p} has {len(chunks)} chunks, not {stage["chunks"]}')
        self.machines.made[number, key] = chunks
        return chunks

    def bytes(self, stage):
        return sum(self.bytes_of(chunks) for chunks in self.chunks[stage])

    def bytes_of(self, chunks):
        return sum(json.loads(self.machines.command(number, 'stat', '--json', name))['data_bytes'] for number, name in chunks)

    def text(self, target, *options):
        """A target, as `granary run` prints it."""
        found = next(t for t in self.plan['targets'] if t['name'] == target)
        nodes = {target: {'op': 'table', 'ids': [self.here(chunk, 0) for chunk in self.chunks[found['stage']][0]]}}
        if found['kind'] == 'tensor':
            self.array(nodes, target, {'stage': found['stage'], 'take': 'all'}, 0, 0)
        graph = {'nodes': nodes, 'targets': [target]}
        return self.machines.command(0, 'run', '--discard', *options, '-', text=json.dumps(graph))
