#!/usr/bin/python3
"""Ask granary and others the same questions, drawn at random, and tell where the answers differ.

Every case follows from the seed, its part and its number. What differs is made small, told with the command that repeats it,
and looked for in known.tsv, the short list of differences that have a reason.
"""
import argparse
import importlib
import json
import os
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / 'support' / 'py')]

import coverage
from caretaker import Caretaker
from draw import Draw
from known import Known

PARTS = ('sql_random', 'sql_cases', 'graphs_frame', 'graphs_tensor', 'expressions', 'round_trips', 'regex')
SKIPPED = 77
BATCH = 40
AIMS = 30


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--part', action='append', choices=PARTS, help='only this one (may be repeated); without it all in turn')
    parser.add_argument('--minutes', type=float, help='go on for so long, all parts together')
    parser.add_argument('--seconds', type=float, help='the same in seconds')
    parser.add_argument('--cases', type=int, help='so many cases of each part, however long they take')
    parser.add_argument('--seed', type=int, default=1, help='other seeds, other cases (default 1)')
    parser.add_argument('--only', metavar='WORD', help='only cases that hit what has WORD in its name, such as op:sort')
    parser.add_argument('--first', action='store_true', help='stop at the first difference')
    parser.add_argument('--report', metavar='FILE', help='how often everything was hit (- for standard output), and what was hit fewer than 100 times')
    parser.add_argument('--at-least', type=int, metavar='N', help='fail when something was hit fewer times')
    parser.add_argument('--optimized', action='store_true', help='run what the optimiser makes of each graph, written as a graph again')
    parser.add_argument('--findings', default='build/differ', metavar='DIR', help='where differences are kept (default build/differ)')
    parser.add_argument('--repeat', metavar='FILE', help='the one case of this file')
    parser.add_argument('--coverage', action='store_true', help='run nothing: is there a case for every operator, parameter, function and clause?')
    return parser.parse_args()


def load(name):
    return importlib.import_module(name).Part()


class Run:
    """One part, its cases and what came of them."""

    def __init__(self, part, engine, options, counts, known):
        self.part, self.engine, self.options, self.counts, self.known = part, engine, options, counts, known
        self.next = self.plain = 0  # draws; those of them that were for nothing in particular
        self.cases = self.refused = 0
        # How often this part hit what it can hit: of its own cases alone, so that the same seed asks the same.
        excused = coverage.exempt()[0]
        self.hits = {name: 0 for name in coverage.universe() if name not in excused and part.aims(name)}
        self.tried = dict.fromkeys(self.hits, 0)
        self.differences = []
        self.excused = {}
        self.refusals = {}

    def batch(self, size):
        """The next cases, drawn."""
        specs = []
        while len(specs) < size:
            # Every other case is drawn for what was hit least; while something is hit too rarely, three of four.
            spec = self.aimed() if len(specs) % (4 if self.lacks() else 2) and self.hits and not self.options.only else self.draw()
            hits = () if spec is None else self.part.hits(spec)
            if spec is not None and (not self.options.only or any(self.options.only in hit for hit in hits)):
                specs.append(spec)
                for name in set(hits) & self.tried.keys():
                    self.tried[name] += 1
        return specs

    def draw(self, want=None):
        spec = self.part.make(Draw(f'{self.options.seed}/{self.part.name}/{self.next}'), self.plain, want)
        self.next += 1
        self.plain += want is None
        return spec

    def aimed(self):
        """A case that hits what was hit least, by as many draws as it takes, up to a number."""
        want = min(self.tried, key=self.tried.get)
        for _ in range(AIMS):
            spec = self.draw(want)
            if want in self.part.hits(spec):
                return spec
        self.tried[want] += 1  # not now
        return spec

    def lacks(self):
        """Whether something was hit too rarely yet."""
        return any(count < (self.options.at_least or 0) for count in self.hits.values())

    def step(self, size):
        specs = self.batch(size)
        for spec, verdict in zip(specs, self.part.judge(specs)):
            self.cases += 1
            if verdict is not None and verdict[0] == 'refused':
                self.refused += 1
                kind = verdict[1].splitlines()[0][:100] if verdict[1] else ''
                self.refusals[kind] = self.refusals.get(kind, 0) + 1
                continue
            if verdict is None:
                hits = set(self.part.hits(spec))
                self.counts.add(hits)
                for name in hits & self.hits.keys():
                    self.hits[name] += 1
                continue
            if not self.excuse(spec, verdict):
                self.found(spec, verdict)
                if self.options.first:
                    return

    def excuse(self, spec, verdict):
        reason = self.known.reason(self.part.name, spec, verdict[1])
        if reason:
            self.excused[reason] = self.excused.get(reason, 0) + 1
        return reason

    def found(self, spec, verdict):
        spec, verdict = self.shrink(spec, verdict)
        if self.excuse(spec, verdict):
            return
        told = self.part.show(spec)
        same = [d for d in self.differences if d[0] == verdict[1][:60] and set(d[1]) == set(self.part.hits(spec))]
        self.differences.append((verdict[1][:60], list(self.part.hits(spec))))
        if same:  # one finding is told once
            return
        directory = pathlib.Path(self.options.findings)
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f'{self.part.name}-{self.options.seed}-{len(list(directory.iterdir()))}.json'
        file.write_text(json.dumps({'part': self.part.name, 'case': spec}, ensure_ascii=False))
        print(f'\nDIFFERENCE in {self.part.name}: {verdict[1]}\n{told}\nrepeat it: tools/differ --repeat {file}\n', flush=True)

    @staticmethod
    def kind(verdict):
        """A refusal is not made small by what is rightly refused: its message stays, but for the names in it."""
        return re.sub(r"'[^']*'|\d+", '', verdict[1])[:80] if verdict[1].startswith('refused') else None

    def shrink(self, spec, verdict, seconds=20):
        """Smaller cases that differ as well, as long as there are some."""
        end = time.monotonic() + seconds
        kind = self.kind(verdict)
        again = True
        while again and time.monotonic() < end:
            again = False
            candidates = iter(self.part.smaller(spec))
            while not again and time.monotonic() < end:
                some = [c for c, _ in zip(candidates, range(16))]
                if not some:
                    break
                for candidate, answer in zip(some, self.part.judge(some)):
                    if answer is not None and answer[0] == 'differs' and self.kind(answer) == kind and not self.known.reason(self.part.name, candidate, answer[1]):
                        spec, verdict, again = candidate, answer, True
                        break
        return spec, verdict


def repeat(options, known):
    from engine import Engine
    kept = json.loads(pathlib.Path(options.repeat).read_text())
    part = load(kept['part'])
    with Caretaker(), Engine(executors=2, optimized=options.optimized) as engine:
        if not part.open(engine):
            return SKIPPED
        try:
            verdict = part.judge([kept['case']])[0]
        finally:
            part.close()
    print(part.show(kept['case']))
    print('the same' if verdict is None else f'{verdict[0]}: {verdict[1]}')
    return 1 if verdict is not None and verdict[0] == 'differs' else 0


def summary(run):
    print(f'{run.part.name:14} {run.cases:7} cases  {run.refused:6} refused  {sum(run.excused.values()):5} known  '
          f'{len(run.differences):4} DIFFERENT' if run.differences else
          f'{run.part.name:14} {run.cases:7} cases  {run.refused:6} refused  {sum(run.excused.values()):5} known  no difference', flush=True)
    for reason, count in sorted(run.excused.items(), key=lambda x: -x[1]):
        print(f'{"":14} {count:7} known: {reason}')
    if os.environ.get('DIFFER_REFUSALS'):
        for kind, count in sorted(run.refusals.items(), key=lambda x: -x[1])[:40]:
            print(f'{"":14} {count:7} refused: {kind}')


def main():
    options = arguments()
    known = Known(HERE / 'known.tsv')
    if options.coverage:
        return coverage.check([load(name) for name in options.part or PARTS], options.at_least or 3)
    if options.repeat:
        return repeat(options, known)
    from engine import Engine
    counts = coverage.Counts()
    runs = []
    seconds = options.seconds or (options.minutes or (0 if options.cases else 1)) * 60
    with Caretaker(), Engine(executors=2, optimized=options.optimized) as engine:
        skipped = []
        for name in options.part or PARTS:
            part = load(name)
            if part.open(engine):
                runs.append(Run(part, engine, options, counts, known))
            else:
                skipped.append(name)
        print(f'asking: {", ".join(r.part.name for r in runs)}', flush=True)
        try:
            begun = time.monotonic()
            end = begun + seconds
            lacking = bool(options.at_least)
            while runs and not (options.first and any(r.differences for r in runs)):
                waiting = [r for r in runs if not options.cases or r.cases < options.cases]
                if not waiting or (seconds and time.monotonic() >= end):
                    break
                # Each part its share of the time, whatever its cases take; those first that have not hit everything often enough.
                for run in [r for r in waiting if r.lacks()] or waiting:
                    until = time.monotonic() + 2
                    while time.monotonic() < min(until, end if seconds else until) and not (options.cases and run.cases >= options.cases):
                        run.step(min(BATCH, options.cases - run.cases) if options.cases else BATCH)
                        if options.first and run.differences:
                            break
                if lacking and not any(r.lacks() for r in runs):
                    lacking = False
                    print(f'everything was hit {options.at_least} times after {time.monotonic() - begun:.0f} s', flush=True)
        except KeyboardInterrupt:
            print('interrupted', flush=True)
        finally:
            for run in runs:
                run.part.close()
    for run in runs:
        summary(run)
    for name in skipped:
        print(f'{name:14} skipped: what it asks is not installed (tools/differ installs it)')
    missing = counts.report(options.report, [r.part for r in runs], options.at_least)
    if any(r.differences for r in runs) or missing:
        return 1
    return SKIPPED if not runs else 0


if __name__ == '__main__':
    sys.exit(main())
