"""What every function of expressions gives: a model in Python of what graph-format.md, sql.md and PostgreSQL's manual say.

CALLS are those of graphs, SQL_CALLS those of SQL. A call: the id in graph/expr/ops.def, how it is written ({0} {1} are arguments, [0] [1] options), the
kinds of its arguments (expressions.py), the model (arguments, options) -> value. Null gives null unless the model takes it.
"""
import base64
import calendar
import datetime
import decimal
import functools
import hashlib
import json
import math
import operator
import re
import statistics
import unicodedata
import urllib.parse
import uuid

import numpy as np
import pandas

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
def cot(x):
    return 1 / np.tan(x)


def even(x):
    size = np.ceil(abs(x))
    return np.copysign(size + size % 2, x)


MORE_MATH = {'CBRT': ('cbrt', np.cbrt), 'SINH': ('sinh', np.sinh), 'COSH': ('cosh', np.cosh), 'TANH': ('tanh', np.tanh), 'ASINH': ('asinh', np.arcsinh), 'ACOSH': ('acosh', np.arccosh),
             'ATANH': ('atanh', np.arctanh), 'LOG1P': ('log1p', np.log1p), 'EXPM1': ('expm1', np.expm1), 'COT': ('cot', cot), 'DEGREES': ('degrees', np.degrees),
             'RADIANS': ('radians', np.radians)}
for name, (word, function) in MORE_MATH.items():
    for kind in 'fu':
        both(name, word + '({0})', kind, lambda row, o, f=function: float(f(np.float64(row[0]))))
both('EVEN', 'even({0})', 'f', lambda row, o: float(even(np.float64(row[0]))))
both('GAMMA', 'gamma(abs({0}) + 1e0)', 'f', lambda row, o: math.gamma(abs(row[0]) + 1) if abs(row[0]) < 150 else math.inf)
both('LGAMMA', 'lgamma(abs({0}) + 1e0)', 'f', lambda row, o: math.lgamma(abs(row[0]) + 1))
for kinds in ('f f', 'u f', 'i f'):
    graph('LOGARITHM', 'logarithm({0}, {1})', kinds, lambda row, o: float(np.log(np.float64(row[1])) / np.log(np.float64(row[0]))))
    sql('LOGARITHM', 'log({0}, {1})', kinds, lambda row, o: float(np.log(np.float64(row[1])) / np.log(np.float64(row[0]))), alias='log')
    both('FDIV', 'fdiv({0}, {1})', kinds, lambda row, o: float(np.floor(np.float64(row[0]) / np.float64(row[1]))))
    both('FMOD', 'fmod({0}, {1})', kinds, lambda row, o: float(np.float64(row[0]) - np.floor(np.float64(row[0]) / np.float64(row[1])) * np.float64(row[1])))
    both('NEXTAFTER', 'nextafter({0}, {1})', kinds, lambda row, o: float(np.nextafter(np.float64(row[0]), np.float64(row[1]))))
for kind in 'fu':
    both('ISFINITE', 'isfinite({0})', kind, lambda row, o: math.isfinite(row[0]))
both('SIGNBIT', 'signbit({0})', 'f', lambda row, o: math.copysign(1, row[0]) < 0)


def shifted(row, options):
    a, n = row
    if a < 0 or n < 0 or a << n >= 2**63:
        raise ValueError('bits are lost')
    return a << n


for kinds in ('i i', 'w w', 'i w'):
    for name, word, sign, function in (('BIT_AND', 'bitand', '&', lambda a, b: a & b), ('BIT_OR', 'bitor', '|', lambda a, b: a | b), ('BIT_XOR', 'bitxor', '#', lambda a, b: a ^ b)):
        graph(name, word + '({0}, {1})', kinds, lambda row, o, f=function: f(*row))
        sql(name, '({0} ' + sign + ' {1})', kinds, lambda row, o, f=function: f(*row))
sql('BIT_XOR', 'xor({0}, {1})', 'ii', lambda row, o: row[0] ^ row[1], alias='xor')
graph('BIT_NOT', 'bitnot({0})', 'w', lambda row, o: ~row[0])
sql('BIT_NOT', '(~{0})', 'w', lambda row, o: ~row[0])
graph('SHIFT_LEFT', 'shift_left(cast({0} as int64), [0])', 'o', lambda row, o: shifted((row[0], o[0]), o), [[0, 1, 7, 50]])
sql('SHIFT_LEFT', '({0}::bigint << [0])', 'o', lambda row, o: shifted((row[0], o[0]), o), [[0, 1, 7, 50]])
graph('SHIFT_RIGHT', 'shift_right({0}, {1})', 'wc', lambda row, o: row[0] >> row[1] if row[1] >= 0 else 0)
sql('SHIFT_RIGHT', '({0} >> {1})', 'wc', lambda row, o: row[0] >> row[1] if row[1] >= 0 else 0)
both('BIT_COUNT', 'bit_count(coalesce({0}, 0))', 'w', lambda row, o: bin((row[0] or 0) & (2**64 - 1)).count('1'), nulls=True)
for alias in ('gcd', 'greatest_common_divisor'):
    both('GCD', alias + '({0}, {1})', 'ii', lambda row, o: math.gcd(*row), alias=alias)
for alias in ('lcm', 'least_common_multiple'):
    both('LCM', alias + '({0}, {1})', 'ii', lambda row, o: math.lcm(*row), alias=alias)
both('FACTORIAL', 'factorial({0})', 'h', lambda row, o: decimal.Decimal(math.factorial(row[0])))

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
    for kinds in COMPARED + ('b b', 'b i', 'i b'):
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
for kinds in ('i i i', 's s s', 'd d d', 'w w w', 'b b b'):
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


def as_text(value):
    if isinstance(value, datetime.date):
        text = f'{value.year:04}-{value.month:02}-{value.day:02}'
        if isinstance(value, datetime.datetime):
            text += f' {value.hour:02}:{value.minute:02}:{value.second:02}' + (f'.{value.microsecond:06}'.rstrip('0') if value.microsecond else '')
        return text
    return format(value, 'f') if isinstance(value, decimal.Decimal) else str(value)


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
    for kind in 'iqbsmd':
        route('CAST', f'cast({{0}} as {text})', kind, lambda row, o: ('true' if row[0] else 'false') if isinstance(row[0], bool) else as_text(row[0]))
    route('CAST', 'cast({0} as date)', 'm', lambda row, o: row[0].date())
    route('CAST', 'cast({0} as timestamp)', 'd', lambda row, o: datetime.datetime(row[0].year, row[0].month, row[0].day))
    for kind in 'iq':
        route('CAST', 'cast({0} as decimal(2))' if route is graph else 'cast({0} as decimal(20, 2))', kind, lambda row, o: decimal.Decimal(row[0]).quantize(decimal.Decimal('0.01'), decimal.ROUND_HALF_UP))
graph('TRY_CAST', 'try_cast({0} as int64)', 'a', lambda row, o: None if decimal_of(row[0]) is None else nearest(decimal_of(row[0])))
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
def joined(name, form, kinds, model, options=()):
    """[a & b] are texts joined: null when one is."""
    graph(name, re.sub(r'\[(.*?&.*)\]', lambda m: 'concat(' + ', '.join(m.group(1).split(' & ')) + ')', form), kinds, model, options)
    sql(name, re.sub(r'\[(.*?&.*)\]', lambda m: '(' + ' || '.join(m.group(1).split(' & ')) + ')', form), kinds, model, options)


def plain(text):
    return unicodedata.normalize('NFC', ''.join(c for c in unicodedata.normalize('NFD', text) if unicodedata.category(c)[0] != 'M'))


joined('STRIP_ACCENTS', "strip_accents([{0} & '[0]'])", 's', lambda row, o: plain(row[0] + o[0]),
     options=[('', 'Ǻéñ', 'e\u0301\u0308', '가', 'ﬁøß', 'ώΆ', 'й', '\u05e9\u05bc', '\u2126')])
both('CAPITALIZE', 'capitalize({0})', 's', lambda row, o: row[0].capitalize())
both('LENGTH', 'length({0})', 's', lambda row, o: len(row[0]))
for alias in ('char_length', 'character_length'):
    sql('LENGTH', alias + '({0})', 's', lambda row, o: len(row[0]), alias=alias)
both('REVERSE', 'reverse({0})', 's', lambda row, o: row[0][::-1])
both('OCTET_LENGTH', 'octet_length({0})', 's', lambda row, o: len(row[0].encode()))
both('HEX', 'hex({0})', 's', lambda row, o: row[0].encode().hex().upper())
both('BASE64', 'base64({0})', 's', lambda row, o: base64.b64encode(row[0].encode()).decode())
for name, call in (('UNHEX', 'unhex(hex({0}))'), ('FROM_BASE64', 'from_base64(base64({0}))'), ('ENCODE', 'encode({0})'), ('DECODE', 'encode({0})')):
    both(name, f'decode({call})', 's', lambda row, o: row[0])
sql('HEX', 'to_hex({0})', 's', lambda row, o: row[0].encode().hex().upper(), alias='to_hex')
sql('UNHEX', 'decode(from_hex(hex({0})))', 's', lambda row, o: row[0], alias='from_hex')
both('UNBIN', 'decode(unbin(bin({0})))', 's', lambda row, o: row[0])
sql('UNBIN', 'decode(from_binary(bin({0})))', 's', lambda row, o: row[0], alias='from_binary')
sql('BASE64', 'to_base64({0})', 's', lambda row, o: base64.b64encode(row[0].encode()).decode(), alias='to_base64')


def substring(row, options):
    text, start = row[0], row[1] - 1
    if len(row) < 3:
        return text[max(start, 0):]
    if row[2] < 0:
        raise ValueError('a negative length')
    return text[max(start, 0):max(start + row[2], 0)]


graph('SUBSTRING', 'substring({0}, {1})', 'sc', substring)
graph('SUBSTRING', 'substring({0}, {1}, [0])', 'sc', lambda row, o: substring((*row, o[0]), o), [[0, 1, 2, 5]])
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
graph('CONCAT', 'concat({0}, {1}, {2})', 'sss', lambda row, o: ''.join(row))
graph('CONCAT_THERE', 'concat^({0}, {1}, {2})', 'sis', lambda row, o: ''.join(str(v) for v in row if v is not None), nulls=True)
sql('CONCAT_THERE', 'concat({0}, {1}, {2})', 'sis', lambda row, o: ''.join(str(v) for v in row if v is not None), nulls=True, alias='concat')
both('CONCAT_WS', 'concat_ws({0}, {1}, {2})', 'ssi', lambda row, o: None if row[0] is None else row[0].join(str(v) for v in row[1:] if v is not None), nulls=True)
both('CONCAT', '({0} || {1})', 'si', lambda row, o: row[0] + str(row[1]))
both('CONCAT', '({0} || {1})', 'ss', lambda row, o: ''.join(row))


def part_of(row, options):
    text, start, count = row[0], row[1], options[0] if options else None
    start = max(len(text) + start, -1) if start < 0 else start - 1
    end = math.inf if count is None else start + count
    start, end = min(start, end), max(start, end)
    return text[max(start, 0):int(min(max(end, 0), len(text)))]


# As drawn: each a has a mark of its own, which is none more.
MARKED = "replace({0}, 'a', 'a\u0308')"


def marked(model):
    return lambda row, o: model(row, o).replace('a', 'a\u0308')


both('LENGTH_DRAWN', f'length_grapheme({MARKED})', 's', lambda row, o: len(row[0]))
both('LEFT_DRAWN', f'left_grapheme({MARKED}, {{1}})', 'sc', marked(lambda row, o: row[0][:row[1]] if row[1] >= 0 else row[0][:max(0, len(row[0]) + row[1])]))
both('RIGHT_DRAWN', f'right_grapheme({MARKED}, {{1}})', 'sc', marked(lambda row, o: row[0][max(0, len(row[0]) - row[1]):] if row[1] >= 0 else row[0][-row[1]:]))
both('PART_DRAWN', f'substring_grapheme({MARKED}, {{1}}, [0])', 'sc', marked(part_of), [[0, 1, 2, 5, -1, -2]])
graph('PART', 'substring^({0}, {1})', 'sc', part_of)
graph('PART', 'substring^({0}, {1}, [0])', 'sc', part_of, [[0, 1, 2, 5, -1, -2]])
for alias in ('substring', 'substr'):
    sql('PART', alias + '({0}, {1})', 'sc', part_of, alias=alias)
    sql('PART', alias + '({0}, {1}, [0])', 'sc', part_of, [[0, 1, 2, 5, -1, -2]], alias=alias)
sql('PART', 'substring({0} from {1} for [0])', 'sc', part_of, [[0, 1, 2, 5]], alias='substring')
both('OVERLAY', 'overlay({0}, {1}, [0])', 'ss', lambda row, o: row[0][:o[0] - 1] + row[1] + row[0][o[0] - 1 + len(row[1]):], [[1, 2, 9]])
both('OVERLAY', 'overlay({0}, {1}, [0], [1])', 'ss', lambda row, o: row[0][:o[0] - 1] + row[1] + row[0][o[0] - 1 + o[1]:], [[1, 2, 9], [0, 1, 3]])
both('LETTER', 'chr({0})', 'o', lambda row, o: chr(row[0]))
for alias in ('unicode', 'ord'):
    both('UNICODE', alias + '({0})', 's', lambda row, o: ord(row[0][0]) if row[0] else -1, alias=alias)
both('ASCII', 'ascii({0})', 's', lambda row, o: ord(row[0][0]) if row[0] else 0)
for name in ('md5', 'sha1', 'sha256'):
    both(name.upper(), name + '({0})', 's', lambda row, o, f=getattr(hashlib, name): f(row[0].encode()).hexdigest())
    both(name.upper(), name + "(repeat({0}, 30))", 's', lambda row, o, f=getattr(hashlib, name): f(row[0].encode() * 30).hexdigest())


def edits(a, b, exchanged):
    """Of bytes: the least way to make b of a, by search."""
    a, b = a.encode(), b.encode()

    @functools.cache
    def least(i, k):
        if not i or not k:
            return i + k
        ways = [least(i - 1, k) + 1, least(i, k - 1) + 1, least(i - 1, k - 1) + (a[i - 1] != b[k - 1])]
        row, place = a.rfind(b[k - 1], 0, i - 1) + 1, b.rfind(a[i - 1], 0, k - 1) + 1
        if exchanged and row and place:
            ways.append(least(row - 1, place - 1) + (i - row - 1) + 1 + (k - place - 1))
        return min(ways)
    return least(len(a), len(b))


for alias in ('levenshtein', 'editdist3'):
    both('LEVENSHTEIN', alias + '({0}, {1})', 'ss', lambda row, o: edits(*row, False), alias=alias)
both('DAMERAU', 'damerau_levenshtein({0}, {1})', 'ss', lambda row, o: edits(*row, True))
for alias in ('hamming', 'mismatches'):
    both('HAMMING', alias + "(hex({0} || 'a'), hex(left({1}, length({0})) || repeat('b', length({0}) + 1 - length(left({1}, length({0}))))))", 'ss',
         lambda row, o: places_that_differ(row[0] + 'a', row[1][:len(row[0])].ljust(len(row[0]) + 1, 'b')), alias=alias)


def places_that_differ(a, b):
    a, b = a.encode().hex(), b.encode().hex()
    if len(a) != len(b):
        raise ValueError('texts of one length')
    return sum(x != y for x, y in zip(a, b))


def common_letters(a, b):
    a, b = set(a.encode()), set(b.encode())
    return len(a & b) / len(a | b)


both('JACCARD', "jaccard({0} || 'x', {1} || 'yx')", 'ss', lambda row, o: common_letters(row[0] + 'x', row[1] + 'yx'))


def jaro(a, b, winkler):
    a, b = a.encode(), b.encode()
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    taken, matched = set(), []
    for i, c in enumerate(a):
        found = next((k for k in range(max(0, i - reach), min(len(b), i + reach + 1)) if k not in taken and b[k] == c), None)
        if found is not None:
            taken.add(found)
            matched.append(c)
    if not matched:
        return 0.0
    moved = sum(x != b[k] for x, k in zip(matched, sorted(taken))) // 2
    like = (len(matched) / len(a) + len(matched) / len(b) + (len(matched) - moved) / len(matched)) / 3
    common = next((n for n in range(4) if n >= min(len(a), len(b)) or a[n] != b[n]), 4)
    return like + 0.1 * common * (1 - like) if winkler and like > 0.7 else like


both('JARO', 'jaro_similarity({0}, {1})', 'ss', lambda row, o: jaro(*row, False))
both('JARO_WINKLER', 'jaro_winkler_similarity({0}, {1})', 'ss', lambda row, o: jaro(*row, True))
both('BIT_LENGTH', 'bit_length({0})', 's', lambda row, o: 8 * len(row[0].encode()))
sql('OCTET_LENGTH', 'strlen({0})', 's', lambda row, o: len(row[0].encode()), alias='strlen')
both('URL_ENCODE', 'url_encode({0})', 's', lambda row, o: urllib.parse.quote(row[0], safe=''))
both('URL_DECODE', 'url_decode(url_encode({0}))', 's', lambda row, o: row[0])
for alias in ('bin', 'to_binary'):
    both('BIN', alias + '({0})', 's', lambda row, o: ''.join(f'{b:08b}' for b in row[0].encode()), alias=alias)
both('BIN_INTEGER', 'bin({0})', 'i', lambda row, o: f'{row[0] & (2**64 - 1):b}')
both('HEX_INTEGER', 'hex({0})', 'i', lambda row, o: f'{row[0] & (2**64 - 1):X}')
both('TO_BASE', 'to_base({0}, [0], [1])', 'o', lambda row, o: np.base_repr(row[0], o[0]).rjust(o[1], '0'), [[2, 16, 36], [0, 5]])


def parts_of(text):
    return re.split(r'[/\\]', text)


def sized(step, units):
    def model(row, options):
        size, unit, rest = abs(row[0]), 0, 0
        while size >= step and unit < 5:
            size, rest, unit = size // step, size % step, unit + 1
        sign = '-' if row[0] < 0 else ''
        return f'{sign}{size}.{rest * 10 // step} {units[unit - 1]}' if unit else f'{sign}{size} byte{"s" * (size != 1)}'
    return model


both('CHARACTER', 'list_extract({0}, [0])', 's', lambda row, o: row[0][o[0] - 1 if o[0] > 0 else o[0]:][:1] if 0 < abs(o[0]) <= len(row[0]) else '', [[1, 3, 9, 0, -1, -9]])
for first, last in ((1, 2), (2, 30), (3, 2)):
    both('TEXT_SLICE', f'list_slice({{0}}, {first}, {last})', 's', lambda row, o, a=first, z=last: row[0][a - 1:z])
both('TEXT_SLICE', 'list_slice({0}, -2, -1)', 's', lambda row, o: row[0][-2:])
for kind, name, parts, model in (('s', 'FILENAME', ("'a/'", '{0}'), lambda row, o: parts_of(row[0])[-1]), ('s', 'DIRNAME', ('{0}', "'/x'"), lambda row, o: row[0] or '/'),
                                 ('ss', 'DIRPATH', ('{0}', "'/x/'", '{1}'), lambda row, o: row[0] + '/x')):
    graph(f'PARSE_{name}', f'parse_{name.lower()}(concat({", ".join(parts)}))', kind, model)
    sql(f'PARSE_{name}', f'parse_{name.lower()}({" || ".join(parts)})', kind, model)
graph('PARSE_FILESTEM', "parse_filename^(concat({0}, '.c'))", 's', lambda row, o: row[0])
sql('PARSE_FILESTEM', "parse_filename({0} || '.c', true)", 's', lambda row, o: row[0])
both('FORMAT_SIZE', 'format_bytes({0})', 'i', sized(1024, ('KiB', 'MiB', 'GiB', 'TiB', 'PiB')))
sql('FORMAT_SIZE', 'format_bytes({0} * 1000)', 'i', lambda row, o: sized(1024, ('KiB', 'MiB', 'GiB', 'TiB', 'PiB'))([row[0] * 1000], o))
sql('FORMAT_SIZE', 'formatreadablesize({0})', 'i', sized(1024, ('KiB', 'MiB', 'GiB', 'TiB', 'PiB')), alias='formatreadablesize')
both('FORMAT_DECIMAL_SIZE', 'formatreadabledecimalsize({0})', 'i', sized(1000, ('kB', 'MB', 'GB', 'TB', 'PB')))
sql('FORMAT_DECIMAL_SIZE', 'formatreadabledecimalsize({0} * 1001)', 'i', lambda row, o: sized(1000, ('kB', 'MB', 'GB', 'TB', 'PB'))([row[0] * 1001], o))
for spec, kinds, model in (('>8', 's', lambda row, o: f'{row[0]:>8}'), ('^7', 's', lambda row, o: f'{row[0]:^7}'), ('.2', 's', lambda row, o: row[0][:2]), ('05d', 'i', lambda row, o: f'{row[0]:05d}'),
                           ('<6', 'i', lambda row, o: f'{row[0]:<6}'), ('x', 'i', lambda row, o: f'{row[0]:x}'), ('b', 'i', lambda row, o: f'{row[0]:b}'), (',', 'i', lambda row, o: f'{row[0]:,}'),
                           ('.2f', 'u', lambda row, o: f'{row[0]:.2f}'), ('9.3e', 'f', lambda row, o: f'{row[0]:9.3e}'), ('', 'f', lambda row, o: repr(row[0])), (',.1f', 'q', lambda row, o: f'{float(row[0]):,.1f}')):
    graph('FORMATTED', f"format^({{0}}, '{spec}')", kinds, model)
    sql('FORMATTED', "format('[{:" + spec + "}]', {0})", kinds, lambda row, o, m=model: f'[{m(row, o)}]', alias='format')
for spec, kinds, model in (('%8s', 's', lambda row, o: f'{row[0]:>8}'), ('%-5d', 'i', lambda row, o: f'{row[0]:<5}'), ('%07.2f', 'f', lambda row, o: f'{row[0]:07.2f}')):
    sql('FORMATTED', "printf('100%% " + spec + "', {0})", kinds, lambda row, o, m=model: f'100% {m(row, o)}', alias='printf')
both('ERROR', "coalesce('there', error({0}))", 's', lambda row, o: 'there', nulls=True)
both('REGEXP_ESCAPE', 'regexp_matches({0}, regexp_escape({0}))', 's', lambda row, o: True)
for alias in ('lcase', 'lower'):
    sql('LOWER', alias + '({0})', 's', lambda row, o: row[0].lower(), alias=alias)
sql('UPPER', 'ucase({0})', 's', lambda row, o: row[0].upper(), alias='ucase')
for kind, dtype in (('i', 'BIGINT'), ('f', 'DOUBLE'), ('s', 'VARCHAR'), ('d', 'DATE'), ('m', 'TIMESTAMP'), ('b', 'BOOLEAN')):
    both('TYPEOF', 'typeof(coalesce({0}, {0}))' if kind != 'i' else 'typeof({0} + 10000000000)', kind, lambda row, o, t=dtype: t, nulls=True)


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


EXTRACTED = [["'a(.)'", "'([a-c])[a-z]'", "'(X)'"], [0, 1]]
graph('REGEXP_EXTRACT', 'regexp_extract({0}, [0], [1])', 's', extract_match, EXTRACTED)
graph('REGEXP_FOUND', 'regexp_extract^({0}, [0], [1])', 's', lambda row, o: extract_match(row, o) or '', EXTRACTED)
sql('REGEXP_FOUND', 'regexp_extract({0}, [0], [1])', 's', lambda row, o: extract_match(row, o) or '', EXTRACTED, alias='regexp_extract')
sql('REGEXP_MATCHES', 'regexp_full_match({0}, [0])', 's', lambda row, o: re.fullmatch(o[0][1:-1], row[0], re.S) is not None, [REGEXES])
sql('REGEXP_MATCHES', "regexp_matches({0}, [0], 'i')", 's', lambda row, o: re.search(o[0][1:-1], row[0], re.S | re.I) is not None, [REGEXES])
sql('REGEXP_MATCHES', '{0} similar to [0]', 's', lambda row, o: re.fullmatch(o[0][1:-1], row[0], re.S) is not None, [REGEXES])
sql('REGEXP_MATCHES', '{0} !~* [0]', 's', lambda row, o: re.search(o[0][1:-1], row[0], re.S | re.I) is None, [REGEXES])
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
PAIR = 'list_value(coalesce({0}, 0), coalesce({1}, 0), 2), list_value(coalesce({2}, 0), 1, coalesce({3}, 0))'


def pair(row):
    a, b, c, d = (v or 0 for v in row)
    return [float(v) for v in (a, b, 2)], [float(v) for v in (c, 1, d)]


both('LIST_DISTANCE', f'list_distance({PAIR})', 'cccc', lambda row, o: math.dist(*pair(row)), nulls=True)
both('LIST_INNER_PRODUCT', f'list_inner_product({PAIR})', 'cccc', lambda row, o: math.fsum(a * b for a, b in zip(*pair(row))), nulls=True)
both('LIST_COSINE', f'list_cosine_similarity({PAIR})', 'cccc', lambda row, o: math.fsum(a * b for a, b in zip(*pair(row))) / math.hypot(*pair(row)[0]) / math.hypot(*pair(row)[1]), nulls=True)
of_two('LIST_WHERE', "list_join(list_where([l], [m]), ',')", 'iiibbb', lambda row, o: ','.join(str(v) for v, f in zip(row, row[3:]) if f and v is not None))
of_list('LIST_SELECT', "list_join(list_select([l], list_value([0], [1])), ',')", 'iii', lambda row, o: ','.join(str(row[n - 1]) for n in o if 0 < n < 4 and row[n - 1] is not None), [[1, 3, 0], [2, 3, -1]])
of_list('LIST_REPEAT', "list_join(repeat([l], [0]), ',')", 'iii', lambda row, o: ','.join(str(v) for v in there(row * max(o[0], 0))), [[0, 2, 3, -1]])
of_list('LIST_PAD', 'list_length(list_pad([l], [0]))', 'iii', lambda row, o: max(3, o[0]), [[0, 2, 4, 7]])
of_list('LIST_PAD', "list_join(list_pad([l], [0]), ',')", 'iii', lambda row, o: ','.join(str(v) for v in there(row)), [[0, 2, 4, 7]])
of_two('LIST_KEY', 'list_key([l]) [0] list_key([m])', 'iiiiii', lambda row, o: {'=': operator.eq, '<': operator.lt, '>=': operator.ge}[o[0]](*([(v is None, v or 0) for v in part] for part in (row[:3], row[3:]))), [['=', '<', '>=']])
of_two('LIST_KEY', 'list_key([l]) [0] list_key([m])', 'ssssss', lambda row, o: {'=': operator.eq, '<': operator.lt, '>=': operator.ge}[o[0]](*([(v is None, (v or '').encode()) for v in part] for part in (row[:3], row[3:]))), [['=', '<', '>=']])
LIST = 'list_value({0}, {1}, {2})'
BELOW = [[1, -7, 55]]
for written, call in ((graph, lambda body: "'" + body + "'"), (sql, lambda body: '(x, i) -> ' + body)):
    written('LIST_TRANSFORM', f"list_join(list_transform({LIST}, {call('x + i')}), ',')", 'iii', lambda row, o: ','.join(str(v + i + 1) for i, v in enumerate(row) if v is not None), nulls=True)
    written('LIST_FILTER', f"list_join(list_filter({LIST}, {call('x > [0] and i < 3')}), ',')", 'iii', lambda row, o: ','.join(str(v) for v in row[:2] if v is not None and v > o[0]), BELOW, nulls=True)
graph('LIST_TRANSFORM', f"list_join(list_transform({LIST}, 'coalesce(x, a1)', {{3}}), ',')", 'iiii', lambda row, o: ','.join(str(v) for v in (row[3] if v is None else v for v in row[:3]) if v is not None), nulls=True)
sql('LIST_TRANSFORM', f"list_join([coalesce(v, {{3}}) for v in {LIST}], ',')", 'iiii', lambda row, o: ','.join(str(v) for v in (row[3] if v is None else v for v in row[:3]) if v is not None), nulls=True)
graph('LIST_REDUCE', f"list_reduce({LIST}, 'coalesce(y, 0) + coalesce(x, 0)')", 'iii', lambda row, o: sum(there(row)), nulls=True)
sql('LIST_REDUCE', f'list_reduce({LIST}, (a, b) -> coalesce(a, 0) + coalesce(b, 0))', 'iii', lambda row, o: sum(there(row)), nulls=True)
graph('LIST_FOLD', f"list_fold({LIST}, [0], 'y + coalesce(x, 0)')", 'iii', lambda row, o: o[0] + sum(there(row)), BELOW, nulls=True)
sql('LIST_FOLD', f'list_reduce({LIST}, lambda a, b: a + coalesce(b, 0), [0])', 'iii', lambda row, o: o[0] + sum(there(row)), BELOW, nulls=True)
graph('LIST_PARSE', f"list_join(list_parse(cast({LIST} as string)), ',')", 'iii', lambda row, o: ','.join(str(v) for v in there(row)), nulls=True)
graph('TRY_LIST_PARSE', f"list_sum(try_cast(cast({LIST} as string) as list(int64)))", 'iii', lambda row, o: sum(there(row)) if there(row) else None, nulls=True)
for kind in 'isqcb':
    of_list('LIST_FROM_KEY', 'list_compare(list_from_key(list_key([l]), [l]), [l])', kind * 3, lambda row, o: 0)
    of_list('LIST_BYTES', 'list_compare(list_from_key(list_bytes([l]), [l]), [l])', kind * 3, lambda row, o: 0)
of_list('LIST_COUNT', 'list_count([l])', 'iii', lambda row, o: len(there(row)))
of_list('LIST_UNIQUE', 'list_unique([l])', 'iii', lambda row, o: len(set(there(row))))
of_list('LIST_MAD', 'list_mad([l])', 'ccc', lambda row, o: (lambda v: statistics.median(abs(x - statistics.median(v)) for x in v))([float(v) for v in there(row)]) if there(row) else None)
of_list('LIST_MEDIAN', 'list_median([l])', 'ccc', lambda row, o: statistics.median(float(v) for v in there(row)) if there(row) else None)


def bias_free(values, least):
    """pandas' skew() and kurt(), of so many values at least."""
    series = pandas.Series(values, dtype='float64')
    return None if len(values) < least else float(series.skew() if least == 3 else series.kurt())


def by_frequency(values):
    return ','.join(str(v) for v in sorted(dict.fromkeys(values), key=lambda v: -values.count(v)))


def most_frequent(values):
    return max(values, key=lambda v: (values.count(v), -values.index(v))) if values else None


def entropy(values):
    return -sum(values.count(v) / len(values) * math.log2(values.count(v) / len(values)) for v in set(values)) if values else 0.0


of_list('LIST_ENTROPY', 'list_entropy([l])', 'iii', lambda row, o: entropy(there(row)))
of_list('LIST_ENTROPY', 'list_entropy(list_value({0}, {1}, {0}, {2}))', 'sss', lambda row, o: entropy(there([*row, row[0]])))
of_list('LIST_MODE', 'list_mode(list_value({0}, {1}, {2}, {1}))', 'iii', lambda row, o: most_frequent(there([*row, row[1]])))
of_list('LIST_MODE', 'list_mode(list_value({0}, {1}, {2}, {2}))', 'sss', lambda row, o: most_frequent(there([*row, row[2]])))
of_list('LIST_BY_FREQUENCY', "list_join(list_by_frequency(list_value({0}, {1}, {2}, {1})), ',')", 'iii', lambda row, o: by_frequency(there([*row, row[1]])))
of_list('LIST_BY_FREQUENCY', "list_join(list_by_frequency(list_value({0}, {1}, {2}, {0}, {2})), ',')", 'sss', lambda row, o: by_frequency(there([*row, row[0], row[2]])))
for name, function in (('LIST_BIT_AND', operator.and_), ('LIST_BIT_OR', operator.or_), ('LIST_BIT_XOR', operator.xor)):
    of_list(name, f'{name.lower()}([l])', 'iii', lambda row, o, function=function: functools.reduce(function, there(row)) if there(row) else None)
of_list('LIST_SKEWNESS', 'list_skewness(list_value({0}, {1}, {2}, [0]))', 'ccc', lambda row, o: bias_free(there([*row, o[0]]), 3), [[0, 4, 9]])
of_list('LIST_KURTOSIS', 'list_kurtosis(list_value({0}, {1}, {2}, [0], [1]))', 'ccc', lambda row, o: bias_free(there([*row, *o]), 4), [[0, 4, 9], [1, 2]])
of_list('LIST_RESIZE', "list_join(list_resize([l], [0], [1]), ',')", 'iii', lambda row, o: ','.join(str(v) for v in (list(row) + [o[1]] * 9)[:o[0]] if v is not None), [[0, 1, 3, 5], [7, -1]])
of_list('LIST_RESIZE', 'list_length(list_resize(list_value({0}, {1}), [0], {2}))', 'sss', lambda row, o: o[0], [[0, 1, 3, 5]])
of_list('LIST_PRODUCT', 'list_product([l])', 'ccc', lambda row, o: math.prod(float(v) for v in there(row)) if there(row) else None)
of_list('LIST_VAR_SAMP', 'list_var_samp([l])', 'ccc', lambda row, o: statistics.variance(float(v) for v in there(row)) if len(there(row)) > 1 else None)
of_list('LIST_VAR_POP', 'list_var_pop([l])', 'ccc', lambda row, o: statistics.pvariance(float(v) for v in there(row)) if there(row) else None)
of_list('LIST_BOOL_AND', 'list_bool_and([l])', 'bbb', lambda row, o: all(there(row)) if there(row) else None)
of_list('LIST_BOOL_OR', 'list_bool_or([l])', 'bbb', lambda row, o: any(there(row)) if there(row) else None)
both('STRING_SPLIT', "list_join(string_split({0}, [0]), '|')", 's', lambda row, o: '|'.join(row[0].split(o[0][1:-1])), [["','", "'X'", "' '"]])
both('STRING_SPLIT', "list_length(string_split({0}, [0]))", 's', lambda row, o: len(row[0].split(o[0][1:-1])), [["','", "'b'"]])
both('PARSE_PATH', "list_join(parse_path(replace({0}, ',', '/'), 'forward_slash'), '|')", 's', lambda row, o: '|'.join(p for p in row[0].split(',') if p))
joined('PARSE_PATH', "list_join(parse_path(['/' & {0} & '/[0]']), '|')", 's', lambda row, o: '|'.join(['/'] + [p for p in re.split('[/\\\\]', row[0] + '/' + o[0]) if p]), [['a', 'b/c']])
both('BAR', 'bar({0}, 0, [0], [1])', 'f', lambda row, o: bar(row[0], *o), [[10, 100.5], [1, 8, 10]])
joined('READ_SIZE', "parse_formatted_bytes([cast({0} as string) & ' [0]'])", 'o', lambda row, o: row[0] * {'b': 1, 'kB': 1000, 'MiB': 1 << 20, 'tb': 10**12}[o[0]], [['b', 'kB', 'MiB', 'tb']])
both('REGEXP_EXTRACT_ALL', "list_join(regexp_extract_all({0}, [0]), '|')", 's', lambda row, o: '|'.join(m.group() for m in re.finditer(o[0][1:-1], row[0])), [["'[a-c]+'", "'é'", "'.'"]])
both('REGEXP_SPLIT_TO_ARRAY', "list_join(regexp_split_to_array({0}, [0]), '|')", 's', lambda row, o: '|'.join(re.split(o[0][1:-1], row[0])), [["'[a-c]+'", "'é'", "','"]])

def bar(x, most, width):
    eighths = int(width * 8 if x >= most else width * x / most * 8 if x > 0 else 0)
    text = '█' * (eighths // 8) + ('', '▏', '▎', '▍', '▌', '▋', '▊', '▉')[eighths % 8]
    return text + ' ' * (width - len(text))


def random_bits(seed, place):
    def mix(z):
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
        return z ^ z >> 31
    return mix((mix((seed + 0x9e3779b97f4a7c15) % 2**64) + (place + 1) * 0x9e3779b97f4a7c15) % 2**64)


def random_uuid(row, options):
    high, low = (random_bits(row[0] % 2**64, 2 * row[1] + i) for i in (0, 1))
    return str(uuid.UUID(int=high << 64 | low, version=4))


both('RANDOM_OF', 'random_of({0}, {1})', 'iy', lambda row, o: (random_bits(row[0] % 2**64, row[1]) >> 11) * 2.0**-53, tolerance=0)
both('UUID_OF', 'uuid_of({0}, {1})', 'iy', random_uuid)


graph('TRY', 'or_null(cast({0} as int64))', 'a', lambda row, o: tried(row[0]))
sql('TRY', 'try(cast({0} as int64))', 'a', lambda row, o: tried(row[0]))
graph('TRY', 'or_null({0} + [0])', 'w', lambda row, o: row[0] + o[0] if -2**63 <= row[0] + o[0] < 2**63 else None, [[0, 9, -9]])
sql('TRY', 'try({0} + [0])', 'w', lambda row, o: row[0] + o[0] if -2**63 <= row[0] + o[0] < 2**63 else None, [[0, 9, -9]])
graph('TRY', 'or_null({0})', 's', lambda row, o: row[0])
sql('TRY', 'try({0})', 's', lambda row, o: row[0])
both('EQUI_WIDTH_BINS', "list_join(equi_width_bins({0}, {0} + [0], [1], false), ',')", 'y', lambda row, o: ','.join(map(str, bins(row[0], *o))), [[10, 100, 7], [1, 2, 3, 5]])
both('EQUI_WIDTH_BINS', 'list_length(equi_width_bins(0, {0}, [0], true))', 'y', lambda row, o: nice_bins(row[0], o[0]), [[2, 5]])


def tried(text):
    """A text as an integer, as a cast reads it."""
    try:
        return int(decimal.Decimal(text.strip()).to_integral_value(decimal.ROUND_HALF_UP))
    except decimal.InvalidOperation:
        return None


def bins(least, span, count):
    ends, width = [], span * 1000 // count
    for at in range((least + span) * 1000, least * 1000, -width):
        if len(ends) == count:
            break
        if not ends or ends[-1] != at // 1000:
            ends.append(at // 1000)
    return ends[::-1]


def nice_bins(most, count):
    """How many there are: of a width that is 1, 2 or 5 times a power of ten, near the even one."""
    width = most * 1000 // count
    power = 10 ** (len(str(width - 1)) - 1)
    units = [power * 10 if power * 3 <= width else power * 2, power * 5 if power * 2 <= width else power]
    width = min(((width + u // 2) // u * u for u in units[::-1]), key=lambda v: abs(v - width))
    return len({at // 1000 for at in range(-(-most * 1000 // width) * width, 0, -width)})


def as_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'))


both('TO_JSON', 'to_json({0})', 's', lambda row, o: as_json(row[0]))
both('TO_JSON', 'to_json({0})', 'i', lambda row, o: as_json(row[0]))
both('TO_JSON', 'to_json({0})', 'b', lambda row, o: as_json(row[0]))
both('TO_JSON', 'to_json({0})', 'd', lambda row, o: as_json(row[0].isoformat()))
both('TO_JSON', 'to_json({0})', 'q', lambda row, o: as_json(float(row[0])) if abs(row[0]) < 10**9 else '%s.%s' % tuple(str(row[0]).rstrip('0').split('.')) if str(row[0]).rstrip('0')[-1] != '.' else str(row[0]).rstrip('0') + '0')
of_list('TO_JSON', 'to_json([l])', 'sss', lambda row, o: as_json(list(row)))
of_list('TO_JSON', 'to_json([l])', 'iii', lambda row, o: as_json(list(row)))


# ---- JSON: a text in a document. Expected are Python's json, and DuckDB's forms ----


def document(row):
    return {'k': [row[0].replace('\t', '.'), 7, {'x': -2.5}]}


def reached(row, path):
    """What a path of JSON_PATHS leads to, in a list; [] when it is not there."""
    steps = {"'$'": [], "'$.k[0]'": ['k', 0], "'/k/1'": ['k', 1], "'k'": ['k'], "'$.k[-1].x'": ['k', -1, 'x'], "'$.\"k\"[#-3]'": ['k', -3], "'$.q'": ['q']}[path]
    value = document(row)
    for step in steps:
        if step == 'q':
            return []
        value = value[step]
    return [value]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'))


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


JSON_PATHS = ["'$'", "'$.k[0]'", "'/k/1'", "'k'", "'$.k[-1].x'", "'$.\"k\"[#-3]'", "'$.q'"]
JSON_DOCUMENT = "replace('{\"k\" : [ \"@\", 7, {\"x\":-2.50}]}', '@', replace({0}, chr(9), '.'))"


def json_call(name, function, model):
    both(name, function + '(' + JSON_DOCUMENT + ', [0])', 's', lambda row, o: next(map(model, reached(row, o[0])), None), [JSON_PATHS])


both('JSON_VALID', 'json_valid({0})', 'a', lambda row, o: is_json(row[0]))
both('JSON_VALID', "json_valid(replace([0], '@', {0}))", 's', lambda row, o: is_json(o[0][1:-1].replace('@', row[0])), [["'\"@\"'", "'[\"@\"]'", "'@'", "'{\"@\":0}'", "'[\"@]'"]])
both('JSON', 'json(' + JSON_DOCUMENT + ')', 's', lambda row, o: compact(document(row)))
json_call('JSON_EXTRACT', 'json_extract', compact)
json_call('JSON_EXTRACT_STRING', 'json_extract_string', lambda v: v if isinstance(v, str) else compact(v))
json_call('JSON_VALUE', 'json_value', lambda v: None if isinstance(v, (list, dict)) else compact(v))
json_call('JSON_TYPE', 'json_type', lambda v: {str: 'VARCHAR', int: 'UBIGINT', float: 'DOUBLE', list: 'ARRAY', dict: 'OBJECT'}[type(v)])
json_call('JSON_ARRAY_LENGTH', 'json_array_length', lambda v: len(v) if isinstance(v, list) else 0)
both('JSON_EXISTS', 'json_exists(' + JSON_DOCUMENT + ', [0])', 's', lambda row, o: bool(reached(row, o[0])), [JSON_PATHS])
both('JSON_KEYS', "list_join(json_keys(replace('{\"@\":1,\"k\":2}', '@', replace({0}, chr(9), '.'))), '|')", 's', lambda row, o: row[0].replace('\t', '.') + '|k')
JSON_ALL = ["'$.*'", "'$.k[*]'", "'$..x'", "'$.k.*'", "'$..[1]'"]


def all_reached(row, path):
    items = document(row)['k']
    return {"'$.*'": [items], "'$.k[*]'": items, "'$..x'": [-2.5], "'$.k.*'": [], "'$..[1]'": [7]}[path]


def structure(value):
    """As json_structure has it, of what document() can be."""
    if isinstance(value, (list, dict)):
        return compact(['JSON']) if isinstance(value, list) else '{"k":["JSON"]}'
    return '"%s"' % {str: 'VARCHAR', int: 'UBIGINT', float: 'DOUBLE'}[type(value)]


def holds(value, part):
    """json_contains"""
    def fits(a, b):
        if isinstance(a, dict) and isinstance(b, dict):
            return all(k in a and fits(a[k], v) for k, v in b.items())
        if isinstance(a, list) and isinstance(b, list):
            return all(any(fits(x, y) for x in a) for y in b)
        return type(a) == type(b) and a == b
    return fits(value, part) or any(holds(x, part) for x in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else []))


def patched(value, patch):
    """RFC 7396, with members that are patched behind the others."""
    if not isinstance(patch, dict):
        return patch
    value = value if isinstance(value, dict) else {}
    return {**{k: v for k, v in value.items() if k not in patch}, **{k: patched(value.get(k), v) for k, v in patch.items() if v is not None}}


both('JSON_EXTRACT_ALL', "list_join(json_extract_all(" + JSON_DOCUMENT + ", [0]), '|')", 's', lambda row, o: '|'.join(map(compact, all_reached(row, o[0]))), [JSON_ALL])
both('JSON_EACH', "list_join(json_each(" + JSON_DOCUMENT + ", [0], 'value'), '|')", 's', lambda row, o: '|'.join(map(compact, document(row)['k'])), [["'$.k'", "'k'"]])
both('JSON_EACH', "list_join(json_each(" + JSON_DOCUMENT + ", '$.k', [0]), '|')", 's', lambda row, o: {"'key'": '0|1|2', "'type'": 'VARCHAR|UBIGINT|OBJECT', "'fullkey'": '$.k[0]|$.k[1]|$.k[2]', "'path'": '$.k|$.k|$.k', "'id'": '3|4|5'}[o[0]], [["'key'", "'type'", "'fullkey'", "'path'", "'id'"]])
both('JSON_TREE', "list_join(json_tree(" + JSON_DOCUMENT + ", '$', [0]), '|')", 's', lambda row, o: {"'key'": 'k|0|1|2|x', "'atom'": '%s|7|-2.5' % compact(row[0].replace('\t', '.')), "'fullkey'": '$|$.k|$.k[0]|$.k[1]|$.k[2]|$.k[2].x', "'parent'": '0|2|2|2|5'}[o[0]], [["'key'", "'atom'", "'fullkey'", "'parent'"]])
both('JSON_CONTAINS', "json_contains(" + JSON_DOCUMENT + ", [0])", 's', lambda row, o: holds(document(row), json.loads(o[0][1:-1])), [["'7'", "'7.0'", "'[7]'", "'{\"k\":[]}'", "'{\"x\":-2.5}'", "'[{\"x\":-2.50},7]'", "'\"a\"'", "'{\"x\":1}'"]])
graph('JSON_MERGE_PATCH', "json_merge_patch(" + JSON_DOCUMENT + ", [0])", 's', lambda row, o: compact(patched(document(row), json.loads(o[0][1:-1]))), [["'{\"a\" : 1}'", "'{\"k\":null}'", "'{\"k\":{\"a\":null,\"b\":2}}'", "'[1, null]'", "'{}'"]])
sql('JSON_MERGE_PATCH', "json_merge_patch(" + JSON_DOCUMENT + ", [0])", 's', lambda row, o: compact(json.loads(o[0][1:-1]) if row[0] is None else patched(document(row), json.loads(o[0][1:-1]))), [["'{\"a\" : 1}'", "'{\"k\":null}'", "'{\"k\":{\"a\":null,\"b\":2}}'", "'[1, null]'", "'{}'"]], nulls=True)
both('JSON_PRETTY', "json_pretty(" + JSON_DOCUMENT + ")", 's', lambda row, o: json.dumps(document(row), ensure_ascii=False, indent=4))
both('JSON_STRUCTURE', "json_structure(json_extract(" + JSON_DOCUMENT + ", [0]))", 's', lambda row, o: next(map(structure, reached(row, o[0])), None), [JSON_PATHS[:5]])
for alias, name, model in (('json_extract_path', 'JSON_EXTRACT', compact), ('json_extract_path_text', 'JSON_EXTRACT_STRING', lambda v: v if isinstance(v, str) else compact(v))):
    sql(name, alias + '(' + JSON_DOCUMENT + ', [0])', 's', lambda row, o, model=model: next(map(model, reached(row, o[0])), None), [JSON_PATHS], alias=alias)
sql('JSON_EXTRACT_STRING', JSON_DOCUMENT + " -> 'k' ->> 0", 's', lambda row, o: row[0].replace('\t', '.'))
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
    (graph if name == 'MICROSECOND' else both)(name, name.lower() + '({0})', 'm', lambda row, o, f=part: f(row[0]))


def of_minute(value):
    return value.second * 1000000 + value.microsecond if isinstance(value, datetime.datetime) else 0


def signed(value, size):
    return (value - 1) // size + 1


for kind in 'dm':
    sql('WEEK', 'weekofyear({0})', kind, lambda row, o: row[0].isocalendar()[1], alias='weekofyear')
    both('DECADE', 'decade({0})', kind, lambda row, o: row[0].year // 10)
    both('CENTURY', 'century({0})', kind, lambda row, o: signed(row[0].year, 100))
    both('MILLENNIUM', 'millennium({0})', kind, lambda row, o: signed(row[0].year, 1000))
    both('ERA', 'era({0})', kind, lambda row, o: 1)
    both('ISOYEAR', 'isoyear({0})', kind, lambda row, o: row[0].isocalendar()[0])
    both('YEARWEEK', 'yearweek({0})', kind, lambda row, o: row[0].isocalendar()[0] * 100 + row[0].isocalendar()[1])
    both('JULIAN', 'julian({0})', kind, lambda row, o: day_of(row[0]).toordinal() + 1721425 + (row[0] - datetime.datetime.combine(row[0].date(), datetime.time())) / datetime.timedelta(1)
         if isinstance(row[0], datetime.datetime) else float(row[0].toordinal() + 1721425))
    both('LAST_DAY', 'last_day({0})', kind, lambda row, o: day_of(row[0]).replace(day=calendar.monthrange(row[0].year, row[0].month)[1]))
    both('DAYNAME', 'dayname({0})', kind, lambda row, o: calendar.day_name[row[0].weekday()])
    both('MONTHNAME', 'monthname({0})', kind, lambda row, o: calendar.month_name[row[0].month])
    for name, alias, size in (('MILLISECONDS', 'millisecond', 1000), ('MICROSECONDS', 'microsecond', 1)):
        both(name, name.lower() + '({0})', kind, lambda row, o, n=size: of_minute(row[0]) // n)
        sql(name, alias + '({0})', kind, lambda row, o, n=size: of_minute(row[0]) // n, alias=alias)
    both('NANOSECONDS', 'nanoseconds({0})', kind, lambda row, o: of_minute(row[0]) * 1000)
    sql('NANOSECONDS', 'nanosecond({0})', kind, lambda row, o: of_minute(row[0]) * 1000, alias='nanosecond')
    both('EPOCH_MS', 'epoch_ms({0})', kind, lambda row, o: cut_off(us_since_1970(row[0]), 1000))
    both('EPOCH_US', 'epoch_us({0})', kind, lambda row, o: us_since_1970(row[0]))
    both('EPOCH_NS', "epoch_ns(case when year({0}) between 1700 and 2200 then {0} end)", kind, lambda row, o: us_since_1970(row[0]) * 1000 if 1700 <= row[0].year <= 2200 else None)
both('EPOCH_MS', 'epoch_ms({0})', 'i', lambda row, o: datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=row[0]))


def us_since_1970(value):
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
    return (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


def cut_off(a, b):
    return abs(a) // b * (1 if a >= 0 else -1)


UNIT_US = {'day': 86400 * 10**6, 'hour': 3600 * 10**6, 'minute': 60 * 10**6, 'second': 10**6, 'millisecond': 1000, 'microsecond': 1}
UNIT_MONTHS = {'month': 1, 'quarter': 3, 'year': 12, 'decade': 120}


def borders(row, options):
    unit, (a, b) = options[0][1:-1], row
    if unit in UNIT_MONTHS:
        return (b.year * 12 + b.month - 1) // UNIT_MONTHS[unit] - (a.year * 12 + a.month - 1) // UNIT_MONTHS[unit]
    if unit == 'week':
        return cut_off((day_of(b) - day_of(a)).days, 7)
    return us_since_1970(b) // UNIT_US[unit] - us_since_1970(a) // UNIT_US[unit]


def whole(row, options):
    unit, (a, b) = options[0][1:-1], row
    if unit not in UNIT_MONTHS:
        return cut_off(us_since_1970(b) - us_since_1970(a), UNIT_US.get(unit) or 7 * UNIT_US['day'])
    if us_since_1970(a) > us_since_1970(b):
        return -whole((b, a), options)
    last = b.day == calendar.monthrange(b.year, b.month)[1]
    first = min(a.day, b.day) if last else a.day
    clock = lambda v: us_since_1970(v) % UNIT_US['day']
    months = (b.year - a.year) * 12 + b.month - a.month - (b.day < first or b.day == first and clock(b) < clock(a))
    return months // UNIT_MONTHS[unit]


UNITS = ["'" + u + "'" for u in ('day', 'hour', 'minute', 'second', 'month', 'quarter', 'year', 'decade', 'week')]
for kinds in ('dd', 'mm', 'dm'):
    for name, aliases, model in (('DATE_DIFF', ('date_diff', 'datediff'), borders), ('DATE_SUB', ('date_sub', 'datesub'), whole)):
        for alias in aliases:
            both(name, alias + '([0], {0}, {1})', kinds, model, [UNITS], alias=alias)


def bucket(row, options):
    count, unit, value = options[0], options[1], row[0]
    if unit == 'month':
        months = value.year * 12 + value.month - 1
        months -= (months - 24000) % count
        if months < 12:
            raise OverflowError('before year 1')
        return datetime.date(months // 12, months % 12 + 1, 1)
    width, origin = count * UNIT_US[unit], us_since_1970(datetime.date(2000, 1, 3))
    us = us_since_1970(value)
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=us - (us - origin) % width)


def late(row):
    return us_since_1970(row[0]) >= us_since_1970(datetime.date(2000, 1, 1))


NAMED = "case when {0} >= date '2000-01-01' then '[0]' else '[1]' end"
for kind in 'dm':
    both('DATE_PART', f'date_part({NAMED}, {{0}})', kind, lambda row, o: getattr(row[0], o[0]) if late(row) else row[0].isoweekday() % (8 if o[1] == 'isodow' else 7),
         [['year', 'month', 'day'], ['isodow', 'DOW', 'dayofweek']])
    both('DATE_TRUNC', f'date_trunc({NAMED}, {{0}})', kind, lambda row, o: truncated(row, ["'year'" if late(row) else "'month'"]), [['year', 'YEARS'], ['month', 'Mon']])
graph('MOMENT', 'moment({0})', 'd', lambda row, o: datetime.datetime(row[0].year, row[0].month, row[0].day))
graph('MOMENT', 'moment({0})', 'm', lambda row, o: row[0])
both('TIME_BUCKET', "time_bucket(interval '[0]' [1], {0})", 'd', bucket, [[1, 3, 7], ['day', 'month']])
both('TIME_BUCKET', "time_bucket(interval '[0]' [1], {0})", 'm', bucket, [[1, 5, 15], ['day', 'month', 'hour', 'minute']])
both('MAKE_TIME', 'hour(make_time({0} % 24, [0], [1]))', 'h', lambda row, o: row[0] % 24, [[0, 59], ['0e0', '59.5e0']])
both('MAKE_TIMESTAMP', 'make_timestamp({0}, [0], {1}, [1], 5, 7.25e0)', 'yh', lambda row, o: datetime.datetime(row[0], o[0], row[1], o[1], 5, 7, 250000), [[1, 2, 12], [0, 23]])


def since_1970(value):
    if not isinstance(value, datetime.datetime):
        return float((value - datetime.date(1970, 1, 1)).days * 86400)
    return (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1) / 1e6


for kind in 'dm':
    both('EPOCH', 'epoch({0})', kind, lambda row, o: since_1970(row[0]))


def formatted(row, options):
    value = row[0]
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
    return moment.strftime(options[0][1:-1].replace('%Y', f'{value.year:04}').replace('%F', f'{value.year:04}-%m-%d').replace('%G', f'{value.isocalendar()[0]:04}'))


for kind in 'dm':
    both('STRFTIME', 'strftime({0}, [0])', kind, formatted, [["'%d.%m.%Y'", "'%F %T'", "'%H:%M:%S.%f'", "'%j %u %w'", "'%B %b %A %a'", "'%I %p %%'", "'%y %D'", "'%U %W %V %G'", "'%-d %-m %-H %-M %-S %-j'"]])
for name, word in (('STRPTIME', 'strptime'), ('TRY_STRPTIME', 'try_strptime')):
    for kind in 'd':
        both(name, word + "(strftime({0}, '%d.%m.%Y'), '%d.%m.%Y')", kind, lambda row, o: datetime.datetime(row[0].year, row[0].month, row[0].day))
    both(name, word + "(strftime({0}, '[0]'), '[0]')", 'd', lambda row, o: datetime.datetime(row[0].year, row[0].month, row[0].day),
         [['%G-%V-%u', '%Y %j', '%Y/%U/%w', '%Y %W %u', '%d  %h %Y %V', '%w%W%Y']])
both('TRY_STRPTIME', "try_strptime({0}, '%Y-%m-%d')", 's', lambda row, o: None)
both('TRY_STRPTIME', "try_strptime('[0] 19', '%Y %V') is null", 's', lambda row, o: True, [[2021, 2022]], nulls=True)
both('MAKE_DATE', 'make_date({0}, [0], {1})', 'yh', lambda row, o: datetime.date(row[0], o[0], row[1]), [[1, 2, 12]])


def truncated(row, options):
    value, part = row[0], options[0][1:-1]
    day = day_of(value)
    if part in ('decade', 'century', 'millennium', 'isoyear'):
        size = {'decade': 10, 'century': 100, 'millennium': 1000}.get(part)
        year = day.isocalendar()[0] if size is None else day.year // size * size
        if year < 1 or size is None and year < 2:
            raise OverflowError('before year 1')
        day = datetime.date(year, 1, 1) if size else datetime.date.fromisocalendar(year, 1, 1)
        return datetime.datetime(day.year, day.month, day.day)
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


both('DATE_TRUNC', 'date_trunc([0], {0})', 'd', truncated, [["'year'", "'quarter'", "'month'", "'day'", "'decade'", "'century'", "'millennium'", "'isoyear'"]])
both('TZ_LOCALIZE', "timezone('UTC',tz_localize([0],{0}))", 'm', lambda row, o: row[0] + datetime.timedelta(hours={"'UTC'": 0, "'Etc/GMT+5'": 5}[o[0]]), [["'UTC'", "'Etc/GMT+5'"]])
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
    both('ADD_MONTHS', 'add_months({0}, [0])', kind, lambda row, o: later(row, ['+', o[0], 'month']), [[0, 1, -1, 13, -25]])
    both('ADD_INTERVAL', "{0} [0] interval '[1]' [2]", kind, later, [['+', '-'], [0, 1, 3, 14], ['day', 'month', 'year', 'hour', 'minute', 'second']])
