#!/usr/bin/python3
"""Random graphs of the differ in fragments, over objects of the instance: every operator of frames, with every parameter.

    random_graphs.py BIN_DIRECTORY CASES SEED PARTITIONS [OPERATOR]
"""
import json
import os
import pathlib
import sys

os.environ['GRANARY_BIN'] = sys.argv[1]
TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / 'support' / 'py'), str(TESTS / 'differ')]
from draw import Draw
from engine import Engine
from fragments import Machines
from graphs_frame import Part
from granary_test import GranaryError


class Place:
    """The engine's instance as the only machine."""

    def __init__(self, engine):
        self.granary, self.base = os.path.join(sys.argv[1], 'granary'), engine.directory
        self.environment = {**os.environ, 'GRANARY_INSTANCE': engine.instance}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


def answer(ask):
    try:
        return ask(), None
    except (AssertionError, GranaryError) as error:
        return None, str(error)


def main():
    cases, seed, partitions = int(sys.argv[2]), sys.argv[3], sys.argv[4]
    only = sys.argv[5] if len(sys.argv) > 5 else None
    part, wrong, refused, gathered, asked = Part(), 0, 0, {}, 0
    with Engine(memory='256M') as engine, Machines(sys.argv[1], places=[Place(engine)]) as machines:
        part.open(engine)
        for number in range(cases):
            spec = part.make(Draw(f'{seed}/fragments/{number}'), number)
            if only and spec['op'] != only:
                continue
            asked += 1
            nodes, target = part.nodes(spec)
            text = json.dumps({'nodes': nodes, 'targets': [target]})
            option = ['--json']
            expected, refusal = answer(lambda: machines.command(0, 'run', '--discard', *option, '-', text=text))
            plan, why = answer(lambda: json.loads(machines.command(0, 'run', '--fragments', partitions, '--fragment-bytes', '1', '-', text=text)))
            found = None
            if plan is not None:
                for entry in plan['gathered']:
                    gathered[entry['op']] = gathered.get(entry['op'], 0) + 1
                found, why = answer(lambda: machines.run(plan).text(target, *option))
            refused += expected is None
            if found != expected:
                wrong += 1
                print(f'WRONG  case {number}: {text[:1500]}\nfound:\n{str(found or why)[:700]}\nexpected:\n{str(expected or refusal)[:700]}', flush=True)
    print(f'{asked} cases, {refused} refused, gathered {gathered}, {wrong} wrong')
    return wrong > 0


sys.exit(main())
