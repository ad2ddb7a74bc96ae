#!/usr/bin/python3
"""Random graphs of tall tensors in fragments: products, factorisations, reductions and what is between, with the bytes of one instance.

    random_tensors.py BIN_DIRECTORY CASES SEED PARTITIONS [NUMBER]
"""
import json
import random
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from fragments import Machines


def node(op, inputs=(), **parameters):
    return {'op': op, **({'inputs': list(inputs)} if inputs else {}), **parameters}


class Graph:
    """Tensors of so many rows, and small ones. Each step takes what there is."""

    def __init__(self, draw):
        self.draw, self.nodes = draw, {}
        self.rows = draw.choice([1537, 5000, 20001, 70001])
        self.tall, self.small = [], []  # (name, columns) of matrices; (name, shape)
        for _ in range(draw.randint(1, 2)):
            self.source()

    def add(self, made):
        name = f'n{len(self.nodes)}'
        self.nodes[name] = made
        return name

    def source(self):
        columns = self.draw.choice([1, 2, 7, 33, 64] if self.rows < 70000 else [7, 33])
        source = node('random', shape=[self.rows, columns], seed=self.draw.randrange(100), **self.draw.choice([{}, {'distribution': 'normal'}, {'distribution': 'integers', 'high': 50}]))
        name = self.add(source)
        if self.draw.random() < 0.3:
            name = self.add(node('astype', [name], dtype=self.draw.choice(['float32', 'int32', 'int64'])))
        self.tall.append((name, columns))

    def weights(self, rows):
        columns = self.draw.randint(1, 30)
        return self.add(node('random', shape=[rows, columns], seed=self.draw.randrange(100))), columns

    def element_wise(self):
        name, columns = self.draw.choice(self.tall)
        op = self.draw.choice(['sin', 'absolute', 'negative', 'multiply', 'add', 'centre'])
        if op == 'centre':
            made = node('subtract', [name, self.add(node('mean', [name], axes=[0]))])
        else:
            made = node(op, [name], **({'value': 3} if op in ('multiply', 'add') else {}))
        self.tall.append((self.add(made), columns))

    def product(self):
        name, columns = self.draw.choice(self.tall)
        right, width = self.weights(columns)
        made = self.draw.choice([node('matmul', [name, right]), node('einsum', [name, right], subscripts='ij,jk->ik'), node('tensordot', [name, right], axes=1)])
        self.tall.append((self.add(made), width))

    def vector(self):
        name, columns = self.draw.choice(self.tall)
        right = self.add(node('random', shape=[columns], seed=self.draw.randrange(100)))
        self.small.append(self.add(node('sum', [self.add(node('matmul', [name, right]))])))

    def inner(self):
        (a, _), (b, _) = self.draw.choice(self.tall), self.draw.choice(self.tall)
        if self.draw.random() < 0.6:
            made = node('matmul', [self.add(node('transpose', [a])), b])
        else:
            made = self.draw.choice([node('einsum', [a, b], subscripts='ij,ik->jk'), node('tensordot', [a, b], axes_a=[0], axes_b=[0])])
        self.small.append(self.add(made))

    def wide(self):
        """A product of two large matrices."""
        name, columns = self.draw.choice(self.tall)
        right = self.add(node('random', shape=[columns, self.draw.choice([4200, 5000]) if self.rows < 2000 else 40], seed=self.draw.randrange(100)))
        self.small.append(self.add(node(self.draw.choice(['sum', 'argmax']), [self.add(node('matmul', [name, right]))], axes=[0])))

    def turn(self):
        """Columns become rows, which go on, and come back."""
        name, columns = self.draw.choice(self.tall)
        made = self.add(node('sin', [self.add(node('transpose', [name]))]))
        if self.draw.random() < 0.5:
            self.small.append(self.add(node('mean', [made], axes=[self.draw.randrange(2)])))
        else:
            self.tall.append((self.add(node('transpose', [made])), columns))

    def factors(self):
        name, columns = self.draw.choice(self.tall)
        op, part = self.draw.choice([('qr', 'q'), ('qr', 'r'), ('svd', 'u'), ('svd', 's'), ('svd', 'vt')])
        made = self.add(node(op, [name], part=part))
        if part in 'qu':
            self.tall.append((made, min(columns, self.rows)))
        else:
            self.small.append(made)

    def nearest(self):
        (a, _), (b, _) = self.draw.choice(self.tall), self.draw.choice(self.tall)
        self.small.append(self.add(node('lstsq', [a, b], rcond=1e-8)))

    def reduction(self):
        name, _ = self.draw.choice(self.tall)
        op = self.draw.choice(['sum', 'mean', 'std', 'max', 'argmax'])
        self.small.append(self.add(node(op, [name], axes=[0])))

    def make(self):
        steps = [self.element_wise, self.product, self.wide, self.turn, self.vector, self.inner, self.factors, self.nearest, self.reduction]
        for _ in range(self.draw.randint(1, 4)):
            self.draw.choice(steps)()
        target = self.draw.choice(self.small[-1:] or [self.tall[-1][0]])
        return {'nodes': self.nodes, 'targets': [target]}, target


def main():
    cases, seed, partitions = int(sys.argv[2]), sys.argv[3], sys.argv[4]
    wrong, refused, gathered = 0, 0, {}
    with Machines(sys.argv[1]) as machines:
        for number in [int(sys.argv[5])] if len(sys.argv) > 5 else range(cases):
            graph, target = Graph(random.Random(f'{seed}/{number}')).make()
            text = json.dumps(graph)
            plan = json.loads(machines.command(0, 'run', '--fragments', partitions, '--fragment-bytes', '1', '-', text=text))
            for entry in plan['gathered']:
                key = f'{entry["op"]}: {entry["why"]}'
                gathered[key] = gathered.get(key, 0) + 1
            found, expected = [], []
            for into, ask in (found, lambda: machines.run(plan).text(target, '--json')), (expected, lambda: machines.command(0, 'run', '--discard', '--json', '-', text=text)):
                try:
                    into.append(ask())
                except AssertionError as error:
                    into.append(None)
                    refusal = str(error)
            refused += expected[0] is None
            if found != expected:
                wrong += 1
                print(f'WRONG  case {number}: {text}\nfound: {str(found[0])[:300]}\nexpected: {str(expected[0])[:300]} {refusal if None in found + expected else ""}', flush=True)
    print(f'{cases} cases, {refused} refused, {wrong} wrong; gathered:')
    for why, many in sorted(gathered.items()):
        print(f'  {many} {why}')
    return wrong > 0


sys.exit(main())
