#!/usr/bin/python3
"""The suites of `granary bench` on several machines: all of TPC-H, groupby, join, frames and tensor, with the bytes of one instance.

    machines_suite.py BIN_DIRECTORY [--suite NAME]... [--scale 0.1] [--rows N] [--nodes 2] [--driver dask|ssh|local] [QUESTION...]

Machines are namespaces (support/py/machines.py); with `local` they are private instances.

A question fails when its answer differs, when the plan gathers more than suite_cases.GATHERED lets it, or when a stage that is no
result takes all rows of the others. Each answer is a file, of which the digest is compared.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / 'support' / 'py'))
import machines
from command_line import CommandLine
from suite_cases import TABLES, Data


def options():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('binaries')
    parser.add_argument('--suite', action='append', choices=list(TABLES), help='default: all')
    parser.add_argument('--scale', type=float, default=0.1, help='of TPC-H')
    parser.add_argument('--rows', type=int, default=1000000, help='of the groupby and join tables; elements of tensors')
    parser.add_argument('--format', choices=['csv', 'parquet'], default='csv')
    parser.add_argument('--nodes', type=int, default=2)
    parser.add_argument('--partitions', type=int, help='default: as many as nodes')
    parser.add_argument('--smallest', default='100k', help='size from which on a source is cut')
    parser.add_argument('--driver', choices=['dask', 'ssh', 'local'], default='dask')
    parser.add_argument('--memory', default='2G', help='of the one instance')
    parser.add_argument('--node-memory', default='1G')
    parser.add_argument('--data', help='keep the tables in this directory, and use those that are there')
    parser.add_argument('questions', nargs='*', help='default: all')
    return parser.parse_intermixed_args()


# ---- places ----

class OnCommand:
    """`--on WHERE`."""

    def __init__(self, *where):
        self.where = where

    def __call__(self, front, case, plan, cutting, outputs):
        front.ask(case, *cutting, '--on', *self.where, *outputs)


class OnDask:
    """What `--on dask:ADDRESS` does, by one process for all questions: Python's imports take longer than most of them."""

    def __init__(self, address, workers):
        import distributed
        import granary.dask
        from granary.dask import _drive, _plan, _results

        self.connect, self.drive, self.plan, self.results = granary.connect, _drive, _plan, _results
        self.client = distributed.Client(address, timeout=300)
        self.client.wait_for_workers(workers, timeout=300)

    def __call__(self, front, case, plan, cutting, outputs):
        session = self.connect(front.instance.environment['GRANARY_INSTANCE'])
        futures, key, nodes = self.drive.run(self.client, self.plan.Plan.of(plan)), self.results.fresh(), {}
        held = {name: self.results.here(self.client, session, future) for name, future in futures.items()}  # as long as they are read
        for target in plan['targets']:
            self.results.keep(session, held[target['name']], f'{key}-{target["name"]}', target['name'])
            nodes[target['name']] = {'op': 'array' if target['kind'] == 'tensor' else 'table', 'name': f'{key}-{target["name"]}/{target["name"]}'}
        words = ['-o', f'result={outputs[1]}', '--discard'] if case.command == 'sql' else outputs
        front.command('run', *words, '-', text=json.dumps({'nodes': nodes, 'targets': list(nodes)}))
        for name in nodes:
            front.command('forget', f'{key}-{name}')


@contextlib.contextmanager
def local(given):
    """Private instances of this machine. What has the tables, and what runs a plan."""
    with tempfile.TemporaryDirectory(prefix='granary-suite-') as directory:
        yield given.data or directory, OnCommand(f'local:{given.nodes}', '-e', '1', '--memory', given.node_memory)


@contextlib.contextmanager
def simulated(given):
    """Machines with an instance on each."""
    environment = {'PATH': os.pathsep.join([given.binaries, os.environ['PATH']]), 'PYTHONPATH': os.path.join(os.path.dirname(given.binaries), 'python'),
                   'GRANARY_RECALL': 'off', 'DASK_DISTRIBUTED__WORKER__DAEMON': 'False'}
    with machines.Machines(given.nodes, shm='4G', tmp='4G', environment=environment, keep=[given.data] if given.data else []) as cluster:
        for node in cluster.nodes:
            node.run(['granary', 'up', '--executors', '1', '--memory', given.node_memory])
        try:
            yield cluster, given.data or str(cluster.shared)
            for node in cluster.nodes:
                assert json.loads(node.run(['granary', 'stat', '--json']).stdout)['seals'] > 0, f'{node.name} has done nothing'
                left = [node.run(['granary', *words, '--json']).stdout.strip() for words in (['ls'], ['graphs'])]
                assert left == ['[]', '[]'], f'{node.name}: {left}'
        except BaseException:
            print(cluster.log(), file=sys.stderr)
            raise


@contextlib.contextmanager
def dask(given):
    """A worker on each machine, and the scheduler on that of this program."""
    with simulated(given) as (cluster, directory):
        address = f'tcp://{cluster.head.address}:8786'
        cluster.head.start([sys.executable, '/usr/bin/dask-scheduler', '--host', cluster.head.address, '--port', '8786', '--no-dashboard'])
        for node in cluster.nodes:
            node.start([sys.executable, '/usr/bin/dask-worker', address, '--preload', 'granary.dask', '--name', node.name, '--nthreads', '2', '--no-nanny',
                        '--memory-limit', '0', '--no-dashboard', '--local-directory', '/tmp/dask'])
        sys.path.insert(0, os.path.join(os.path.dirname(given.binaries), 'python'))
        on = OnDask(address, given.nodes)
        yield directory, on
        on.client.close()


@contextlib.contextmanager
def ssh(given):
    """A stand-in for ssh enters the machine, and a directory is there for results."""
    with simulated(given) as (cluster, directory):
        program = cluster.shared / 'bin' / 'ssh'
        program.parent.mkdir()
        hosts = ''.join(f'{node.name}) {shlex.join(map(str, node.command([])))} sh -c "$5" ;;\n' for node in cluster.nodes)
        program.write_text(f'#!/bin/sh\nexport HOME=/tmp\nunset GRANARY_INSTANCE\ncase $4 in\n{hosts}*) exit 255 ;;\nesac\n', encoding='utf-8')
        program.chmod(0o755)
        os.environ['PATH'] = os.pathsep.join([str(program.parent), given.binaries, os.environ['PATH']])
        results = pathlib.Path(directory, 'results')
        results.mkdir(exist_ok=True)
        yield directory, OnCommand(f'ssh:{",".join(node.name for node in cluster.nodes)}', '--directory', str(results))


# ---- one question ----

class Front:
    """The instance that answers by itself, and that takes results from others."""

    def __init__(self, given, instance, directory):
        self.given, self.instance, self.directory = given, instance, pathlib.Path(directory)

    def command(self, *arguments, text=None):
        done = subprocess.run([self.instance.granary, *map(str, arguments)], input=text, env=self.instance.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f'{arguments[0]}: {done.stderr.strip()[:3000]}')
        return done.stdout

    def ask(self, case, *arguments):
        return self.command(case.command, *arguments, case.text if case.command == 'sql' else '-', text=None if case.command == 'sql' else case.text)

    def answers(self, case, kinds, ask):
        """The digest of each target, and the seconds it took. ask: has them written, with these options of the command"""
        files = {name: self.directory / f'{name}.{"npy" if kind == "tensor" else "csv"}' for name, kind in kinds.items()}
        outputs = ['-o', files['result']] if case.command == 'sql' else ['--discard', *[word for name, file in files.items() for word in ('-o', f'{name}={file}')]]
        begin = time.monotonic()
        ask(outputs)
        seconds = time.monotonic() - begin
        found = {name: self.digest(file, case.free) for name, file in files.items()}
        for file in files.values():
            file.unlink()
        return found, seconds

    def digest(self, file, free):
        if free:
            subprocess.run(['sort', '-S', '256M', '-T', file.parent, '-o', file, file], check=True, env={**os.environ, 'LC_ALL': 'C'})
        with open(file, 'rb') as opened:
            return hashlib.file_digest(opened, 'sha256').hexdigest()


# What makes few rows of many, or tables of groups: these may come together in one place.
FEW = {'groupby_partial', 'reduce_partial', 'product_partial', 'qr_partial', 'sort_sample', 'head'}


def gathering(plan, case):
    """What comes together in one place, and is neither a result nor few rows."""
    wrong = [f'{entry["node"]} ({entry["op"]}): {entry["why"]}' for entry in plan['gathered'] if entry['op'] != case.gathers]
    stages = {stage['name']: stage for stage in plan['stages']}
    results = {target['stage'] for target in plan['targets']}
    for stage in plan['stages']:
        for take in stage['inputs'].values():
            read = stages[take['stage']]
            if (stage['partitions'], take['take']) == (1, 'all') and read['partitions'] > 1 and stage['name'] not in results and not case.gathers:
                if (made := read['graph']['nodes']['out']['op']) not in FEW:
                    wrong.append(f'{stage["name"]} takes all of {read["name"]} ({made}): {stage["about"]}')
    return wrong


def try_case(front, case, on):
    given = front.given
    cutting = ['--fragments', given.partitions or given.nodes, '--fragment-bytes', given.smallest]
    plan = json.loads(front.ask(case, *cutting))
    kinds = {target['name']: target['kind'] for target in plan['targets']}
    one, alone = front.answers(case, kinds, lambda outputs: front.ask(case, *outputs))
    several, together = front.answers(case, kinds, lambda outputs: on(front, case, plan, cutting, outputs))
    return {'identical': one == several, 'gathered': gathering(plan, case), 'allowed': bool(plan['gathered']), 'stages': len(plan['stages']),
            'one': alone, 'several': together}


def try_suite(front, data, suite, on):
    data.make(suite, front.command)
    if suite == 'tpch':
        for table in TABLES['tpch']:
            front.command('sql', f'CREATE OR REPLACE VIEW {table} AS {data.view(table)}')
    told = []
    for case in data.cases(suite):
        if front.given.questions and case.name not in front.given.questions:
            continue
        try:
            found = try_case(front, case, on)
            fine = found['identical'] and not found['gathered']
            print(f'{"ok    " if fine else "WRONG "} {suite} {case.name}: {"identical" if found["identical"] else "DIFFERENT"}, {found["stages"]} stages, '
                  f'{found["one"]:.1f} s on one, {found["several"]:.1f} s on {front.given.nodes} {"; ".join(found["gathered"])}', flush=True)
        except AssertionError as error:
            found = {'identical': False, 'gathered': [], 'allowed': False, 'one': 0, 'several': 0}
            print(f'FAILED {suite} {case.name}: {error}', flush=True)
        told.append(found)
    print(f'{suite}: {sum(one["identical"] for one in told)} of {len(told)} identical, {sum(bool(one["gathered"]) for one in told)} gathered, '
          f'{sum(one["allowed"] and not one["gathered"] for one in told)} gathered as known; {sum(one["one"] for one in told):.1f} s on one, '
          f'{sum(one["several"] for one in told):.1f} s on {front.given.nodes}', flush=True)
    return all(one['identical'] and not one['gathered'] for one in told) and bool(told)


def main():
    given = options()
    given.binaries = os.path.abspath(given.binaries)
    given.data = given.data and os.path.abspath(given.data)
    os.environ['GRANARY_BIN'] = given.binaries
    if given.data:
        os.makedirs(given.data, exist_ok=True)
    if given.driver != 'local':
        machines.isolate()
    with {'dask': dask, 'ssh': ssh, 'local': local}[given.driver](given) as (directory, on), CommandLine(given.binaries, memory=given.memory) as instance:
        instance.environment['GRANARY_RECALL'] = 'off'
        front = Front(given, instance, directory)
        data = Data(given.binaries, directory, given.format, given.scale, given.rows)
        fine = [try_suite(front, data, suite, on) for suite in given.suite or TABLES]
    return not all(fine)


if __name__ == '__main__':
    sys.exit(main())
