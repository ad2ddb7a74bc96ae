"""Random regular expressions over text of all of Unicode: regexp_matches, regexp_extract and regexp_replace, against Python's re.

Patterns are of the part that POSIX extended expressions and re share and agree in: what an alternation finds first (leftmost-longest here,
leftmost-first there) is made not to matter by alternatives of one length.
"""
import re

from compare import same_rows
from draw import to_column
from granary_test import GranaryError
from sql_random import row_values

LETTERS = 'abcXYZ019_ -éÉßüñçøλΩжЖ漢字日本🐦🎉ａ１'
CLASSES = [('[[:alpha:]]', lambda c: c.isalpha()), ('[[:digit:]]', lambda c: c.isdecimal()), ('[[:space:]]', lambda c: c.isspace()), ('[[:upper:]]', lambda c: c.isupper()),
           ('[[:lower:]]', lambda c: c.islower())]


def atom(draw, depth):
    """(POSIX, re)"""
    form = draw.randrange(9 if depth else 6)
    if form < 2:
        c = draw.choice(LETTERS)
        return (c, re.escape(c))
    if form == 2:
        return ('.', '.')
    if form == 3:
        negated = draw.chance(0.4)
        chars = ''.join(draw.sample(LETTERS.replace('-', '').replace(' ', ''), draw.randint(1, 4)))
        return (f'[{"^" if negated else ""}{chars}]',) * 2
    if form == 4:
        low, high = draw.choice([('a', 'c'), ('0', '9'), ('а', 'я'), ('α', 'ω'), ('一', '龥')])
        negated = '^' if draw.chance(0.3) else ''
        return (f'[{negated}{low}-{high}]',) * 2
    if form == 5:
        name, test = draw.choice(CLASSES)
        chars = ''.join(re.escape(c) for c in LETTERS if test(c))
        return (name if draw.chance(0.7) else f'[^{name[1:]}', None, chars)
    inner = sequence(draw, depth - 1)
    return (f'({inner[0]})', f'({inner[1]})')


def both(piece):
    """The class of re that has the same members among LETTERS."""
    if piece[1] is None:
        return (piece[0], f'[{"^" if piece[0].startswith("[^") else ""}{piece[2]}]')
    return piece


def sequence(draw, depth):
    parts = []
    for _ in range(draw.randint(1, 3)):
        a, b = both(atom(draw, depth))
        times = draw.choice(['', '', '', '*', '+', '?', '{2}', '{1,2}'])
        parts.append((a + times, b + times))
    return ''.join(p[0] for p in parts), ''.join(p[1] for p in parts)


def pattern(draw):
    a, b = sequence(draw, 1)
    if draw.chance(0.15):  # of one character each: which is found first does not matter
        c, d = draw.sample([x for x in LETTERS if x not in ' -'], 2)
        a = b = f'{c}|{d}'
    if draw.chance(0.2):
        a, b = '^' + a, '^' + b if '|' not in b else '^' + b
    if draw.chance(0.2):
        a, b = a + '$', b + '$'
    return a, b.replace('$', r'\Z') if b.endswith('$') else b


class Part:
    name = 'regex'
    covers = ('expr:REGEXP',)

    @staticmethod
    def aims(name):
        return name.startswith(Part.covers)

    def make(self, draw, number, want=None):
        posix, python = pattern(draw)
        texts = [''.join(draw.choice(LETTERS) for _ in range(draw.randint(0, 8))) for _ in range(12)] + ['', None]
        return {'posix': posix, 'python': python, 'form': draw.choice(['matches', 'matches', 'replace', 'replace_all', 'extract', 'not']), 'texts': texts, 'route': draw.choice(['graph', 'graph', 'sql'])}

    def hits(self, spec):
        return [{'matches': 'expr:REGEXP_MATCHES', 'not': 'expr:REGEXP_MATCHES', 'extract': 'expr:REGEXP_EXTRACT'}.get(spec['form'], 'expr:REGEXP_REPLACE')]

    def open(self, engine):
        self.engine = engine
        return True

    def close(self):
        pass

    def text(self, spec):
        quoted = "'" + spec['posix'].replace("'", "''") + "'"
        return {'matches': f'regexp_matches(s, {quoted})', 'not': f'not regexp_matches(s, {quoted})' if spec['route'] == 'graph' else f's !~ {quoted}', 'replace': f"regexp_replace(s, {quoted}, '<>')",
                'replace_all': f"regexp_replace(s, {quoted}, '<>', 'g')", 'extract': f'regexp_extract(s, {quoted}, 0)'}[spec['form']]

    def model(self, spec, text):
        if text is None:
            return None
        found = re.search(spec['python'], text)
        if spec['form'] in ('matches', 'not'):
            return (found is not None) == (spec['form'] == 'matches')
        if spec['form'] == 'extract':
            return found.group(0) if found else '' if spec['route'] == 'sql' else None  # as DuckDB has it, and as graphs have it
        return re.sub(spec['python'], '<>', text, count=0 if spec['form'] == 'replace_all' else 1)

    def judge(self, specs):
        cases = []
        for spec in specs:
            table = self.engine.put({'s': to_column({'dtype': 'string', 'values': spec['texts']})})
            if spec['route'] == 'sql':
                self.engine.table('regexes', {'s': to_column({'dtype': 'string', 'values': spec['texts']})})
                cases.append(self.engine.sql([f'select {self.text(spec)} as r from regexes'])[0])
            else:
                cases.append(({'in': table, 'out': {'op': 'project', 'input': 'in', 'columns': {'r': self.text(spec)}}}, 'out'))
        graphs = [i for i, s in enumerate(specs) if s['route'] == 'graph']
        for i, answer in zip(graphs, self.engine.run_cases([cases[i] for i in graphs])):
            cases[i] = answer
        return [self.compare(spec, ours) for spec, ours in zip(specs, cases)]

    def compare(self, spec, ours):
        try:
            theirs = [[self.model(spec, text)] for text in spec['texts']]
        except re.error as error:
            return ('refused', f're: {error}')
        if isinstance(ours, GranaryError):
            return ('differs', f'refused: {ours}')
        differs = same_rows(row_values(ours), theirs, True)
        return ('differs', differs) if differs else None

    def smaller(self, spec):
        for i in range(len(spec['texts'])):
            if len(spec['texts']) > 1:
                yield {**spec, 'texts': spec['texts'][:i] + spec['texts'][i + 1:]}
        for i, text in enumerate(spec['texts']):
            for k in range(len(text or '')):
                yield {**spec, 'texts': spec['texts'][:i] + [text[:k] + text[k + 1:]] + spec['texts'][i + 1:]}

    def show(self, spec):
        return f'{spec["route"]}: {self.text(spec)}   of {spec["texts"]} (re: {spec["python"]})'
