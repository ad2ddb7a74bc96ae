"""The simplest driver of a plan (docs/fragments.md): private instances of one machine, each as it were a machine, and the command line.

Fragment P runs on instance P modulo their number. A chunk that another instance needs goes there by `granary export` and `import`.
"""
import json
import os
import pathlib
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from command_line import CommandLine


class Machines:
    def __init__(self, binaries, count, memory='256M'):
        self.machines = [CommandLine(binaries, memory=memory) for _ in range(count)]
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
        if take['take'] == 'same':
            return made[p]
        if take['take'] == 'part':
            return [chunks[p] for chunks in made]
        return [chunk for chunks in made for chunk in chunks]

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
            graph['nodes'][name]['ids'] = [self.here(chunk, number) for chunk in self.taken(take, p)]
        self.machines.command(number, 'run', '--replace', '--keep', key, '-', text=json.dumps(graph))
        chunks = [(number, line.split()[-1]) for line in self.machines.command(number, 'results', key, 'out').splitlines()]
        if stage['chunks'] not in (0, len(chunks)):
            raise AssertionError(f'{stage["name"]} of partition {p} has {len(chunks)} chunks, not {stage["chunks"]}')
        self.machines.made[number, key] = chunks
        return chunks

    def bytes(self, stage):
        return sum(json.loads(self.machines.command(number, 'stat', '--json', name))['size']
                   for chunks in self.chunks[stage] for number, name in chunks)

    def text(self, target, *options):
        """The rows of a target, as `granary run` prints them."""
        stage = next(t['stage'] for t in self.plan['targets'] if t['name'] == target)
        graph = {'nodes': {target: {'op': 'table', 'ids': [self.here(chunk, 0) for chunk in self.chunks[stage][0]]}}, 'targets': [target]}
        return self.machines.command(0, 'run', '--discard', *options, '-', text=json.dumps(graph))
