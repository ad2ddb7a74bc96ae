"""Bloom filters of Parquet files: row groups that have none of the values are left out, answers are those without filters, and filters that are
wrong, hostile or of another kind change nothing but what they say of the file."""
import os
import random

from granary_test import Instance
from parquet_writer import bloom, parquet

random.seed(int(os.environ.get('GRANARY_SEED', '11')))

with Instance() as granary:
    path = os.path.join(granary.directory, 'x.parquet')

    def write(groups, **more):
        with open(path, 'wb') as file:
            file.write(parquet(groups, **more))

    def count(where):
        frame = granary.run({'r': {'op': 'read_parquet', 'path': path}, 'f': {'op': 'filter', 'input': 'r', 'where': where},
                             'x': {'op': 'aggregate', 'input': 'f', 'aggregate': {'n': 'sum(b)', 'm': 'size'}}}, 'x')
        return int(frame['m'].values[0])

    # ---- the same answers, whatever the filters are ----
    groups = [{'a': [None if random.random() < 0.1 else random.randrange(-1000, 1000) for _ in range(300)], 'b': list(range(300))} for _ in range(6)]
    for where, true in [('a = 7', lambda a: a == 7), ('7 = a', lambda a: a == 7), ('a in (3, -8, 900)', lambda a: a in (3, -8, 900)),
                        ('a = 7 or a = 9', lambda a: a in (7, 9)), ('a = 7 and b > 5', None), ('a = 7 or b = 5', None), ('not (a = 7)', lambda a: a != 7),
                        ('a = 5000', lambda a: False), ('a in (null, 7)', lambda a: a == 7), ('a = 7.0', lambda a: a == 7), ('a + 1 = 8', lambda a: a == 7),
                        ('a != 7', lambda a: a != 7), ('a = 9223372036854775808', lambda a: False), ('a is null', None)]:
        answers = set()
        for blooms in (None, {'a': bloom}, {'a': lambda values: bloom(values, 64)}, {'a': bloom, 'b': bloom}):
            write(groups, blooms=blooms)
            answers.add(count(where))
        assert len(answers) == 1, (where, answers)
        if true is not None:
            assert answers == {sum(a is not None and true(a) for group in groups for a in group['a'])}, (where, answers)

    # ---- they are asked: what a filter lacks is not there, as far as the file says ----
    everything = count('a = 7')
    write([{'a': [3, 7, 100], 'b': [1, 2, 3]}], blooms={'a': lambda values: bloom([3, 100])})
    assert [count(w) for w in ('a = 7', 'a in (7, 8)', 'a in (7, 100)', 'a = 100', 'a > 6 and a < 8')] == [0, 0, 2, 1, 1]
    # Small row groups are read together, unless all of them have none.
    write([{'a': [3, 7, 100], 'b': [1, 2, 3]}] * 2, blooms={'a': lambda values: bloom([3, 100])})
    assert [count(w) for w in ('a = 7', 'a in (7, 100)')] == [0, 4]

    # ---- hostile ones are not believed, and nothing ends ----
    for told in (lambda v: (bloom([]), 1 << 40, None), lambda v: (bloom([]), -5, None), lambda v: (bloom([]), None, 3), lambda v: b'', lambda v: b'\0' * 64,
                 lambda v: bloom([])[:20], lambda v: (bloom([]), None, -1), lambda v: b'\x15\xfe\xff\xff\xff\x0f' + bloom([])[2:]):
        write(groups, blooms={'a': told})
        assert count('a = 7') in (everything, 0), told
    write(groups, blooms={'a': bloom})
    with open(path, 'rb') as file:
        good = file.read()
    filters = good.index(bloom([v for v in groups[0]['a'] if v is not None]))
    for _ in range(60):
        bad = bytearray(good)
        for _ in range(random.choice([1, 8])):
            bad[filters + random.randrange(16)] = random.randrange(256)
        with open(path, 'wb') as file:
            file.write(bad)
        assert count('a = 7') <= everything

    # ---- folders tell what is skipped ----
    folder = os.path.join(granary.directory, 'd')
    os.mkdir(folder)
    for number in range(3):
        with open(f'{folder}/{number}.parquet', 'wb') as file:
            file.write(parquet([{'a': list(range(k, k + 10))} for k in (0, 100, 200)]))
    plan = granary.command('sql', '--explain', f"SELECT count(*) FROM '{folder}/' WHERE a > 150")
    assert 'skips 6 of 9 row groups of the files that it reads' in plan, plan
