"""What every function of expressions gives: a model in Python of what graph-format.md, sql.md and PostgreSQL's manual say.

CALLS are those of graphs, SQL_CALLS those of SQL. A call: the id in graph/expr/ops.def, how it is written ({0} {1} are arguments, [0] [1] options), the
kinds of its arguments (expressions.py), the model (arguments, options) -> value. Null gives null unless the model takes it.
"""
import base64
import calendar
import datetime
import decimal
import math
import operator
import re
import statistics

import numpy as np

EXPECTED_ERRORS = ('overflow', 'does not fit', 'more than 18 digits', 'more than 38 digits', 'beyond')


class Call:
    def __init__(self, name, form, kinds, model, options=(), nulls=False, many=False, tolerance=1e-9, alias=None):
        self.name, self.form, self.kinds, self.model, self.options = name, form, kinds.split() if ' ' in kinds else [kinds] if '|' in kinds else list(kinds), model, options
        self.nulls, self.many, self.tolerance, self.alias = nulls, many, tolerance, alias

    def text(self, arguments, options):
        text = self.form
        if self.many:
            text = text.replace('{...}', ', '.join(arguments))
        for i, argument in enumerate(arguments):
            text = text.replace(f'{{{i}}}', argument)
        for i, option in enumerate(options):
            text = text.replace(f'[{i}]', str(option))
        return text

    def value(self, row, options):
        if not self.nulls and any(v is None for v in row):
            return None
        return self.model(row, options)


CALLS, SQL_CALLS = [], []


def graph(*args, **more):
    CALLS.append(Call(*args, **more))


def sql(*args, **more):
    SQL_CALLS.append(Call(*args, **more))


def both(*args, **more):
    graph(*args, **more)
    sql(*args, **more)


# ---- arithmetic: integers and decimals exactly, floats when one is ----

def meet(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return float(a), float(b)
    if isinstance(a, decimal.Decimal) or isinstance(b, decimal.Decimal):
        return decimal.Decimal(a), decimal.Decimal(b)
    return a, b


def arithmetic(function):
    def model(row, options):
        with decimal.localcontext() as context:
            context.prec = 60
            return function(*meet(*row))
    return model


def divide(row, options):
    a, b = float(row[0]), float(row[1])
    return float(np.float64(a) / np.float64(b))


def floored(a, b):
    if isinstance(a, float):
        return float(np.floor(np.float64(a) / np.float64(b)))
    if b == 0:
        return None
    return a // b if isinstance(a, int) else (a / b).to_integral_value(decimal.ROUND_FLOOR)


def modulo(a, b):
    if isinstance(a, float):
        return float(np.mod(np.float64(a), np.float64(b)))
    if b == 0:
        return None
    return a % b if isinstance(a, int) else a - b * (a / b).to_integral_value(decimal.ROUND_FLOOR)


def cut(a, b):
    if isinstance(a, float):
        return float(np.trunc(np.float64(a) / np.float64(b)))
    if b == 0:
        return None
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if isinstance(a, int) else (a / b).to_integral_value(decimal.ROUND_DOWN)


def rest(a, b):
    if isinstance(a, float):
        return float(np.fmod(np.float64(a), np.float64(b)))
    if b == 0:
        return None
    return a - b * cut(a, b)


PAIRS = ('i i', 'i f', 'f f', 'q q', 'q i', 'i q', 'o i', 'f q')
for kinds in PAIRS:
    both('ADD', '{0} + {1}', kinds, arithmetic(lambda a, b: a + b))
    both('SUBTRACT', '{0} - {1}', kinds, arithmetic(lambda a, b: a - b))
    both('MULTIPLY', '{0} * {1}', kinds, arithmetic(lambda a, b: a * b))
    both('DIVIDE', '{0} / {1}', kinds, divide)
for kinds in ('i i', 'i f', 'f f', 'q q', 'q i'):
    graph('FLOOR_DIVIDE', '{0} // {1}', kinds, arithmetic(floored))
    graph('MODULO', '{0} % {1}', kinds, arithmetic(modulo))
    graph('QUOTIENT', 'quotient({0}, {1})', kinds, arithmetic(cut))
    graph('REMAINDER', 'remainder({0}, {1})', kinds, arithmetic(rest))
    sql('QUOTIENT', '{0} // {1}', kinds, arithmetic(cut))
    sql('REMAINDER', '{0} % {1}', kinds, arithmetic(rest))
    sql('REMAINDER', 'mod({0}, {1})', kinds, arithmetic(rest), alias='mod')
    for alias in ('div', 'divide'):
        sql('QUOTIENT', alias + '({0}, {1})', kinds, arithmetic(cut), alias=alias)
for kind in 'ifq':
    both('NEGATE', '-{0}', kind, lambda row, o: -row[0])
    both('ABS', 'abs({0})', kind, lambda row, o: abs(row[0]))


def sign(row, options):
    kind = type(row[0])
    return row[0] if row[0] == 0 else kind(1) if row[0] > 0 else kind(-1)


for kind in 'if':
    both('SIGN', 'sign({0})', kind, sign)
    graph('SHORT_SIGN', 'sign^({0})', kind, sign)


def to_whole(mode, function):
    def model(row, options):
        x = row[0]
        return x if isinstance(x, int) else x.to_integral_value(mode) if isinstance(x, decimal.Decimal) else float(function(x))
    return model


for kind in 'ifq':
    both('FLOOR', 'floor({0})', kind, to_whole(decimal.ROUND_FLOOR, np.floor))
    both('CEIL', 'ceil({0})', kind, to_whole(decimal.ROUND_CEILING, np.ceil))
    sql('CEIL', 'ceiling({0})', kind, to_whole(decimal.ROUND_CEILING, np.ceil), alias='ceiling')
    both('TRUNC', 'trunc({0})', kind, to_whole(decimal.ROUND_DOWN, np.trunc))
    both('ROUND', 'round({0})', kind, to_whole(decimal.ROUND_HALF_UP, np.rint))
    graph('SHORT_FLOOR', 'floor^({0})', kind, to_whole(decimal.ROUND_FLOOR, np.floor))
    graph('SHORT_CEIL', 'ceil^({0})', kind, to_whole(decimal.ROUND_CEILING, np.ceil))
    graph('SHORT_TRUNC', 'trunc^({0})', kind, to_whole(decimal.ROUND_DOWN, np.trunc))


def rounded(row, options):
    x, digits = row[0], options[0]
    if isinstance(x, int):
        return x
    return x.quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP) if isinstance(x, decimal.Decimal) else float(np.round(x, digits))


for kind in 'ifq':
    both('ROUND', 'round({0}, [0])', kind, rounded, [[0, 1, 2]])
    graph('SHORT_ROUND', 'round^({0}, [0])', kind, rounded, [[0, 1, 2]])
MATH = {'SQRT': ('sqrt', np.sqrt), 'EXP': ('exp', np.exp), 'LN': ('ln', np.log), 'LOG10': ('log10', np.log10), 'LOG2': ('log2', np.log2), 'SIN': ('sin', np.sin), 'COS': ('cos', np.cos),
        'TAN': ('tan', np.tan), 'ASIN': ('asin', np.arcsin), 'ACOS': ('acos', np.arccos), 'ATAN': ('atan', np.arctan)}
for name, (word, function) in MATH.items():
    for kind in 'fu':
        both(name, word + '({0})', kind, lambda row, o, f=function: float(f(np.float64(row[0]))))
sql('LOG10', 'log({0})', 'f', lambda row, o: float(np.log10(np.float64(row[0]))), alias='log')
for kinds in ('f f', 'u f', 'i f'):
    both('ATAN2', 'atan2({0}, {1})', kinds, lambda row, o: math.atan2(float(row[0]), float(row[1])))
for kinds in ('f c', 'u c', 'i c', 'c c'):
    both('POW', 'pow({0}, {1})', kinds, lambda row, o: float(np.power(np.float64(row[0]), np.float64(row[1]))))
sql('POW', 'power({0}, {1})', 'fc', lambda row, o: float(np.power(np.float64(row[0]), np.float64(row[1]))), alias='power')
for kind in 'fu':
    both('ISNAN', 'isnan({0})', kind, lambda row, o: math.isnan(row[0]))
    both('ISINF', 'isinf({0})', kind, lambda row, o: math.isinf(row[0]))

# ---- comparison, logic, choice ----

COMPARED = ('i i', 'f f', 's s', 'd d', 'm m', 'q q', 'w w', 'i f', 'i q', 'w f', 'd m', 'u u', 'u f', 'w u')


def alike(function):
    def model(row, options):
        a, b = row
        if isinstance(b, datetime.datetime) and not isinstance(a, datetime.datetime):
            a = datetime.datetime(a.year, a.month, a.day)
        if isinstance(a, str):
            a, b = a.encode(), b.encode()
        return function(a, b)
    return model


def total(function):
    """The same where a nan is the largest value, equal to itself."""
    return lambda a, b: function(*[(v != v, 0 if v != v else v) for v in (a, b)])


for name, word, function in (('EQUAL', '=', lambda a, b: a == b), ('NOT_EQUAL', '<>', lambda a, b: a != b), ('LESS', '<', lambda a, b: a < b), ('LESS_EQUAL', '<=', lambda a, b: a <= b),
                             ('GREATER', '>', lambda a, b: a > b), ('GREATER_EQUAL', '>=', lambda a, b: a >= b)):
    for kinds in COMPARED + (('b b',) if word in ('=', '<>') else ()):
        graph(name, '{0} ' + word + ' {1}', kinds, alike(function))
        graph('TOTAL_' + name, '{0} ' + word.replace('<>', '!=') + '^ {1}', kinds, alike(total(function)))
        sql(name, '{0} ' + word + ' {1}', kinds, alike(total(function)))


def three(decisive):
    def model(row, options):
        return decisive if decisive in row else None if None in row else not decisive
    return model


both('AND', '{0} and {1}', 'bb', three(False), nulls=True)
both('OR', '{0} or {1}', 'bb', three(True), nulls=True)
both('NOT', 'not {0}', 'b', lambda row, o: not row[0])
for kind in 'ifsdqb':
    both('IS_NULL', '{0} is null', kind, lambda row, o: row[0] is None, nulls=True)
    both('IS_NOT_NULL', '{0} is not null', kind, lambda row, o: row[0] is not None, nulls=True)


def among(row, options):
    x, rest = row[0], row[1:]
    if x is None:
        return None
    return True if x in [v for v in rest if v is not None] else None if None in rest else False


def first_there(row, options):
    return next((v for v in row if v is not None), None)


def extreme(function):
    return lambda row, o: function((v for v in row if v is not None), key=lambda v: v.encode() if isinstance(v, str) else v, default=None)


for kind in 'ifsdqbw':
    both('SINGLE', 'single({0}, 1)', kind, lambda row, o: row[0], nulls=True)
for kinds in ('i i i', 's s s', 'd d d', 'w w w'):
    both('IN', '{0} in ({1}, {2})', kinds, among, nulls=True)
    both('COALESCE', 'coalesce({0}, {1}, {2})', kinds, first_there, nulls=True)
    both('NULLIF', 'nullif({0}, {1})', kinds[:3], lambda row, o: None if row[0] is None or row[0] == row[1] else row[0], nulls=True)
    both('GREATEST', 'greatest({0}, {1}, {2})', kinds, extreme(max), nulls=True)
    both('LEAST', 'least({0}, {1}, {2})', kinds, extreme(min), nulls=True)
    both('CASE', 'case when {0} < {1} then {2} else {0} end', kinds, lambda row, o: row[2] if None not in row[:2] and (row[0].encode() < row[1].encode() if isinstance(row[0], str) else row[0] < row[1]) else row[0], nulls=True)
    both('CASE', 'case {0} when {1} then {2} end', kinds, lambda row, o: row[2] if row[0] is not None and row[0] == row[1] else None, nulls=True)
graph('CASE', 'if({0}, {1}, {2})', 'b i i', lambda row, o: row[1] if row[0] else row[2], nulls=True)
for alias in ('ifnull', 'nvl'):
    sql('COALESCE', alias + '({0}, {1})', 'ss', first_there, nulls=True, alias=alias)

# ---- casts ----


def nearest(x):
    return int(x) if isinstance(x, bool) else int(np.rint(x)) if isinstance(x, float) else int(decimal.Decimal(x).quantize(0, decimal.ROUND_HALF_UP))


def decimal_of(text):
    try:
        made = decimal.Decimal(text.strip())
        return made if made.is_finite() else None
    except decimal.InvalidOperation:
        return None


for route, whole, real, text in ((graph, 'int64', 'float64', 'string'), (sql, 'bigint', 'double precision', 'text')):
    for kind in 'ifqb':
        route('CAST', f'cast({{0}} as {whole})', kind, lambda row, o: nearest(row[0]))
    for kind in 'iqf':
        route('CAST', f'cast({{0}} as {real})', kind, lambda row, o: float(row[0]))
    for kind in 'iqbs':
        route('CAST', f'cast({{0}} as {text})', kind, lambda row, o: ('true' if row[0] else 'false') if isinstance(row[0], bool) else str(row[0]) if not isinstance(row[0], decimal.Decimal) else format(row[0], 'f'))
    route('CAST', 'cast({0} as date)', 'm', lambda row, o: row[0].date())
    route('CAST', 'cast({0} as timestamp)', 'd', lambda row, o: datetime.datetime(row[0].year, row[0].month, row[0].day))
    for kind in 'iq':
        route('CAST', 'cast({0} as decimal(2))' if route is graph else 'cast({0} as decimal(20, 2))', kind, lambda row, o: decimal.Decimal(row[0]).quantize(decimal.Decimal('0.01'), decimal.ROUND_HALF_UP))
graph('TRY_CAST', 'try_cast({0} as int64)', 'a', lambda row, o: int(row[0]) if re.fullmatch(' *-?[0-9]+ *', row[0]) else None)
graph('TRY_CAST', 'try_cast({0} as float64)', 'a', lambda row, o: None if decimal_of(row[0]) is None else float(decimal_of(row[0])))
graph('TRY_CAST', 'try_cast({0} as int8)', 'i', lambda row, o: row[0] if -128 <= row[0] <= 127 else None)

# ---- strings ----


def like(pattern, escape=None):
    made, i = '', 0
    while i < len(pattern):
        c = pattern[i]
        if c == escape and i + 1 < len(pattern):
            i += 1
            made += re.escape(pattern[i])
        else:
            made += '.*' if c == '%' else '.' if c == '_' else re.escape(c)
        i += 1
    return made


PATTERNS = ["'a%'", "'%b'", "'_'", "'%'", "'a__'", "'%é%'", "''", "'%a%b%'", "'a_b'"]
both('LIKE', '{0} like [0]', 's', lambda row, o: re.fullmatch(like(o[0][1:-1]), row[0], re.S) is not None, [PATTERNS])
both('LIKE', "{0} not like [0]", 's', lambda row, o: re.fullmatch(like(o[0][1:-1]), row[0], re.S) is None, [PATTERNS])
both('LIKE', "{0} like [0] escape '!'", 's', lambda row, o: re.fullmatch(like(o[0][1:-1], '!'), row[0], re.S) is not None, [["'a!_b'", "'%!%%'", "'!!'"]])
both('ILIKE', '{0} ilike [0]', 's', lambda row, o: re.fullmatch(like(o[0][1:-1]), row[0], re.S | re.I) is not None, [["'A%'", "'%B'", "'_'", "'%É%'", "'ABC'"]])
both('LOWER', 'lower({0})', 's', lambda row, o: row[0].lower())
both('UPPER', 'upper({0})', 's', lambda row, o: row[0].upper())
graph('TITLE', 'title({0})', 's', lambda row, o: row[0].title() if "'" not in row[0] else "It'S")
both('INITCAP', 'initcap({0})', 's', lambda row, o: re.sub(r'[^\W_]+', lambda w: w.group()[:1].upper() + w.group()[1:].lower(), row[0]), alias='initcap')
both('CAPITALIZE', 'capitalize({0})', 's', lambda row, o: row[0].capitalize())
both('LENGTH', 'length({0})', 's', lambda row, o: len(row[0]))
for alias in ('char_length', 'character_length', 'strlen'):
    sql('LENGTH', alias + '({0})', 's', lambda row, o: len(row[0]), alias=alias)
both('REVERSE', 'reverse({0})', 's', lambda row, o: row[0][::-1])
both('OCTET_LENGTH', 'octet_length({0})', 's', lambda row, o: len(row[0].encode()))
both('HEX', 'hex({0})', 's', lambda row, o: row[0].encode().hex().upper())
both('BASE64', 'base64({0})', 's', lambda row, o: base64.b64encode(row[0].encode()).decode())
for name, call in (('UNHEX', 'unhex(hex({0}))'), ('FROM_BASE64', 'from_base64(base64({0}))'), ('ENCODE', 'encode({0})'), ('DECODE', 'encode({0})')):
    both(name, f'decode({call})', 's', lambda row, o: row[0])
sql('HEX', 'to_hex({0})', 's', lambda row, o: row[0].encode().hex().upper(), alias='to_hex')
sql('UNHEX', 'decode(from_hex(hex({0})))', 's', lambda row, o: row[0], alias='from_hex')
sql('BASE64', 'to_base64({0})', 's', lambda row, o: base64.b64encode(row[0].encode()).decode(), alias='to_base64')


def substring(row, options):
    text, start = row[0], row[1] - 1
    if len(row) < 3:
        return text[max(start, 0):]
    if row[2] < 0:
        raise ValueError('a negative length')
    return text[max(start, 0):max(start + row[2], 0)]


both('SUBSTRING', 'substring({0}, {1})', 'sc', substring)
both('SUBSTRING', 'substring({0}, {1}, [0])', 'sc', lambda row, o: substring((*row, o[0]), o), [[0, 1, 2, 5]])
sql('SUBSTRING', 'substr({0}, {1}, [0])', 'sc', lambda row, o: substring((*row, o[0]), o), [[0, 1, 2, 5]], alias='substr')
sql('SUBSTRING', 'substring({0} from {1} for [0])', 'sc', lambda row, o: substring((*row, o[0]), o), [[0, 1, 2, 5]])
both('LEFT', 'left({0}, {1})', 'sc', lambda row, o: row[0][:row[1]] if row[1] >= 0 else row[0][:max(0, len(row[0]) + row[1])])
both('RIGHT', 'right({0}, {1})', 'sc', lambda row, o: row[0][max(0, len(row[0]) - row[1]):] if row[1] >= 0 else row[0][-row[1]:])
for name, strip in (('TRIM', str.strip), ('LTRIM', str.lstrip), ('RTRIM', str.rstrip)):
    both(name, name.lower() + '({0})', 's', lambda row, o, f=strip: f(row[0], ' '))
    both(name, name.lower() + "({0}, [0])", 's', lambda row, o, f=strip: f(row[0], o[0][1:-1]), [["'a'", "'ab'", "' h'", "'é'"]])
sql('TRIM', "btrim({0}, [0])", 's', lambda row, o: row[0].strip(o[0][1:-1]), [["'a'", "'ab'"]], alias='btrim')
both('REPLACE', 'replace({0}, {1}, {2})', 'sss', lambda row, o: row[0].replace(row[1], row[2]) if row[1] else row[0])
for name, aliases, test in (('CONTAINS', (), lambda s, x: x in s), ('STARTSWITH', ('starts_with', 'prefix'), str.startswith), ('ENDSWITH', ('ends_with', 'suffix'), str.endswith)):
    both(name, name.lower() + '({0}, {1})', 'ss', lambda row, o, f=test: f(row[0], row[1]))
    for alias in aliases:
        sql(name, alias + '({0}, {1})', 'ss', lambda row, o, f=test: f(row[0], row[1]), alias=alias)
graph('POSITION', 'position({0}, {1})', 'ss', lambda row, o: row[1].find(row[0]) + 1)
sql('POSITION', 'position({0} in {1})', 'ss', lambda row, o: row[1].find(row[0]) + 1)
for alias in ('strpos', 'instr'):
    sql('POSITION', alias + '({0}, {1})', 'ss', lambda row, o: row[0].find(row[1]) + 1, alias=alias)
both('CONCAT', 'concat({0}, {1}, {2})', 'sss', lambda row, o: ''.join(row))
both('CONCAT', '({0} || {1})', 'ss', lambda row, o: ''.join(row))


def pad(left):
    def model(row, options):
        text, count = row[0], row[1]
        fill = options[0][1:-1] if options else ' '
        more = (fill * max(0, count))[:max(0, count - len(text))] if fill else ''
        return (more + text if left else text + more)[:max(0, count)] if len(text) <= count or not left else text[:max(0, count)]
    return model


for name, left in (('LPAD', True), ('RPAD', False)):
    both(name, name.lower() + '({0}, {1})', 'sc', pad(left))
    both(name, name.lower() + '({0}, {1}, [0])', 'sc', pad(left), [["'xy'", "'é'", "''"]])
both('ZFILL', 'zfill({0}, {1})', 'sc', lambda row, o: row[0].zfill(row[1]))
both('REPEAT', 'repeat({0}, {1})', 'sc', lambda row, o: row[0] * row[1])


def split_part(row, options):
    text, n = row[0], options[1]
    separator = options[0][1:-1]
    parts = text.split(separator)
    return parts[n - 1 if n > 0 else n] if -len(parts) <= n <= len(parts) and n else ''


both('TRANSLATE', 'translate({0}, [0], [1])', 's', lambda row, o: row[0].translate({ord(c): o[1][1 + i] if i < len(o[1]) - 2 else None
                                                                                         for i, c in reversed(list(enumerate(o[0][1:-1])))}),
     [["'abé'", "'xX'", "'aab'"], ["'ü'", "'123'", "''"]])
both('SPLIT_PART', 'split_part({0}, [0], [1])', 's', split_part, [["','", "'X'", "'_'"], [1, 2, 3, -1, -2]])
for name in 'isalpha isdigit isalnum isspace islower isupper'.split():
    both(name.upper(), name + '({0})', 's', lambda row, o, f=getattr(str, name): f(row[0]))
REGEXES = ["'a'", "'^a'", "'b$'", "'[a-c]+'", "'(a)(b)?'", "'[^a]'", "'a|é'", "'X.'"]
both('REGEXP_MATCHES', 'regexp_matches({0}, [0])', 's', lambda row, o: re.search(o[0][1:-1], row[0]) is not None, [REGEXES])


def extract_match(row, options):
    found = re.search(options[0][1:-1], row[0])
    return found and found.group(options[1])


both('REGEXP_EXTRACT', 'regexp_extract({0}, [0], [1])', 's', extract_match, [["'a(.)'", "'([a-c])[a-z]'", "'(X)'"], [0, 1]])
both('REGEXP_REPLACE', "regexp_replace({0}, [0], '<\\1>')", 's', lambda row, o: re.sub(o[0][1:-1], r'<\1>', row[0], count=1), [["'(a)'", "'([a-c])'", "'(é)'"]])
both('REGEXP_REPLACE', "regexp_replace({0}, [0], '-', 'g')", 's', lambda row, o: re.sub(o[0][1:-1], '-', row[0]), [["'a'", "'[a-c]'", "'é|b'"]])

# ---- lists: made of arguments, and told as text or as a value ----


def of_list(name, form, kinds, model, options=(), **more):
    """A function of list_value({0}, {1}, {2}), whose null items are none."""
    both(name, form.replace('[l]', 'list_value({0}, {1}, {2})'), kinds, model, options, nulls=True, **more)


def there(row):
    return [v for v in row if v is not None]


def item_at(row, n):
    return row[n - 1] if 0 < n <= 3 else row[n] if -3 <= n < 0 else None


def from_to(row, options):
    first, last = ((4 + n if n < 0 else n) for n in options)
    return ','.join(str(v) for v in there(row[max(first, 1) - 1:max(last, 0)]))


def in_order(backwards):
    return lambda row, o: ','.join(str(v) for v in sorted(there(row), reverse=backwards))


def list_range(with_last):
    def model(row, options):
        step = options[0]
        return ','.join(str(v) for v in range(row[0], row[1] + (with_last and (1 if step > 0 else -1)), step))
    return model


for kind in 'isq':
    of_list('LIST_EXTRACT', 'list_extract([l], [0])', kind * 3, lambda row, o: item_at(row, o[0]), [[1, 2, 3, 4, 0, -1, -3, -4]])
    of_list('LIST_MIN', 'list_min([l])', kind * 3, lambda row, o: min(there(row), default=None))
    of_list('LIST_MAX', 'list_max([l])', kind * 3, lambda row, o: max(there(row), default=None))
of_list('LIST_VALUE', "list_join([l], ',')", 'sss', lambda row, o: ','.join(there(row)))
of_list('LIST_LENGTH', 'list_length([l])', 'iii', lambda row, o: 3)
of_list('LIST_SUM', 'list_sum([l])', 'iii', lambda row, o: sum(there(row)) if there(row) else None)
of_list('LIST_MEAN', 'list_mean([l])', 'iii', lambda row, o: math.fsum(there(row)) / len(there(row)) if there(row) else None)
of_list('LIST_SLICE', "list_join(list_slice([l], [0], [1]), ',')", 'iii', from_to, [[1, 2, -1, 5], [3, 1, -1, -2]])
of_list('LIST_CONTAINS', 'list_contains([l], [0])', 'iii', lambda row, o: o[0] in there(row), [[1, -7, 55]])
of_list('LIST_POSITION', 'coalesce(list_position([l], [0]), 0)', 'iii', lambda row, o: row.index(o[0]) + 1 if o[0] in there(row) else 0, [[1, -7, 55]])
of_list('LIST_SORT', "list_join(list_sort([l]), ',')", 'iii', in_order(False))
of_list('LIST_REVERSE_SORT', "list_join(list_reverse_sort([l]), ',')", 'iii', in_order(True))
of_list('LIST_REVERSE', "list_join(list_reverse([l]), ',')", 'iii', lambda row, o: ','.join(str(v) for v in there(reversed(row))))
of_list('LIST_DISTINCT', "list_join(list_distinct([l]), ',')", 'iii', lambda row, o: ','.join(str(v) for v in dict.fromkeys(there(row))))
of_list('LIST_JOIN', 'list_join([l], [0])', 'sss', lambda row, o: o[0][1:-1].join(there(row)), [["'-'", "''", "'é, '"]])



def by_second(row, options):
    order = sorted(range(3), key=lambda i: (row[3 + i] is None, -(row[3 + i] or 0) if options[0] == "'d'" else row[3 + i] or 0))
    return ','.join(str(row[i]) for i in order if row[i] is not None)


def of_two(name, form, kinds, model, options=(), written=both):
    written(name, form.replace('[l]', 'list_value({0}, {1}, {2})').replace('[m]', 'list_value({3}, {4}, {5})'), kinds, model, options, nulls=True)


of_two('LIST_ORDER_BY', "list_join(list_order_by([l], [0], [m]), ',')", 'iiiiii', by_second, [["'a'", "'d'"]])
of_two('LIST_CONCAT', "list_join(list_concat([l], [m]), ',')", 'iiiiii', lambda row, o: ','.join(str(v) for v in there(row)))
of_two('LIST_BEHIND', "list_join([l] || [m], ',')", 'iiiiii', lambda row, o: ','.join(str(v) for v in there(row)), written=sql)
of_two('LIST_BEHIND', "list_join(list_behind([l], [m]), ',')", 'iiiiii', lambda row, o: ','.join(str(v) for v in there(row)))
of_two('LIST_INTERSECT', "list_join(list_intersect([l], [m]), ',')", 'iiiiii', lambda row, o: ','.join(str(v) for v in dict.fromkeys(there(row[:3])) if v in there(row[3:])))
of_two('LIST_COMPARE', 'list_compare([l], [m])', 'iiiiii', lambda row, o: (lambda a, b: (a > b) - (a < b))(*([(v is None, v or 0) for v in part] for part in (row[:3], row[3:]))))
of_two('LIST_COMPARE', '[l] [0] [m]', 'iiiiii', lambda row, o: {'=': operator.eq, '<': operator.lt, '>=': operator.ge}[o[0]](*([(v is None, v or 0) for v in part] for part in (row[:3], row[3:]))), [['=', '<', '>=']], written=sql)
of_two('LIST_WHERE', "list_join(list_where([l], [m]), ',')", 'iiibbb', lambda row, o: ','.join(str(v) for v, f in zip(row, row[3:]) if f and v is not None))
of_list('LIST_SELECT', "list_join(list_select([l], list_value([0], [1])), ',')", 'iii', lambda row, o: ','.join(str(row[n - 1]) for n in o if 0 < n < 4 and row[n - 1] is not None), [[1, 3, 0], [2, 3, -1]])
of_list('LIST_PAD', 'list_length(list_pad([l], [0]))', 'iii', lambda row, o: max(3, o[0]), [[0, 2, 4, 7]])
of_list('LIST_PAD', "list_join(list_pad([l], [0]), ',')", 'iii', lambda row, o: ','.join(str(v) for v in there(row)), [[0, 2, 4, 7]])
of_list('LIST_COUNT', 'list_count([l])', 'iii', lambda row, o: len(there(row)))
of_list('LIST_UNIQUE', 'list_unique([l])', 'iii', lambda row, o: len(set(there(row))))
of_list('LIST_MEDIAN', 'list_median([l])', 'ccc', lambda row, o: statistics.median(float(v) for v in there(row)) if there(row) else None)
of_list('LIST_PRODUCT', 'list_product([l])', 'ccc', lambda row, o: math.prod(float(v) for v in there(row)) if there(row) else None)
of_list('LIST_VAR_SAMP', 'list_var_samp([l])', 'ccc', lambda row, o: statistics.variance(float(v) for v in there(row)) if len(there(row)) > 1 else None)
of_list('LIST_VAR_POP', 'list_var_pop([l])', 'ccc', lambda row, o: statistics.pvariance(float(v) for v in there(row)) if there(row) else None)
of_list('LIST_BOOL_AND', 'list_bool_and([l])', 'bbb', lambda row, o: all(there(row)) if there(row) else None)
of_list('LIST_BOOL_OR', 'list_bool_or([l])', 'bbb', lambda row, o: any(there(row)) if there(row) else None)
both('STRING_SPLIT', "list_join(string_split({0}, [0]), '|')", 's', lambda row, o: '|'.join(row[0].split(o[0][1:-1])), [["','", "'X'", "' '"]])
both('STRING_SPLIT', "list_length(string_split({0}, [0]))", 's', lambda row, o: len(row[0].split(o[0][1:-1])), [["','", "'b'"]])
both('REGEXP_EXTRACT_ALL', "list_join(regexp_extract_all({0}, [0]), '|')", 's', lambda row, o: '|'.join(m.group() for m in re.finditer(o[0][1:-1], row[0])), [["'[a-c]+'", "'é'", "'.'"]])
both('REGEXP_SPLIT_TO_ARRAY', "list_join(regexp_split_to_array({0}, [0]), '|')", 's', lambda row, o: '|'.join(re.split(o[0][1:-1], row[0])), [["'[a-c]+'", "'é'", "','"]])
both('RANGE', "list_join(range({0}, {1}, [0]), ',')", 'cc', list_range(False), [[1, 2, -1, -3]])
both('GENERATE_SERIES', "list_join(generate_series({0}, {1}, [0]), ',')", 'cc', list_range(True), [[1, 2, -1, -3]])

# ---- dates ----


def day_of(value):
    return value.date() if isinstance(value, datetime.datetime) else value


PARTS = {'YEAR': lambda v: v.year, 'QUARTER': lambda v: (v.month + 2) // 3, 'MONTH': lambda v: v.month, 'WEEK': lambda v: v.isocalendar()[1], 'DAY': lambda v: v.day,
         'DAYOFYEAR': lambda v: v.timetuple().tm_yday}
TIMES = {'HOUR': lambda v: v.hour, 'MINUTE': lambda v: v.minute, 'SECOND': lambda v: v.second, 'MICROSECOND': lambda v: v.microsecond}
for kind in 'dm':
    for name, part in PARTS.items():
        both(name, name.lower() + '({0})', kind, lambda row, o, f=part: f(row[0]))
    graph('DAYOFWEEK', 'dayofweek({0})', kind, lambda row, o: row[0].weekday())
    sql('DAYOFWEEK', 'dayofweek({0})', kind, lambda row, o: row[0].isoweekday() % 7)
    sql('DAYOFWEEK', 'cast(extract(isodow from {0}) as bigint)', kind, lambda row, o: row[0].isoweekday())
    sql('DAYOFWEEK', 'cast(extract(dow from {0}) as bigint)', kind, lambda row, o: row[0].isoweekday() % 7)
    sql('DAY', 'dayofmonth({0})', kind, lambda row, o: row[0].day, alias='dayofmonth')
for name, part in TIMES.items():
    both(name, name.lower() + '({0})', 'm', lambda row, o, f=part: f(row[0]))


def since_1970(value):
    if not isinstance(value, datetime.datetime):
        return float((value - datetime.date(1970, 1, 1)).days * 86400)
    return (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1) / 1e6


for kind in 'dm':
    both('EPOCH', 'epoch({0})', kind, lambda row, o: since_1970(row[0]))


def formatted(row, options):
    value = row[0]
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
    return moment.strftime(options[0][1:-1].replace('%Y', f'{value.year:04}').replace('%F', f'{value.year:04}-%m-%d'))


for kind in 'dm':
    both('STRFTIME', 'strftime({0}, [0])', kind, formatted, [["'%d.%m.%Y'", "'%F %T'", "'%H:%M:%S.%f'", "'%j %u %w'", "'%B %b %A %a'", "'%I %p %%'", "'%y %D'"]])
for name, word in (('STRPTIME', 'strptime'), ('TRY_STRPTIME', 'try_strptime')):
    for kind in 'd':
        both(name, word + "(strftime({0}, '%d.%m.%Y'), '%d.%m.%Y')", kind, lambda row, o: datetime.datetime(row[0].year, row[0].month, row[0].day))
both('TRY_STRPTIME', "try_strptime({0}, '%Y-%m-%d')", 's', lambda row, o: None)
both('MAKE_DATE', 'make_date({0}, [0], {1})', 'yh', lambda row, o: datetime.date(row[0], o[0], row[1]), [[1, 2, 12]])


def truncated(row, options):
    value, part = row[0], options[0][1:-1]
    day = day_of(value)
    if part in ('hour', 'minute', 'second', 'day'):
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime(day.year, day.month, day.day)
        zero = {'day': dict(hour=0, minute=0, second=0), 'hour': dict(minute=0, second=0), 'minute': dict(second=0), 'second': {}}[part]
        return moment.replace(microsecond=0, **zero)
    if part == 'week':
        if day.toordinal() - day.weekday() < 1:
            raise OverflowError('before year 1')
        day -= datetime.timedelta(day.weekday())
    else:
        day = day.replace(day=1, month={'year': 1, 'quarter': (day.month - 1) // 3 * 3 + 1, 'month': day.month}[part])
    return datetime.datetime(day.year, day.month, day.day)


both('DATE_TRUNC', 'date_trunc([0], {0})', 'd', truncated, [["'year'", "'quarter'", "'month'", "'day'"]])
both('TIMEZONE', 'timezone([0],timezone([0],{0}))', 'm', lambda row, o: row[0], [["'UTC'", "'Etc/GMT+5'", "'Asia/Kolkata'"]])
both('DATE_TRUNC', 'date_trunc([0], {0})', 'm', truncated, [["'year'", "'quarter'", "'month'", "'day'", "'hour'", "'minute'", "'second'"]])


def later(row, options):
    value, op, count, unit = row[0], *options
    count = count if op == '+' else -count
    if unit in ('month', 'year'):
        months = value.year * 12 + value.month - 1 + count * (12 if unit == 'year' else 1)
        year, month = divmod(months, 12)
        if not 1 <= year <= 9999:
            raise OverflowError('beyond the years that Python has')
        return value.replace(year=year, month=month + 1, day=min(value.day, calendar.monthrange(year, month + 1)[1]))
    if unit in ('hour', 'minute', 'second') and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    return value + datetime.timedelta(**{unit + 's': count})


for kind in 'dm':
    both('ADD_INTERVAL', "{0} [0] interval '[1]' [2]", kind, later, [['+', '-'], [0, 1, 3, 14], ['day', 'month', 'year', 'hour', 'minute', 'second']])
