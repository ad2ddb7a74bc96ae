"""Random sequences of writes, renames, loads, deletions and queries: with recall and without, answers are the same.

    recall_model.py BINARIES [STEPS] [SEED]    default: 150 steps, seed 1
"""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../support/py'))
from command_line import CommandLine  # noqa: E402

FILES = ['f0.csv', 'f1.csv', 'f2.csv']
TABLES = ['t0', 't1', 't2', 't3']
QUERIES = ['select count(*) as n, sum(a) as s from {x}',
           'select b, sum(a) as s from {x} group by b order by b',
           'select x.a, y.b from {x} x join {y} y on x.a = y.a order by x.a, y.b limit 20',
           'select a from {x} where b = {k} order by a',
           'select max(a) - min(a) as d from (select a from {x} where b <> {k}) q',
           'select count(distinct a) as n from {x}']


class Model:
    def __init__(self, cli, seed):
        self.cli = cli
        self.random = random.Random(seed)
        self.log = []
        self.compared = 0
        self.recalled = 0
        for name in FILES:
            self.write(name)
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

    def query(self):
        return self.random.choice(QUERIES).format(x=self.source(), y=self.source(), k=self.random.randrange(3))

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
        elif do < 0.25:
            self.run('load', '--replace', self.random.choice(TABLES), self.path(self.random.choice(FILES)))
        elif do < 0.29:
            self.run('forget', self.random.choice(TABLES))
        elif do < 0.34:
            self.run('sql', '--keep', self.random.choice(TABLES), '--replace', self.query())
        elif do < 0.38:
            self.run('sql', f'insert into m values ({self.random.randrange(9)}, {self.random.randrange(3)})')
        elif do < 0.39:
            self.run('recall', 'clear')
        else:
            self.compare(self.query())

    def run(self, *arguments):
        """It may fail, for a table that is not there: what follows is compared."""
        self.log.append(' '.join(arguments))
        self.cli.call(*arguments)

    def compare(self, query):
        self.log.append(query)
        ends = [self.cli.call('sql', '--csv', *options, query) for options in ([], ['--no-recall'], [])]
        if len({(end.returncode, end.stdout) for end in ends}) != 1:
            print('\n'.join(self.log))
            sys.exit('these differ:\n' + '\n'.join(f'{end.returncode}: {end.stdout}{end.stderr}' for end in ends))
        self.compared += ends[0].returncode == 0
        self.recalled += self.cli.must('sql', '--explain', query).startswith('recalled: ') if ends[0].returncode == 0 else 0


def main():
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with CommandLine(sys.argv[1]) as cli:
        cli.environment.pop('GRANARY_RECALL', None)
        model = Model(cli, seed)
        for _ in range(steps):
            model.step()
        print(f'seed {seed}: {steps} steps, {model.compared} answers compared, {model.recalled} recalled')
        assert model.compared > steps / 4 and model.recalled > steps / 8


if __name__ == '__main__':
    main()
