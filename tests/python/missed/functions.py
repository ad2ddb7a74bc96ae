"""Functions of expressions."""
import datetime
import math

import granary.frames as gr

COMPLETE = True

col = gr.col
f = gr.functions
DAY = datetime.date(2024, 2, 29)
TIME = datetime.datetime(2024, 2, 29, 13, 50, 0)
NOON = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)


def one(value, make):
    """A function of one value, as the one value of a frame."""
    return gr.from_dict({'x': [value]}).select(y=make(col('x'))).collect().item()


# topic, method, call, answer
ROWS = [
    ('log(b, x)', 'gr.functions.logarithm', lambda: one(8.0, lambda x: f.logarithm(2.0, x)), 3.0),
    ('cbrt', 'Expr.cbrt', lambda: one(27.0, lambda x: x.cbrt()), 3.0),
    ('degrees, radians', 'Expr.degrees', lambda: one(math.pi, lambda x: x.degrees()), 180.0),
    ('degrees, radians', 'Expr.radians', lambda: one(180.0, lambda x: x.radians()), math.pi),
    ('sinh and its family', 'Expr.sinh', lambda: one(1.0, lambda x: x.sinh()), math.sinh(1)),
    ('sinh and its family', 'Expr.atanh', lambda: one(0.5, lambda x: x.atanh()), math.atanh(0.5)),
    ('log1p, expm1', 'Expr.log1p', lambda: one(1e-9, lambda x: x.log1p()), math.log1p(1e-9)),
    ('log1p, expm1', 'Expr.expm1', lambda: one(1e-9, lambda x: x.expm1()), math.expm1(1e-9)),
    ('integer bit operations', 'Expr.bitand', lambda: one(12, lambda x: x.bitand(10)), 8),
    ('integer bit operations', 'Expr.shift_left', lambda: one(3, lambda x: x.shift_left(2)), 12),
    ('gcd, factorial', 'Expr.gcd', lambda: one(12, lambda x: x.gcd(18)), 6),
    ('gcd, factorial', 'Expr.factorial', lambda: one(5, lambda x: x.factorial()), 120),
    ('date_diff', 'gr.functions.date_diff', lambda: one(DAY, lambda x: f.date_diff('day', x, datetime.date(2024, 3, 2))), 2),
    ('now', 'gr.functions.now', lambda: one(NOON, lambda x: f.now() > x), True),
    ('last_day', 'Expr.dt.last_day', lambda: one(datetime.date(2023, 2, 3), lambda x: x.dt.last_day()), datetime.date(2023, 2, 28)),
    ('time_bucket', 'gr.functions.time_bucket', lambda: one(TIME, lambda x: f.time_bucket(gr.interval(minutes=15), x)), TIME.replace(minute=45)),
    ('make_timestamp', 'gr.functions.make_timestamp', lambda: one(2024, lambda x: f.make_timestamp(x, 2, 29, 13, 50, 0.0)), TIME),
    ('time zone conversion', 'gr.functions.timezone', lambda: one(NOON, lambda x: f.timezone('Europe/Berlin', x)), datetime.datetime(2024, 7, 1, 14)),
    ('dayname', 'Expr.dt.dayname', lambda: one(DAY, lambda x: x.dt.dayname()), 'Thursday'),
    ('regexp_extract_all', 'Expr.str.extract_all', lambda: one('a1b22', lambda x: x.str.extract_all('[0-9]+')), ['1', '22']),
    ('regexp_count', 'Expr.str.count_matches', lambda: one('a1b22', lambda x: x.str.count_matches('[0-9]+')), 2),
    ('string_split', 'Expr.str.string_split', lambda: one('a,b', lambda x: x.str.string_split(',')), ['a', 'b']),
    ('translate', 'Expr.str.translate', lambda: one('abc', lambda x: x.str.translate('ab', 'x')), 'xc'),
    ('ascii, chr', 'Expr.str.ascii', lambda: one('A', lambda x: x.str.ascii()), 65),
    ('ascii, chr', 'gr.functions.chr', lambda: one(65, lambda x: f.chr(x)), 'A'),
    ('levenshtein', 'Expr.str.levenshtein', lambda: one('kitten', lambda x: x.str.levenshtein('sitting')), 3),
    ('md5, sha', 'Expr.str.md5', lambda: one('', lambda x: x.str.md5()), 'd41d8cd98f00b204e9800998ecf8427e'),
    ('md5, sha', 'Expr.str.sha1', lambda: one('', lambda x: x.str.sha1()), 'da39a3ee5e6b4b0d3255bfef95601890afd80709'),
    ('JSON', 'gr.functions.json_extract_string', lambda: one('{"a": {"b": "x"}}', lambda x: f.json_extract_string(x, '$.a.b')), 'x'),
    ('format', 'Expr.format', lambda: one(3.14159, lambda x: x.format('.2f')), '3.14'),
    ('random', 'gr.functions.random', lambda: gr.from_dict({'x': [1, 2]}).select(y=(f.random(3) >= 0) & (f.random(3) < 1)), {'y': [True, True]}),
    ('|| with null', 'gr.concat_str', lambda: gr.from_dict({'x': ['a', None]}).select(y=gr.concat_str(col('x'), '!')), {'y': ['a!', None]}),
    ('|| with null', 'gr.functions.concat_ws', lambda: gr.from_dict({'x': ['a', None]}).select(y=f.concat_ws('-', col('x'), 'b')), {'y': ['a-b', 'b']}),
]
