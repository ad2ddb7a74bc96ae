"""Subqueries that name columns of the queries around them anywhere: drawn at random, as parts of sql_tree.py's SELECTs.

A subquery is an object: item, table and alias, or from: another subquery and its alias; where, group, having, order, limit, offset, union.
"""
OPERATORS = ('<', '<=', '=', '<>', '>', '>=')


class Subqueries:
    """What a Maker draws of them."""

    def whole_table(self):
        """[table, scope entry]"""
        from sql_tree import COLUMNS, TABLES
        alias = self.name('q')
        return self.draw.choice(TABLES), [alias, {n: t for n, t in COLUMNS.items() if t in self.types}, ['id']]

    def deep_where(self, inner, scope, depth):
        """A condition of a subquery on its columns and those around, perhaps with a subquery of its own."""
        draw = self.draw
        both = inner + scope
        t = draw.choice([t for t in ('int', 'text') if self.column(t, scope)] or [None])
        parts = []
        if t and draw.chance(0.5):
            parts.append(['bin', 'bool', draw.choice(['=', '=', '=', '<', '<>', '>=']), self.column(t, inner), self.column(t, scope)])
        if draw.chance(0.5):
            parts.append(self.expr('bool', both if draw.chance(0.6) else inner, 1))
        if depth > 0 and draw.chance(0.25):
            parts.append(self.deep_condition(both, depth - 1))
        where = parts.pop() if parts else None
        for part in parts:
            where = ['bin', 'bool', 'or' if draw.chance(0.15) else 'and', where, part]
        return where

    def deep(self, type, scope, depth, single):
        """A subquery with one column; single: of one row at most."""
        draw = self.draw
        table, entry = self.whole_table()
        inner = [entry]
        made = {'table': table, 'alias': entry[0]}
        if draw.chance(0.2):
            other, more = self.whole_table()
            inner = inner + [more]
            made['join'] = [draw.choice(['inner', 'left']), other, more[0], self.expr('bool', inner + (scope if draw.chance(0.3) else []), 1)]
        both = inner + scope if draw.chance(0.5) else inner
        made['where'] = self.deep_where(inner, scope, depth)
        form = draw.random()
        own = self.column(type, inner)
        if depth > 0 and form < 0.2:
            part = self.deep(type, scope, depth - 1, False)
            alias = self.name('v')
            made = {'from': part, 'alias': alias, 'where': self.expr('bool', [[alias, {'c': type}, None]] + scope, 1) if draw.chance(0.4) else None}
            own, inner, both = ['col', type, alias, 'c'], [[alias, {'c': type}, None]], [[alias, {'c': type}, None]]
            form = 0.9 if single or form < 0.1 else 0.5
        aggregate = [a for a in ('min', 'max') if own and type not in ('wild', 'bool')] + (['count', 'count*'] if type == 'int' else [])
        if single and (form < 0.7 or 'from' in made) and aggregate:
            name = draw.choice(aggregate)
            of = own if name in ('min', 'max') else self.column('int', inner) or own
            made['item'] = ['agg', type, name.rstrip('*'), [] if name == 'count*' else [of], False, self.expr('bool', both, 1) if draw.chance(0.15) else None]
            if type == 'int' and draw.chance(0.3) and self.column('int', scope):
                made['item'] = ['bin', 'int', '+', made['item'], self.column('int', scope)]
            return made
        made['item'] = self.expr(type, both, 1)
        if 'from' in made:
            made['item'] = own
        if not single and form < 0.15 and 'from' not in made and own:
            made['group'] = [own]
            made['item'] = own
            made['having'] = ['bin', 'bool', draw.choice(['>', '<=']), ['agg', 'int', 'count', [], False, None], ['lit', 'int', draw.choice(['1', '2'])]] if draw.chance(0.7) else None
        elif single or form < 0.35:
            if 'from' in made:
                made['order'] = [[own, draw.chance(0.5), draw.chance(0.5)]]
            else:
                first = self.column(draw.choice(self.types), inner)  # a number as written would be a place
                made['order'] = [[first, draw.chance(0.5), draw.chance(0.5)]] if first and draw.chance(0.5) else []
                made['order'] += [[['col', 'int', alias, 'id'], draw.chance(0.5), False] for alias, _, _ in inner]
            made['limit'] = 1 if single else draw.choice([0, 1, 2, 3])
            made['offset'] = draw.choice([None, None, 1, 2])
        elif form < 0.5 and depth > 0:
            made['union'] = [draw.choice(['union', 'union all', 'intersect', 'except', 'intersect all', 'except all']), self.deep(type, scope, 0, True)]
            if 'order' in made['union'][1]:
                made['union'][1]['brackets'] = True
        elif form < 0.6:
            made['distinct'] = True
        return made

    def deep_value(self, type, scope, depth):
        return ['scalar', type, self.deep(type, scope, depth, True)]

    def lifted(self, aggregate):
        """A subquery whose value is an aggregate of the query around, which alone has its columns."""
        draw = self.draw
        table, entry = self.whole_table()
        own = self.column('int', [entry])
        item = ['bin', 'int', '+', aggregate, own] if own and aggregate[1] == 'int' and draw.chance(0.4) else aggregate
        return ['scalar', aggregate[1], {'table': table, 'alias': entry[0], 'item': item, 'where': self.expr('bool', [entry], 1) if draw.chance(0.3) else None,
                                         'order': [[['col', 'int', entry[0], 'id'], draw.chance(0.5), False]], 'limit': 1}]

    def deep_condition(self, scope, depth):
        draw = self.draw
        t = draw.choice([t for t in ('int', 'text', 'date', 'float') if self.column(t, scope)] or [None])
        if t is None:
            return ['exists', 'bool', self.deep('int', scope, depth, False), draw.chance(0.4)]
        kind = self.choice(['exists', 'in_list', 'any', 'all', 'value', 'lateral'])
        if kind == 'exists':
            return ['exists', 'bool', self.deep('int', scope, depth, False), draw.chance(0.4)]
        if kind == 'in_list':
            return ['in_query', 'bool', self.expr(t, scope, 1), self.deep(t, scope, depth, False), draw.chance(0.4)]
        if kind in ('any', 'all'):
            return ['quantified', 'bool', self.expr(t, scope, 1), draw.choice(OPERATORS), draw.choice(['any', 'some', 'all']), self.deep(t, scope, depth, False)]
        return ['bin', 'bool', draw.choice(OPERATORS), self.expr(t, scope, 1), self.deep_value(t, scope, depth)]

    def lateral(self, tree, scope, depth):
        """[from tree, scope] with a subquery that names columns of the tables before it."""
        draw = self.draw
        alias = self.name('l')
        type = draw.choice(['int', 'text', 'date'] if self.peer != 'sqlite' else ['int'])
        made = self.deep(type, scope, depth, draw.chance(0.5))
        return ['lateral', draw.choice(['cross', 'left']), tree, made, alias], scope + [[alias, {'c': type}, None]]


def write_query(writer, q):
    """The text of a subquery, in brackets."""
    item = writer.expr(q['item'])
    table = f'{write_query(writer, q["from"])} {q["alias"]}(c)' if 'from' in q else f'{writer.table(q["table"])} {q["alias"]}'
    text = f'select {"distinct " if q.get("distinct") else ""}{item} from {table}'
    if q.get('join'):
        kind, other, alias, on = q['join']
        text += f' {kind} join {writer.table(other)} {alias} on {writer.expr(on)}'
    if q.get('where'):
        text += f' where {writer.expr(q["where"])}'
    if q.get('group'):
        text += f' group by {writer.all(q["group"])}'
    if q.get('having'):
        text += f' having {writer.expr(q["having"])}'
    if q.get('union'):
        text += f' {q["union"][0]} {write_query(writer, q["union"][1])}'
    if q.get('order'):
        text += ' order by ' + ', '.join(writer.key(writer.expr(e), down, first) for e, down, first in q['order'])
    if q.get('limit') is not None:
        text += f' limit {q["limit"]}'
    if q.get('offset') is not None:
        text += f' offset {q["offset"]}'
    return f'({text})'


def smaller_deep(q):
    """The same with less: for a case that differs."""
    for key in ('where', 'having', 'distinct', 'offset', 'limit', 'order', 'join', 'union', 'group'):
        if q.get(key) and not (key in ('limit', 'order') and q.get('offset')):
            yield {k: v for k, v in q.items() if k != key}
    if 'from' in q:
        yield from ({**q, 'from': inner} for inner in smaller_deep(q['from']))
    if q.get('union'):
        yield from ({**q, 'union': [q['union'][0], inner]} for inner in smaller_deep(q['union'][1]))
