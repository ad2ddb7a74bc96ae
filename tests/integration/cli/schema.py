"""What `granary operators --json-schema` says of graphs: it tells good ones from bad ones, and knows every operator.

The few words of JSON schema that it uses are checked here, so that nothing has to be installed."""
import json
import os
import re
import subprocess

GRANARY = os.environ['GRANARY_BIN'] + '/granary'
TYPES = {'object': dict, 'array': list, 'string': str, 'number': (int, float), 'integer': int, 'boolean': bool}


def run(*options):
    return subprocess.run([GRANARY, 'operators', *options], check=True, capture_output=True, text=True).stdout


def is_of(value, name):
    return isinstance(value, TYPES[name]) and (name == 'boolean' or not isinstance(value, bool))


def fits(value, schema):
    if '$ref' in schema:
        part = SCHEMA
        for key in schema['$ref'].split('/')[1:]:
            part = part[key]
        return fits(value, part)
    kinds = schema.get('type', list(TYPES))
    good = any(is_of(value, name) for name in ([kinds] if isinstance(kinds, str) else kinds))
    good = good and ('const' not in schema or value == schema['const']) and value in schema.get('enum', [value])
    good = good and ('oneOf' not in schema or sum(fits(value, one) for one in schema['oneOf']) == 1)
    good = good and ('anyOf' not in schema or any(fits(value, one) for one in schema['anyOf']))
    if isinstance(value, (int, float)) and good:
        good = schema.get('minimum', value) <= value <= schema.get('maximum', value)
    if isinstance(value, str) and good:
        good = len(value) >= schema.get('minLength', 0)
    if isinstance(value, list) and good:
        good = schema.get('minItems', 0) <= len(value) <= schema.get('maxItems', len(value))
        good = good and all(fits(element, schema.get('items', {})) for element in value)
    if isinstance(value, dict) and good:
        known = schema.get('properties', {})
        more = schema.get('additionalProperties', {})
        good = all(name in value for name in schema.get('required', []))
        good = good and all(fits(part, known[name]) if name in known else more is not False and fits(part, more)
                            for name, part in value.items())
    return good


SCHEMA = json.loads(run('--json-schema'))
assert sorted(SCHEMA['$defs']) == sorted(['node', *(line.split()[0] for line in run().splitlines())])

page = open(os.environ['GRANARY_SOURCE'] + '/docs/graph-format.md', encoding='utf-8').read()
example = json.loads(re.search(r'```json\n(.*?)```', page, re.S)[1])
assert fits(example, SCHEMA)

GOOD = [{'op': 'head', 'input': 'a', 'rows': 0}, {'op': 'sort', 'input': 'a', 'by': 'x', 'nulls': ['first', 'last']},
        {'op': 'join', 'inputs': ['a', 'b'], 'on': ['x'], 'how': 'outer'}, {'op': 'full', 'shape': 3, 'value': '18446744073709551615'}]
BAD = [{'op': 'head', 'input': 'a'}, {'op': 'head', 'input': 'a', 'rows': -1}, {'op': 'head', 'input': 'a', 'rows': '1'},
       {'op': 'heed', 'input': 'a', 'rows': 1}, {'op': 'join', 'inputs': ['a'], 'on': ['x']}, {'op': 'date_range', 'input': 'a'},
       {'op': 'join', 'inputs': ['a', 'b'], 'on': ['x'], 'how': 'full'}, {'op': 'explode', 'input': 'a', 'column': 'x', 'separator': ''},
       {'op': 'select', 'input': 'a', 'columns': ['x'], 'more': 1}]
for node in GOOD:
    assert fits({'nodes': {'n': node}}, SCHEMA), node
for node in BAD:
    assert not fits({'nodes': {'n': node}}, SCHEMA), node
