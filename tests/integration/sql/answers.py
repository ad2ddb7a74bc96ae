#!/usr/bin/python3
"""Statements with the answers other engines agree on, where semantics.py has no engine to ask.

    answers.py BIN_DIRECTORY

Each is a statement in a line, then its rows as CSV without the heading, or `error: ` and what the message must say.
Rows are compared in order.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

binaries = pathlib.Path(sys.argv[1]).resolve()

# Loaded: what is stored has zones, which filters look at.
TABLES = {
    'xy': 'i,x,y\n1,0.0,nan\n2,-0.0,0.0\n3,,nan\n4,nan,nan\n5,nan,1\n7,7.0,8\n',
    'whole': 'i,x\n1,1.5\n2,2.5\n',
    'f': 'i,x\n1,0.0\n2,-0.0\n3,\n4,nan\n5,nan\n7,7.0\n',
    'big': 'i,d,u\n9007199254740993,12345678901234567.89,18446744073709551615\n9007199254740995,0.10,9223372036854775808\n',
}
DTYPES = {'big': ['d=decimal(2)', 'u=uint64']}

ANSWERS = r"""
select i, x = y, x <> y, x < y, x <= y, x > y, x >= y, x is distinct from y, x is not distinct from y from xy order by i
1,false,true,true,true,false,false,true,false
2,true,false,false,true,false,true,false,true
3,,,,,,,true,false
4,true,false,false,true,false,true,false,true
5,false,true,false,false,true,true,true,false
7,false,true,true,true,false,false,true,false

select (select i from whole)
error: a subquery that stands for a value gave 2 rows: aggregate it, or write LIMIT 1

select i, (select w.i from whole w where w.x > f.x) from f where i in (1, 7) order by i
error: a subquery that stands for a value gave 2 rows

select i, (select w.i from whole w where w.x < f.x and w.i = 2) from f order by i
1,
2,
3,
4,2
5,2
7,2

select 1_000, 1_0.5_0, 1_000e1_0, 0x1F, 0b11, 0o17, 0XfF_fF, -0x1f, '1_0 0x1F', c_1 /* 0x 1_0 /* */ */ from (select 1 c_1) -- 0x
1000,10.50,10000000000000.0,31,3,15,65535,-31,1_0 0x1F,1

select E'\'1_0', $$1_0 '$$, $a$1_0 0x1$$ $a$, 1_0::text || 1_2
'1_0,1_0 ',1_0 0x1$$ ,1012

select 0xFFFFFFFFFFFFFFFFFF
error: column 8: '0xFFFFFFFFFFFFFFFFFF' is too large for a number of this form

select 1 + 0x1Fg
error: column 12: trailing junk after numeric literal

select 1__0
error: column 8: trailing junk after numeric literal

select 'a'.upper(), [1, 2].list_sum(), (-1).abs(), lower('A').upper(), ('a').upper().lower(), 'x'.concat('y', 'z').upper()
A,3,1,A,a,XYZ

select [3, -1][2].abs(), [3, 4, 5][1:2].list_sum(), cast('-3' as int).abs(), 'a'.concat('b'.upper().concat('c'))
1,7,3,aBc

from (values (-4), (5)) t(x) select t.x.abs().sqrt() + 1, "x".abs(), x.sum() over () where x.abs() = 4 and x is distinct from x.abs() order by x.abs()
3.0,4,-4

select x.string_agg(',' order by x desc), count(*) filter (x.starts_with('a')) from (values ('a'), ('b')) t(x)
"b,a",1

select count(*) from (select 1 a) t join (select 1 b) u on a.abs() = b group by a.abs() having a.max() between 1 and (2).abs()
1

select x.upper from (values ('a')) t(x)
error: column 8: no table in FROM is called 'x'

select date '2020-01-01'.year()
error: column 25: syntax error

select x in l, x not in l, l, x from (values (null, [1]), (2, null), (3, [null, 3]), (3, [null]), (1, [5])) t(x, l)
,,[1],
,,,2
true,false,"[NULL, 3]",3
false,true,[NULL],3
false,true,[5],1

select 1 in [1, 2], 3 in [1, null], 3 not in [1, 2], not 1 in [1, 2], 1 in [1, 2].list_reverse(), 1 + 1 in [2], position('b' in 'abc'), 1 in (1, 2)
true,false,true,false,true,true,2,true

select i from (values (1)) as 't'('i') where t.i in [1]
1

select x, y from (values (1, 2)) as t('x', "y")
1,2

select x, sum(y) from (values (1, 2), (1, 3), (0, 7)) t(x, y) group by * order by * desc
1,5
0,7

select c.y, c.x from ((values (1)) a(x) cross join (values (2)) b(x)) c(x, y)
2,1

select c.* from ((values (1), (3)) a(x) left join (values (1)) b(x) using (x)) as c join (values (3)) d(x) on c.x = d.x
3

select a.x from ((values (1)) a(x) cross join (values (2)) b(x)) c
error: column 8: no table in FROM is called 'a'

select * from unnest([5, 6], [7]) with ordinality as t(v)
5,7,1
6,,2

select t.v, t.ordinality from unnest([5, 6]) with ordinality as t(v)
5,1
6,2

select * from generate_series(5, 1, -2) with ordinality as t(v, o)
5,1
3,2
1,3

select range, ordinality from range(5, 7) with ordinality
5,1
6,2

select * from (values (2), (0), (null)) n(k) left join unnest(range(k)) with ordinality as t(v, o) on true order by k, o
0,,
2,0,1
2,1,2
,,

select k, (select max(o) from unnest(range(k)) with ordinality as t(v, o) where v < 3) from (values (2), (0), (5)) n(k) order by k
0,
2,2
5,3

select * from unnest([1]) with ordinality as t(a, b, c)
error: column 15: 't' has 2 columns, but 3 names are given

select i, v from (values (1, 'a', 10), (2, 'a', 20), (3, 'b', 15), (4, null, 15), (5, 'a', null), (6, 'c', 1), (7, 'b', 5)) l(i, s, t) asof join (values ('a', 10, 100), ('a', 15, 150), ('b', 20, 200), ('b', 5, 50), (null, 15, 1), ('a', null, 2), ('a', 30, 300)) r(s, t, v) on l.s = r.s and l.t >= r.t order by i
1,100
2,150
3,50
7,50

select i, v from (values (1, 'a', 10), (2, 'a', 20), (3, 'b', 15), (4, null, 15), (5, 'a', null), (6, 'c', 1), (7, 'b', 5)) l(i, s, t) asof left join (values ('a', 10, 100), ('a', 15, 150), ('b', 20, 200), ('b', 5, 50), (null, 15, 1), ('a', null, 2), ('a', 30, 300)) r(s, t, v) on l.s = r.s and l.t > r.t order by i
1,
2,150
3,50
4,
5,
6,
7,

select i, v from (values (1, 'a', 10), (2, 'a', 20), (3, 'b', 15), (4, null, 15), (5, 'a', null), (6, 'c', 1), (7, 'b', 5)) l(i, s, t) asof inner join (values ('a', 10, 100), ('a', 15, 150), ('b', 20, 200), ('b', 5, 50), (null, 15, 1), ('a', null, 2), ('a', 30, 300)) r(s, t, v) on r.t >= l.t and r.s = l.s order by i
1,100
2,300
3,200
7,50

select i, v from (values (1, 'a', 10), (2, 'a', 20), (3, 'b', 15), (4, null, 15), (5, 'a', null), (6, 'c', 1), (7, 'b', 5)) l(i, s, t) asof left outer join (values ('a', 10, 100), ('a', 15, 150), ('b', 20, 200), ('b', 5, 50), (null, 15, 1), ('a', null, 2), ('a', 30, 300)) r(s, t, v) on l.s = r.s and r.t > l.t where v is not null order by i
1,150
2,300
3,200
7,200

select i, s, t, v from (values (1, 'a', 10), (2, 'a', 20), (3, 'b', 15), (4, null, 15), (5, 'a', null), (6, 'c', 1), (7, 'b', 5)) l(i, s, t) asof join (values ('a', 10, 100), ('a', 15, 150), ('b', 20, 200), ('b', 5, 50), (null, 15, 1), ('a', null, 2), ('a', 30, 300)) r(s, t, v) using (s, t) order by i
1,a,10,100
2,a,20,150
3,b,15,50
7,b,5,50

select i, v from (values (1, 'a', 10), (2, 'a', 20), (3, 'b', 15), (4, null, 15), (5, 'a', null), (6, 'c', 1), (7, 'b', 5)) l(i, s, t) asof join (values ('a', 10, 100), ('a', 15, 150), ('b', 20, 200), ('b', 5, 50), (null, 15, 1), ('a', null, 2), ('a', 30, 300)) r(s, t, v) on l.s = r.s and l.t + 1 >= r.t * 2 where v > 60 order by i
2,100

select i, v, k from (values (1, 'a', 10), (2, 'a', 20), (3, 'b', 15), (4, null, 15), (5, 'a', null), (6, 'c', 1), (7, 'b', 5)) l(i, s, t) asof join (values ('a', 10, 100), ('a', 15, 150), ('b', 20, 200), ('b', 5, 50), (null, 15, 1), ('a', null, 2), ('a', 30, 300)) r(s, t, v) on l.s = r.s and l.t >= r.t join (values (1), (3)) z(k) on k = i order by i
1,100,1
3,50,3

select count(*), max(a.t - b.t) from range(300000) a(t) asof join (select t * 3 t from range(90000) c(t)) b on a.t >= b.t
300000,30002

select a.x from (values (1)) a(x) asof join (values (1)) b(x) on a.x = b.x
error: column 54: ASOF JOIN needs an inequality

select 1 from (values (1, 2)) a(x, y) asof join (values (1, 2)) b(x, y) on a.x > b.x and a.y > b.y
error: ASOF JOIN takes one inequality (<, <=, >, >=), and equalities

select "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" + 1 x from (values (1)) t(nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn)
2

select 1 as a, "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1" from (values (1, 2)) t(nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn, b)
error: a name of 64 bytes is not supported

select d + interval 1 day < '2024-01-06 10:00:00' x, date_trunc('month', d) y from (values (date '2024-01-05')) t(d)
true,2024-01-01T00:00:00

select (select count(*) filter (where o > 2) from (values (1)) i(n)) from (values (2), (3)) u(o)
1

select 1 from (values (2), (3)) u(o) where (select count(*) filter (where o > 2) from (values (1)) i(n)) > 0
error: an aggregate of that query's rows

select (select count(*) filter (where o > 2 and n = 1) from (values (1)) i(n)) c from (values (2), (3)) u(o) order by c
0
1

select x % 2 a, y, count(*) n from (values (1, 'a'), (3, 'a'), (2, 'b'), (5, 'b')) t(x, y) group by (x % 2, y) order by 1, 2
0,b,1
1,a,2
1,b,1

select 1 from (values (1, 2)) a(x, y) asof join (values (1, 2)) b(x, y) on a.x > b.x and b.y in (select 1)
error: a subquery in ON of ASOF JOIN

select 1 from (values (1)) a(x) asof join (values ('a')) b(x) on a.x > b.x
error: is string in one input and int64 in another

select (select x from xy where i = 1), (select y from xy where i = 1), (select [i] from whole where i = 2)
0.0,nan,[2]

select i, i < any (select i from whole), i >= all (select i from whole), i <> any (select i from whole), i = all (select i from whole where i > 5), i <> all (select i from whole) from f order by i
1,true,false,true,true,false
2,false,true,true,true,false
3,false,true,true,true,true
4,false,true,true,true,true
5,false,true,true,true,true
7,false,true,true,true,true

select i, x > any (select x from whole), x > all (select x from f), x < some (select nullif(x, 2.5) from whole) from f where i < 5 order by i
1,false,false,true
2,false,false,true
3,,,
4,true,false,

select i from f where x > all (select w.x from whole w where w.i > f.i) order by i
2
3
4
5
7

select i, i = any(l), i <> all(l), i > any(l), 3 = any([i, null]), i = any(null::int[]) from (select i, [i - 1, 2] l from f) q order by i
1,false,true,true,,
2,true,false,true,,
3,false,true,true,true,
4,false,true,true,,
5,false,true,true,,
7,false,true,true,,

select w.i, q.y from whole w, lateral (select f.i + w.i as y from f where f.x > w.x) q order by 1, 2
1,5
1,6
1,8
2,6
2,7
2,9

select w.i, q.y, q.z from whole w left join lateral (select f.i y, f.x z from f where f.i > w.i + 3 order by f.i limit 1) q on q.y < 6 order by 1
1,5,nan
2,,

select w.i, q.n from whole w cross join (select count(*) n from f where f.i <= w.i) q order by 1
1,1
2,2

select w.i, a.b, c.d from whole w, lateral (select w.i * 2 as b) a, lateral (select a.b + w.i as d) c order by 1
1,2,3
2,4,6

select w.i, v.i, s.n from whole w, whole v, lateral (select w.i * 10 + v.i as n) s where w.i = v.i order by 1
1,1,11
2,2,22

select w.i, g from whole w, generate_series(1, w.i) g(g) order by 1, 2
1,1
2,1
2,2

select w.i, u from whole w left join unnest([w.i, 5]) t(u) on u > w.i + 3 order by 1
1,5
2,

select w.i, f.i from whole w full join f on w.i > f.i order by 1, 2
1,
2,1
,2
,3
,4
,5
,7

select w.i, f.i from whole w right join f on w.x < f.x and f.i < 5 order by 2, 1
,1
,2
,3
1,4
2,4
,5
,7

select i from f semi join whole on f.i > whole.i order by i
2
3
4
5
7

select i from f anti join whole on f.i < whole.i order by i
2
3
4
5
7

select x from f intersect all select x from (values (0.0::float8), ('nan'), ('nan'), ('nan'), (0)) t(x) order by 1
0.0
0.0
nan
nan

select x from f except all select x from (values (0.0::float8), ('nan'), (8)) t(x) order by 1
0.0
7.0
nan
\N

select i, x < 'nan', x = 'nan', x > '6.5', x in ('nan', '7'), x between '1' and 'nan' from xy where i > 3 order by i
4,false,true,true,true,true
5,false,true,true,true,true
7,true,false,true,true,true

from whole
1,1.5
2,2.5

from whole select x where i = 2
2.5

with w as (from whole select i + 1 as k) from w select sum(k), count(*),
5,2

from (from whole limit 1) union all from whole select i * 10, x order by 1, 2,
1,1.5
10,1.5
20,2.5

select * from (select 1 as a), (values (2, 3)) join (select 3 as c) on column2 = c
1,2,3,3

from values (1, 'x'), (2, 'y') v(k, s), whole select s, x where k = i order by s
x,1.5
y,2.5

select k: i + 1, l: k * 2 from w: whole order by k desc
3,6
2,4

select i % 2 as p, count(*) as c, c + 1 as more from f group by all order by all desc
1,4,5
0,2,3

select i, x from f where x is null or i > 5 order by all desc nulls first
7,7.0
3,

select i from f union select 100 order by all desc limit 2
100
7

select sum(i) from whole group by all
3

select 1 as k from whole group by all
1
1

select i, rank() over w as r from f window w as (order by x desc) qualify r <= 2 order by i
4,1
5,1

select x from f qualify count(*) over (partition by x) = 2 and i > 1 order by i
-0.0
nan
nan

select x, count(*) as c from f group by x qualify row_number() over (order by c desc, x) = 1
0.0,2

select i + 1 as y, y * 2 as z, x from whole where y > 2 and z < 100
3,6,2.5

select i + 1 as x, alias.x * 2 as y, count(*) filter (i > 1) as c from whole group by all having alias.x > 2
3,6,1

select alias.i from whole
error: line 1, column 8: no table in FROM is called 'alias'

select i as x, x from whole order by i
1,1.5
2,2.5

select x + 'a', i from (from whole)
error: line 1, column 10: 'a' meets float64 ('x'), but is no float64

from whole select i, x || 'b'
1,1.5b
2,2.5b

select timestamp '2020-01-01' + interval (i) minutes as t from whole order by i
2020-01-01T00:01:00
2020-01-01T00:02:00

select timestamp '2020-01-01' + interval (x) seconds as t from whole order by i
2020-01-01T00:00:01.500000
2020-01-01T00:00:02.500000

select date '2020-01-31' + interval (i) months from whole order by i
2020-02-29T00:00:00
2020-03-31T00:00:00

select date '2020-01-31' + interval 3 moons from whole
error: line 1, column 37: syntax error

select x > 1.5 as b, (x > 2) > (i > 5) as c, greatest(i > 1, false) as g, least(i > 1, null) as l from whole order by b
false,false,false,false
true,true,true,true

select i from f where (i > 3) < true and (x = 0.0) >= false order by i
1
2

select * from whole positional join (select i as k from f order by i desc limit 3) order by k desc
1,1.5,7
2,2.5,5
,,4

select w.i, v.i as j from whole w positional join (select i from f where i = 7) v where v.i is null or w.i = 1 order by 1
1,7
2,

select positional.i from whole as positional join f using (i) positional join (select 1 as z) order by 1
1
2

select i from whole positional left join f
error: line 1, column 21: positional left JOIN is not supported

select * exclude (x), x as 'last one' from whole order by 1
1,1.5
2,2.5

select w.* exclude i replace (w.x * 2 as x), f.* from whole w join f using (i) order by 1
3.0,1,0.0
5.0,2,-0.0

select k, x from (select * rename (i as k) from whole) order by all
1,1.5
2,2.5

select * like '_', * not like 'x%' from (select 1 as x, 2 as xy, 3 as z)
1,3,3

select * ilike 'X_', * similar to 'x|z', * not similar to 'x.*' from (select 1 as x, 2 as xy, 3 as z)
2,1,3,3

select columns('^x'), columns(['z', 'x']), columns('y\w?$') + 1 as y, columns('(?i)Z') from (select 1 as x, 2 as xy, 3 as z)
1,2,1,3,3,3

select sum_x, sum_z from (select sum(columns('^(x|z)$')) as 'sum_\1' from (select 1 as x, 2 as xy, 3 as z))
1,3

select min(columns(*)), max(columns(* exclude (i))) filter (where columns(* exclude (i)) < 2), count(*) from whole
1,1.5,1.5,2

select i, x from (select max(columns(*)) from whole)
2,2.5

select i from whole where columns(*) > 1.75
2

select sum(columns(i)) from whole
error: line 1, column 12: COLUMNS takes a pattern or names in single quotes, or *

select columns('i') + columns('x') from whole
error: line 1, column 23: an expression has one choice of COLUMNS

select columns('i+?') from whole
error: line 1, column 8: this pattern of names is not supported

select columns('i(') from whole
error: line 1, column 8: 'i(' is no pattern of names

select * exclude (i, y) from whole
error: line 1, column 22: EXCLUDE: there is no column 'y' in *

select * replace (i + 1 as y) from whole
error: line 1, column 21: REPLACE: there is no column 'y' in *

select * exclude (i, x) from whole
error: line 1, column 8: no column is left of *

select * like 'q%' from whole
error: line 1, column 8: no column is left of *: none matches 'q%'

select * from whole order by columns('i')
1,1.5
2,2.5

select * replace (i) from whole
error: line 1, column 10: each item needs AS and a name

values ('inf'::float8), ('-inf')
inf
-inf

values ('2'), (1)
2
1

values (true), ('f')
true
false

select case when i = 1 then 1.5 else '2.25' end, coalesce(null::decimal(3, 1), '1.55') from whole
1.50,1.55
2.25,1.55

select time '12:30', '23:59:59.5'::time, time '23:00' + interval '90 minutes', time '00:30' - interval '1 hour', date '2024-02-29' + time '01:02:03'
12:30:00,23:59:59.500000,00:30:00,23:30:00,2024-02-29T01:02:03

select extract(hour from time '12:34:56.5'), extract(minute from time '12:34:56.5'), extract(second from time '12:34:56.5'), time '10:00' - time '12:00'
12,34,56,-02:00:00

select timestamptz '2024-01-31 12:00:00+02:00', '2024-01-31T12:00Z'::timestamptz, timestamptz '2024-01-31 23:30+00' + interval '1 month', cast(timestamptz '2024-01-31 12:00+02' as timestamp)
2024-01-31T10:00:00Z,2024-01-31T12:00:00Z,2024-02-29T23:30:00Z,2024-01-31T10:00:00

select timestamptz '2024-01-31 12:00+02' = timestamptz '2024-01-31 10:00Z', timestamptz '2024-01-31 12:00+02' < '2024-01-31 10:00:01Z', cast(timestamptz '2024-01-31 12:00Z' as time), date_trunc('month', timestamptz '2024-02-01 00:30+01')
true,true,12:00:00,2024-01-01T00:00:00Z

select timestamptz '2024-07-01 12:00Z' at time zone 'Europe/Berlin', timestamp '2024-07-01 12:00' at time zone 'Europe/Berlin', timestamp '2024-10-27 02:30' at time zone 'Europe/Berlin', timestamp '2024-03-31 02:30' at time zone 'Europe/Berlin', date '2024-01-01' at time zone 'Asia/Kolkata'
2024-07-01T14:00:00,2024-07-01T10:00:00Z,2024-10-27T01:30:00Z,2024-03-31T01:30:00Z,2023-12-31T18:30:00Z

select timestamptz '2024-07-01 12:00Z' at time zone 'Europe/Berln'
error: there is no time zone 'Europe/Berln'

select '\x4d5a'::bytea, '\x00'::bytea || '\xff', length('\x000102'::bytea), hex('\xdead'::bytea), decode('\xc3a9'::bytea), encode('é'), unhex('4d5a') = 'MZ', base64('\x000102'::bytea), from_base64('AAEC'), octet_length('é')
\x4d5a,\x00ff,3,DEAD,é,\xc3a9,true,AAEC,\x000102,2

select decode('\xff'::bytea)
error: these bytes are no UTF-8: \xff

select '\x4'::bytea
error: is no binary

select upper('\x00'::bytea)
error: 'upper' needs a string, not binary

select '\x00'::bytea || 1
error: 'concat' needs a binary as argument 2, not int64

select i from whole where time '12:00' = timestamp '2024-01-31 12:00'
error: needs two values that compare

select timestamp '2024-01-31 12:00' = timestamptz '2024-01-31 12:00Z', date '2024-01-31' < timestamptz '2024-01-31 01:00+02', t in (timestamptz '2024-01-31 12:00Z'), t between timestamptz '2024-01-31 12:00+01' and date '2024-02-01' from (values (timestamp '2024-01-31 12:00')) v(t)
true,false,true,true

select d < '2023-12-11 15:54:45', d = '2023-12-11 15:54:45', d in ('2023-12-11 15:54:45'), d between '2023-12-11 15:54:45' and '2023-12-12 01:00', d::timestamp < '2023-12-11 15:54:45' from (values (date '2023-12-11')) v(d)
false,true,true,true,true

select x is null, x from (select null as x union all select null union all select true)
true,
true,
false,true

select count(*), count(a), count(b), max(list_sum(a)) from (select null as a, 1 as b union (select null, null union all select null, null) union all select [1], null)
3,1,1,1

select s from (values ('a')) v(s) union all select 1 union all select true union all select 2.50 union all select date '2024-01-31'
a
1
true
2.50
2024-01-31

select true as x union all select i from whole union all select 2.5::double order by x
1.0
1.0
2.0
2.5

select i::varchar as s from whole except select i from whole where i > 1
1

select i::varchar as s from whole intersect select i from whole where i > 1
2

select [true] as l union all select [7] union all select [0.5::double, null]
[1.0]
[7.0]
"[0.5, NULL]"

select [1] union all select 'a'
error: column 'list_value'

select 1 union all select '\\x00'::bytea
error: cast one of them

select array(select i from f order by i desc), array(select i from f where i > 100), array(select i + 1 as j from f order by j), array(select i from whole order by x desc, 1), array(select null)
"[7, 5, 4, 3, 2, 1]",[],"[2, 3, 4, 5, 6, 8]","[2, 1]",[NULL]

select array(select distinct x from whole order by x), array(select i from f order by i limit 2), array(select i from whole union all select i from whole order by 1 desc), array(select count(*) from f), array(values (3), (1)), array(select unnest([1, 2]))
"[1.5, 2.5]","[1, 2]","[2, 2, 1, 1]",[6],"[3, 1]","[1, 2]"

select i, array(select w.i from whole w where w.i < f.i order by w.i desc) as l, array(select w.i + f.i from whole w where w.i = f.i limit 1) as m, 2 = any(array(select w.i from whole w where w.i = f.i)) as n from f where i < 4 order by i
1,[],[2],false
2,[1],[4],true
3,"[2, 1]",[],false

select i as a from whole union all select 9 as b order by b desc
9
2
1

select i as a, x as b from whole union all (select 9 as c, 0.5 as a union all select 7, 8) order by A, c
1,1.5
2,2.5
7,8.0
9,0.5

select i as a from whole union all select 9 as b order by c
error: no column 'c'

select i from f order by i desc limit (select count(*) from whole) offset (select min(i) from whole)
5
4

select i from f order by i limit (select 1) + 1
1
2

select i from f order by i offset (select count(*) from f where i < 5)
5
7

select i from f order by i limit (select i from f where i > 100) offset (select -1) + 4
4
5
7

select count(*) from f limit (select 0)

select (select count(*) from f limit (select 0)) is null, (select count(*) from f limit (select 1)) from whole
true,6
true,6

select i from whole union all select i from f order by i limit (select i from whole where i = 2) offset 1
1
2

select i from f order by i limit (select -5)

select i from f order by i limit (select i from whole)
error: line 1, column 34: expression

select i from f order by i limit (select 'x')
error: 'x' is no int64

select i from f limit i
error: LIMIT needs a whole number

select i, (select w.i from whole w where w.i < f.i order by w.i limit (select 1)) from f
error: LIMIT of a percentage or of a subquery in a subquery that names columns of the query around are not supported

select i from f order by i fetch first (select 1) rows with ties
error: WITH TIES beside a subquery in LIMIT or OFFSET is not supported

select array(select i, x from whole)
error: ARRAY(SELECT ...) takes one value of each row

select array(select distinct i from whole order by x)
error: is ordered by its value alone

select i from f where i - 1 and not i - 3
3

select i from f where i and x order by i
4
5
7

select i, count(*) filter (where x) from f group by i having count(x) order by i
1,0
2,0
7,1

select w.i, f.i from whole w join f on w.i - 1 and f.x order by f.i
2,4
2,5
2,7

select extract(year from time '12:00')
error: needs a date or timestamp, not time

select time '12:00' + interval '1 month'
error: months and years are added to a date or timestamp only

select time '24:00'
error: is no time: hh:mm:ss

select time '12:00' + 1
error: needs numbers, or dates with intervals, not time and int64

select i from whole where i in ('2', '3') or i = ' 1 '
1
2

select i from whole where x between '2' and '3'
2

select nullif(i, '1'), greatest(i, '2'), i + '1', i * '3', mod(i, '2') from whole
,2,2,3,1
2,2,3,6,0

select abs('-1.5'), round('2.5'), power('2', 3), repeat('ab', '3'), 1.5 = '1.50', 0.1 = '1e-1', true = 't'
1.5,2.0,8.0,ababab,true,true,true

select date '2024-01-01' - '2023-01-01', date '2024-01-01' > '2023-01-01 10:00'
365,true

select '1e5'::decimal(10, 2), '15e-1'::decimal(10, 2), '+.5'::decimal(3, 1), ' 5. '::decimal(3, 1)
100000.00,1.50,0.5,5.0

select '1e9'::decimal(10, 2)
error: '1e9' is no decimal(10, 2)

select '1e5'::int, '2.5'::int, '0x1F'::bigint, 'yes'::bool, '2020-1-5 10:00'::date, timestamp '2020-01-05 10:00:00.50'::text, try_cast('1.5.' as int)
100000,3,31,true,2020-01-05,2020-01-05 10:00:00.5,

select 'e5'::int
error: 'e5' is no int32

select i from whole where i = '1.5'
error: '1.5' meets int64 ('i'), but is no int64

select i from whole union all select '7'
1
2
7

select '7', null union all select i, x from whole
7,
1,1.5
2,2.5

select x from whole union all select '3.25'
1.5
2.5
3.25

select i from whole except select '2'
1

select x from whole intersect select '2.5'
2.5

select date '2024-01-01' union all select '2024-02-01'
2024-01-01
2024-02-01

select 1 union all select 'x'
error: line 1, column 27: column 'value': 'x' meets int64, but is no int64

select i, x > 5, x >= 7, 5 < x, x < 8, x <= 7, x = 7, x <> 7, not x > 5 from xy order by i
1,false,false,false,true,true,false,true,true
2,false,false,false,true,true,false,true,true
3,,,,,,,,
4,true,true,true,false,false,false,true,false
5,true,true,true,false,false,false,true,false
7,true,true,true,true,true,true,false,false

select i, i < x, x < i, i = x, i <> x, x::real > i from xy where i < 4 or i > 5 order by i
1,false,true,false,true,false
2,false,true,false,true,false
3,,,,,
7,false,false,true,false,false

select i, i < x, x < i, i >= x, x::real > i, x::real >= 0.1 from xy where i in (4, 5) order by i
4,true,false,false,true,true
5,true,false,false,true,true

select i, x in (y, 7), x not in (7, y), x in (1, null, y), x between 1 and y, x between y and 9, x not between y and y from xy order by i
1,false,true,,false,false,true
2,true,false,true,false,true,false
3,,,,,,
4,true,false,true,true,false,false
5,false,true,,false,false,true
7,true,false,,true,false,true

select i, nullif(x, y), greatest(x, y), least(x, y), case x when y then 'same' when 7 then 'seven' else 'other' end c from xy order by i
1,0.0,nan,0.0,other
2,,-0.0,-0.0,same
3,,nan,nan,other
4,,nan,nan,same
5,nan,nan,1.0,other
7,7.0,8.0,7.0,seven

select i from xy where x > 5
4
5
7

select i from xy where x >= 8 and i <> 5
4

select i from xy where x > 1e300 or x < -1 or -9007199254740993 >= x
4
5

select i from xy where x > -1 and -9007199254740993 < x and x < 'inf'::double is not true and x >= -0.5
4
5

select i from xy where not x <= 7
4
5

select i from xy where x > 6 and x < 8
7

select i from xy where x = 'nan'::double
4
5

select i from xy where x < 'nan'::double and y >= 'nan'::double
1

select i from xy where x > 'nan'::double

select i from whole where x > 2.5 or x > 'nan'::double or x = 'nan'::double

select i from whole where x >= 2.5 and x < 'nan'::double
2

select i from xy group by i, x having max(y) > 5 order by i
7

select a.i, b.i from xy a, xy b where a.x = b.y order by 1, 2
1,2
2,2
4,1
4,3
4,4
5,1
5,3
5,4

select a.i, b.i from xy a join xy b on a.x > b.y where a.i > 3 order by 1, 2
4,2
4,5
4,7
5,2
5,5
5,7
7,2
7,5

select a.i, b.i from xy a left join xy b on a.i = b.i and a.x >= b.y and b.y > 0 order by 1
1,
2,
3,
4,4
5,5
7,

select i from xy where x not in (select y from xy where y > 8)
1
2
7

select i from xy a where exists (select 1 from xy b where b.i = a.i and b.y <= a.x)
2
4
5

select a.i, b.i from xy a join xy b on a.i < b.i where exists (select 1 from whole w where w.i = a.i) and not exists (select 1 from f where f.i = b.i and f.x = 7) order by 1, 2
1,2
1,3
1,4
1,5
2,3
2,4
2,5

select a.i, b.i, (select max(i) from whole) from xy a, xy b where a.i = (select max(i) from whole) and b.i > (select sum(i) from f where f.i = a.i) order by 1, 2
2,3,2
2,4,2
2,5,2
2,7,2

select a.i, b.i from xy a, whole b where a.i in (select i from f where f.i > b.i and i < 4) and b.i < (select sum(i) from f where f.i = b.i) + 1 order by 1, 2
2,1
3,1
3,2

select 1 where 1 == 1 and 1 + 1 == 2 and 'x' == 'x' || ''
1

select regexp_replace('axb', 'x*', '-', 'g')
-a--b-

select 1.005::decimal(10,2), 12345678901234567.89::decimal(38,2), 2.5::int, 1.10::text, 9007199254740993.0::bigint
1.01,12345678901234567.89,3,1.10,9007199254740993

select 12345678901234567890123456789012345678::decimal(38,0), 18446744073709551615, -18446744073709551615, 18446744073709551615 % 10
12345678901234567890123456789012345678,18446744073709551615,-18446744073709551615,5

select 12345678901234567.89 - 12345678901234567.88, 0.99999999999999999999 = 1, 12345678901234567890 + 1
0.01,false,12345678901234567891

select i from big where i > 9007199254740992e0
9007199254740993
9007199254740995

select i from big where i = 9007199254740993.0 or i in (9007199254740995.0, 1.5)
9007199254740993
9007199254740995

select i from big where i between 9007199254740992.5 and 9007199254740993.5
9007199254740993

select i from big where i = 9007199254740992.99999 or i::double in (9007199254740993)

select round(42.4382, 2), round(42.4, 2), round(1254.56, -2), round(2.5), ceil(42.2), ceiling(-42.8), floor(42.8), trunc(42.8), trunc(42.43, 1), sign(-8.4), 5.5 // 2
42.44,42.4,1300,3,43,-42,42,42,42.4,-1,2

select round(x, n), round(x, 2), trunc(x, -1), floor(x), round(x / 1, 1) from (values (1.555, 1), (-27.449, 2)) t(x, n)
1.600,1.56,0,1,1.6
-27.450,-27.45,-20,-28,-27.4

select ceil(0.12345678901234567890123456789012345678), round(99999999999999999999.999999999999999999), abs(-17.40), mod(5.50, 2.125), sum(1.50)
1,100000000000000000000,17.40,1.250,1.50

select round('a')
error: line 1, column 8: 'a' meets 'round', but is no float64

select d, d > 0.1234567890123456789012345678, d in (0.1234567890123456789012345678, 0.10), nullif(d, 0.1234567890123456789012345678) from big order by d
0.10,false,true,0.10
12345678901234567.89,true,false,12345678901234567.89

select d from big where d > 0.0999 and d < 12345678901234567.8999 order by d
0.10
12345678901234567.89

select d from big where d = 12345678901234567.89 or d in (0.1000, 2.00000000000000000000)
12345678901234567.89
0.10

select d from big where d > 12345678901234567.885
12345678901234567.89

select u from big where u >= 9223372036854775809 or u in (9223372036854775808)
18446744073709551615
9223372036854775808

select 99.94::decimal(3,1), 1e20::decimal(38,2), 'inf'::real
99.9,100000000000000000000.00,inf

select 1000::decimal(2,1)
error: 1000 is no decimal(2, 1)

select v::decimal(3,1) from (values (99.94),(99.95)) t(v)
error: 99.95 is no decimal(3, 1)

select 10::decimal(2,3)
error: a decimal has 1 to 38 digits

select 1e300::real
error: is no float32

select v::real from (values (1e300::double), (1)) t(v)
error: 1e+300 is no float32

select '1e999'::double
inf

select min(j) over w, max(j) over w, sum(j) over w, avg(j) over w, avg(j) over () from (values (9007199254740993),(9007199254740995)) t(j) window w as (order by j rows 1 preceding) order by 1, 2
9007199254740993,9007199254740993,9007199254740993,9007199254740992.0,9007199254740994.0
9007199254740993,9007199254740995,18014398509481988,9007199254740994.0,9007199254740994.0

select i, min(s) over w, max(d) over w, count(*) over w from (values (1,'b',1.5::decimal(3,1)),(2,'a',1.4),(3,null,null),(4,null,null)) t(i,s,d) window w as (order by i rows 1 preceding) order by i
1,b,1.5,1
2,a,1.5,2
3,a,1.4,2
4,,,2

select i, count(*) over (partition by x), rank() over (order by x), sum(i) over (order by x), count(*) over (partition by x, i > 2, x) from f order by i
1,2,1,3,2
2,2,1,3,2
3,1,6,22,1
4,2,4,19,2
5,2,4,19,2
7,1,3,10,1

select x, x = -0.0 from (select distinct x from f) t order by x
0.0,true
7.0,false
nan,false
,

select count(*) from (select x from f union select -x from f) t
5

select distinct on (x) i from f order by x, i
1
7
4
3

select i from f where x in (select -x from f) order by i
1
2
4
5

select i from f order by x desc, i
4
5
7
1
2
3

select i from f order by x nulls first, i limit 4
3
1
2
7

select i, row_number() over (order by x desc nulls first, i) from f order by 2
3,1
4,2
5,3
7,4
1,5
2,6

select 1 from f where x = 1 and x > date '2020-13-01'
error: line 1, column 35: '2020-13-01' is no date

select 'a' || i || true || date '2020-01-31' || 1.50 from f where i = 1
a1true2020-01-311.50

select i = s, s in (1, 2), b = 1, b < true, b > 0 or i, not i from (values (1, '1', true), (2, '3', false)) t(i, s, b)
true,true,true,false,true,false
false,false,false,true,true,false

select 1 where null

select count(*) from f where 1 and not 'false'
6

select s + 1 from (values ('1')) t(s)
error: '+' needs two numbers, not string ('s') and int64

select i = s from (values (1, 'one')) t(i, s)
error: 'one' is no int64

select avg(distinct x), sum(distinct x), count(distinct x) from f
3.5,7.0,2

select unnest([1, 2, 3]) as a, unnest(['x']) as b, 7
1,x,7
2,,7
3,,7

select x, y from unnest([1, 2]) as u(x), unnest([3, 4]) as v(y) order by x, y
1,3
1,4
2,3
2,4

select i, unnest(case when i < 3 then [1, 2] end) as a, unnest([i]) as b from whole order by i, b, a
1,1,1
1,2,
2,1,2
2,2,

select i from (values (1, [1, 2]), (2, [3]), (3, null)) as t(i, l) where l >= [1, 3] order by i
2

select regr_slope(distinct i, x) from f
error: DISTINCT in 'regr_slope' is not supported

select i from f order by i limit 1 + 1 offset 7 // 3
3
4

select i from f order by i limit 50% offset 1
2
3
4

select i from f order by i limit (30 + 4) percent
1
2

select i from f limit 0%

select x, i from f where x = 0 or i = 7 order by x fetch first 1 row with ties
0.0,1
-0.0,2

select i, x from f order by x desc offset 1 rows fetch next 1 rows only with ties
error: line 1, column 73: syntax error

select i from f order by x desc offset 1 rows fetch next 2 rows with ties
5
7

select i from whole limit '1'
1

select i from whole limit 0.6
1

select i from whole limit null
1
2

select i, first_value(x) over w, last_value(x) over w, nth_value(x, 3) over w, first_value(x) over (order by i rows 1 preceding), last_value(y) over (), nth_value(y, 3) over () from xy window w as (order by i) order by i
1,0.0,0.0,,0.0,8.0,nan
2,0.0,-0.0,,0.0,8.0,nan
3,0.0,,,-0.0,8.0,nan
4,0.0,nan,,,8.0,nan
5,0.0,nan,,nan,8.0,nan
7,0.0,7.0,,nan,8.0,nan

select length(trim(e' \ta\n ')), length(ltrim(e' \ta')), length(rtrim(e'a\n ')), length(btrim(e'\ta ')), length(trim(both from e' a\t')), trim(' \t' from e' a\t') = 'a', trim('xxa', 'x')
3,2,2,2,2,false,a

select i, count(y) over w, avg(y) over w, count(y) over (order by i rows 1 preceding), avg(y) over (order by i rows 1 preceding) from xy window w as (order by i) order by i
1,0,,0,
2,1,0.0,1,0.0
3,1,0.0,1,0.0
4,1,0.0,0,
5,2,0.5,1,1.0
7,3,3.0,2,4.5

select i, avg(x) over (order by i rows 1 preceding), avg(x) over (order by i) from (values (1, 3e38::real), (2, 3e38::real), (3, null), (4, -3e38::real)) t(i, x) order by i
1,3e+38,3e+38
2,3e+38,3e+38
3,3e+38,3e+38
4,-3e+38,1e+38

select i, avg(x) over (order by i rows 1 preceding), avg(x) over (order by i), avg(x) over () from (values (1, 9223372036854775807), (2, 9223372036854775807), (3, -1)) t(i, x) order by i
1,9.223372036854776e+18,9.223372036854776e+18,6.148914691236517e+18
2,9.223372036854776e+18,9.223372036854776e+18,6.148914691236517e+18
3,4.611686018427388e+18,6.148914691236517e+18,6.148914691236517e+18

select i, first_value(y) over (order by i), first_value(x) over (order by i desc rows 2 preceding), last_value(y) over (order by x), nth_value(y, 1) over (partition by x) from xy order by i
1,nan,,0.0,nan
2,nan,nan,0.0,nan
3,nan,nan,nan,nan
4,nan,7.0,1.0,nan
5,nan,7.0,1.0,nan
7,nan,7.0,8.0,8.0

select i, sum(x) over (order by i), avg(x) over (order by i rows unbounded preceding), max(x) over (order by i) from (values (1, 1.0::double), (2, 'inf'::double), (3, '-inf'::double), (4, null), (5, 2.0)) t(i, x) order by i
1,1.0,1.0,1.0
2,inf,inf,inf
3,nan,nan,inf
4,nan,nan,inf
5,nan,nan,inf

select quantile_cont(d, 0.3), median(d), quantile_cont(date '2020-01-01' + d, 0.3), percentile_cont(0.3) within group (order by d desc) from (values (interval '0 days'), (interval '10 days')) t(d)
3d 00:00:00,5d 00:00:00,2020-01-04T00:00:00,7d 00:00:00

select avg(d), avg(-d), median(d), avg(timestamp '1969-12-31' + d) from (values (interval '0 days'), (interval '10 microseconds'), (interval '1 microsecond'), (interval '3 microseconds')) t(d)
00:00:00.000004,-00:00:00.000004,00:00:00.000002,1969-12-31T00:00:00.000004

select avg(d) over (), avg(d) over (order by d), avg(d) over (order by d rows 1 preceding) from (values (interval '0 days'), (interval '10 microseconds'), (interval '1 microsecond')) t(d) order by d
00:00:00.000004,00:00:00,00:00:00
00:00:00.000004,00:00:00,00:00:00
00:00:00.000004,00:00:00.000004,00:00:00.000006

select avg(d) over (partition by d), sum(d) over () from (values (null), (interval '1 microsecond')) t(d) order by d
00:00:00.000001,00:00:00.000001
,00:00:00.000001

select i, d / i, d / (2 * i), i * d, d * (i + 0.5), (i + 0.5) * d, d / (i + 0.5), d * 1.5::decimal(3, 1), d * 1.5::real from (values (interval '1 microsecond', 1), (interval '5 microseconds', 2), (interval '-10 days', 3)) t(d, i) order by i
1,00:00:00.000001,00:00:00,00:00:00.000001,00:00:00.000002,00:00:00.000002,00:00:00.000001,00:00:00.000002,00:00:00.000002
2,00:00:00.000002,00:00:00.000001,00:00:00.000010,00:00:00.000012,00:00:00.000012,00:00:00.000002,00:00:00.000008,00:00:00.000008
3,-3d 08:00:00,-1d 16:00:00,-30d 00:00:00,-35d 00:00:00,-35d 00:00:00,-2d 20:34:17.142857,-15d 00:00:00,-15d 00:00:00

select interval '3 hours' * 1.5, 1.5 * interval '3 hours', interval '3 hours' / 2.5, date '2020-01-01' + interval '1 day' * 1.5, interval '1 day' / 7
04:30:00,04:30:00,01:12:00,2020-01-02T12:00:00,03:25:42.857143

select d / 0, d / 0.0, d * 'nan'::double, d / 'inf'::double, (d + interval '-1 day') * 1e300 from (values (interval '1 day')) t(d)
,,,00:00:00,00:00:00

select d * 1e300 from (values (interval '1 day')) t(d)
error: duration overflow of 1d 00:00:00 and 1e+300

select d / 1e-300 from (values (interval '1 day')) t(d)
error: duration overflow of 1d 00:00:00 and 1e-300

select i, lag(x, -1) over (order by i), lead(x, -1) over (order by i), lag(x, 0) over (order by i) from xy order by i
1,-0.0,,0.0
2,,0.0,-0.0
3,nan,-0.0,
4,nan,,nan
5,7.0,nan,nan
7,,nan,7.0

select (select x from xy where i = 4 limit 1), (select x from xy where i = 6 limit 1), (select x from xy order by x limit 1)
nan,,0.0

select ntile(0) over (order by i) from xy
error: line 1, column 14: 'ntile' needs a whole number from 1 to 1073741824 here

select j, sum(j) over (order by j) as total from (values (9223372036854775807), (1)) t(j)
error: line 1, column 11: a result of column 'total' does not fit int64: cast the value to decimal(38, 0) or float64

select sum(j) over () + 1 from (values (9223372036854775807), (1)) t(j)
error: line 1, column 8: a result of column 'sum' does not fit int64: cast the value to decimal(38, 0) or float64

select sum(j::decimal(38, 0)) over () + 1 from (values (9223372036854775807), (1)) t(j)
9223372036854775809
9223372036854775809

select sum(j) + 1 from (values (99999999999999999999999999999999999999), (99999999999999999999999999999999999999)) t(j)
error: line 1, column 15: a sum exceeds 128 bits: cast the column to float64

select j * j from (values (99999999999999999999999999999999999999), (1)) t(j)
error: line 1, column 10: decimal overflow (cast one to float64) of 9999999

select list_contains(['hello', 'world'], 'HELLO' collate nocase), list_position([null, 'BB'], 'bb' collate nocase), list_contains(['a'], 'A' collate posix)
true,2,false

select o.x, r.g, r.c from (values (1), (2)) o(x), lateral (select grouping(a, b), count(*) from (values (1, 2)) t(a, b) where a = x group by rollup (a, b)) r(g, c) order by all
1,0,1
1,1,1
1,3,1
2,3,0

select i, fill(x) over (order by i) from (values (0, null), (1, 5), (5, 4), (9, null), (12, null)) t(i, x) order by i
0,5
1,5
5,4
9,3
12,2

select lag(i, 1.5) over (order by i) from xy
error: line 1, column 15: 'lag' needs a whole number from -1073741824 to 1073741824 here

select nth_value(i, 0) over (order by i) from xy
error: line 1, column 21: 'nth_value' needs a whole number from 1

select i * (s::int + 9223372036854775807) from (values (1, '2')) t(i, s)
error: line 1, column 20: integer overflow (cast one to decimal(38, 0) or float64) of 2 and 9223372036854775807
    select i * (s::int + 9223372036854775807) from (values (1, '2')) t(i, s)
                       ^

select i from f where i > 0 and i * i + 9223372036854775807 > 5
error: line 1, column 39: integer overflow (cast one to decimal(38, 0) or float64) of 1 and 9223372036854775807
    select i from f where i > 0 and i * i + 9223372036854775807 > 5
                                          ^

select 'ä', i, cast(s as int) from (values (1, 'x')) t(i, s) where s = 'x' and cast(s as int) = 1
error: line 1, column 80: 'x' is no int32

select a.i from xy a join f on a.i = f.i where a.i + f.i * 4611686018427387904 > 0
error: line 1, column 58: integer overflow (cast one to decimal(38, 0) or float64) of 2 and 4611686018427387904

select sum(j * 9223372036854775807), avg(j) from (values (1), (2)) t(j)
error: line 1, column 14: integer overflow (cast one to decimal(38, 0) or float64) of 2 and 9223372036854775807

select sum(i), avg(s) from (values (1, 'a')) t(i, s)
error: line 1, column 16: column 's': avg needs numbers, not string
    select sum(i), avg(s) from (values (1, 'a')) t(i, s)
                   ^

select avg('a')
error: line 1, column 8: avg needs numbers, not string

select sum(s) over (), count(*) over () from (values ('a')) t(s)
error: line 1, column 8: sum needs numbers, not string

select i // 'a', i from f
error: line 1, column 10: 'a' meets int64 ('i'), but is no int64

select max(i) filter (where s > 1) from (values (1, 'a')) t(i, s)
error: 'a' is no int64

select s from (values ('a')) t(s) where s
error: line 1, column 41: 'a' is no bool

select 1 from (values (1)) t(i) join (values ('a')) u(j) on i = j
error: line 1, column 63: key 'i' is int64 on the left side, but 'j' is string on the right side

select sum(i + j) from range(100000) a(i), range(1000000) b(j)
error: join by a column, filter or aggregate one side first, or take smaller chunks (--chunk-bytes)

select sum(i) from (values (99999999999999999999999999999999999999), (5)) t(i)
error: line 1, column 8: a sum of column 'i' exceeds the 38 digits a decimal has: cast the column to float64

select sum(i) from (values (9223372036854775807), (5)) t(i)
error: line 1, column 8: a sum of column 'i' exceeds int64: cast the column to decimal(38, 0) or float64

select percentile_cont(2) within group (order by i) from f
error: line 1, column 24: the fraction must be a number from 0 to 1

select grouping(i) from f group by x
error: line 1, column 17: GROUPING takes expressions of GROUP BY, and this is none

select grouping(i) from f
error: line 1, column 17: GROUPING takes expressions of GROUP BY

select sum(grouping(x)) from f group by x
error: line 1, column 8: an aggregate of an aggregate

select i > 2 as b, x is null as n, count(*), grouping(b), grouping(n), grouping_id(b, n) from f group by rollup(b, n) order by all
false,false,2,0,0,0
false,,2,0,1,1
true,false,3,0,0,0
true,true,1,0,0,0
true,,4,0,1,1
,,6,1,1,3

select i + 1 as k, grouping(i + 1) as g from whole group by cube(k) having g = 1
,1

select i, grouping(i) from whole group by i order by 1
1,0
2,0

select abs(i) filter (where i > 1) from f
error: line 1, column 8: 'abs' is a function of one row: FILTER, DISTINCT, ORDER BY and * stand in aggregates only

select lag(i respect nulls) over (order by i) as l from whole order by i
\N
1

select i, lag(x ignore nulls) over (order by i), lead(x) ignore nulls over (order by i), lag(x respect nulls) over (order by i) from f
1,,-0.0,
2,0.0,nan,0.0
3,-0.0,nan,-0.0
4,-0.0,nan,
5,nan,7.0,nan
7,nan,,nan

select i, first_value(x ignore nulls) over w, last_value(x) ignore nulls over w, nth_value(x, 2 ignore nulls) over w from f window w as (order by i rows between 1 preceding and 1 following) order by i
1,0.0,-0.0,-0.0
2,0.0,-0.0,-0.0
3,-0.0,nan,nan
4,nan,nan,nan
5,nan,7.0,nan
7,nan,7.0,7.0

select i, lag(x, 1, -1) over (order by i), lead(x, 2, i) over (order by i), lag(i, -4, 0) over (order by i), lead(x, 0, 5.5) over (order by i), lag(x, 1, 9 ignore nulls) over (order by i) from f
1,-1.0,,5,0.0,9.0
2,0.0,nan,7,-0.0,0.0
3,-0.0,nan,0,,-0.0
4,,7.0,0,nan,-0.0
5,nan,5.0,0,nan,nan
7,nan,7.0,0,7.0,nan

select i, percent_rank() over (order by x), cume_dist() over (order by x), rank() over (), dense_rank() over (partition by x), percent_rank() over (), cume_dist() over () from f order by i
1,0.0,0.3333333333333333,1,1,0.0,1.0
2,0.0,0.3333333333333333,1,1,0.0,1.0
3,1.0,1.0,1,1,0.0,1.0
4,0.6,0.8333333333333334,1,1,0.0,1.0
5,0.6,0.8333333333333334,1,1,0.0,1.0
7,0.4,0.5,1,1,0.0,1.0

select i, count(*) over (order by x range between 1 preceding and 1 following), sum(i) over (order by x range between 7 following and 8 following), count(*) over (order by x desc nulls first range between unbounded preceding and 0 following) from f order by i
1,2,7,6
2,2,7,6
3,1,3,1
4,2,9,3
5,2,9,3
7,1,,4

select min(i) over (order by i rows 1 preceding), max(i) over (order by i range between 1 preceding and 2 following exclude current row), sum(d) over (order by d range between 0.10 preceding and 0 following exclude ties) from big order by i
9007199254740993,9007199254740995,12345678901234567.89
9007199254740993,,0.10

select k, sum(sum(i)) over (order by k groups between 1 preceding and 1 following exclude current row), count(*) over (partition by k % 2) from (values (1, 1), (1, 2), (2, 10), (3, 100)) t(k, i) group by k order by k
1,10,2
2,103,1
3,10,2

select t, sum(i) over (order by t range between interval '1 month' preceding and current row), sum(i) over (order by t desc range between interval '1 month' preceding and interval '1 day' preceding) from (values (date '2024-01-31', 1), (date '2024-02-29', 2), (date '2024-03-30', 4)) v(t, i) order by t
2024-01-31,1,2
2024-02-29,3,
2024-03-30,6,

select i, sum(i) over (order by i rows x preceding) from (values (1, 1), (2, 0), (3, 5)) t(i, x) order by i
1,1
2,2
3,6

select sum(i) over (order by i rows x preceding) from (values (1, 1), (2, -1)) t(i, x)
error: a distance of the frame is negative: it must be 0 or more

select sum(i) over (order by i rows between current row and x following) from (values (1, 1), (2, null)) t(i, x)
error: a distance of the frame is null: it must be 0 or more

select sum(i) over (order by i range between 'nan'::float8 preceding and current row) from whole
error: a distance of the frame is nan: it must be 0 or more

select count(*) over (order by x range between 'inf'::float8 preceding and current row), count(*) over (order by x range between 1e308 preceding and 'inf'::float8 following) from (values ('-inf'::float8), (0), ('inf')) t(x) order by x
1,3
2,2
3,1

select sum(i) over (order by s range 1 preceding) from (values (1, 'a')) t(i, s)
error: is no distance of a frame of values of dtype string

select sum(i) over (order by i rows 1.5 preceding) from whole
error: is no distance of a frame of rows: it needs an integer

select i, sum(x) over (order by i rows between 1 preceding and current row exclude no others), avg(x) over (order by i rows between 1 following and 2 following), stddev(x) over (order by i rows between 1 preceding and 1 following) from (values (1, 1e300), (2, 1e-300), (3, '-inf'::float8), (4, 'nan'), (5, 2)) t(i, x) order by i
1,1e+300,-inf,inf
2,1e+300,-inf,nan
3,-inf,2.0,nan
4,-inf,2.0,nan
5,2.0,,

select median(x) over w, mode(x) over w, count(distinct x) over w, quantile_cont(x, 0.25) over w, bool_or(x > 2) over w, list(x) over w from (values (1, 3.0), (2, 1.0), (3, 3.0), (4, null), (5, 0.5)) t(i, x) window w as (order by i rows between 2 preceding and current row) order by i
3.0,3.0,1,3.0,true,[3.0]
2.0,1.0,2,1.5,true,"[3.0, 1.0]"
3.0,3.0,2,2.0,true,"[3.0, 1.0, 3.0]"
2.0,1.0,2,1.5,true,"[1.0, 3.0, NULL]"
1.75,0.5,2,1.125,true,"[3.0, NULL, 0.5]"

select skewness(x) over w, product(x) over w, corr(x, i) over w, sum(x) filter (where x > 1) over w, count(*) filter (where x > 1) over w from (values (1, 3.0), (2, 1.0), (3, 3.0)) t(i, x) window w as (order by i rows between 2 preceding and current row) order by i
,3.0,,3.0,1
,3.0,-0.9999999999999998,3.0,1
-1.732050807568877,9.0,0.0,6.0,2

select * from f anti join xy
error: line 1, column 22: this JOIN needs a condition: ON a.id = b.id, or USING (id)

select * from f join xy where f.i = xy.i
error: line 1, column 17: this JOIN needs a condition: ON a.id = b.id, or USING (id)

select * from f cross join xy natural left join whole groop by
error: syntax error at or near "by"

select * from read_csv('f.csv', decimal => ',')
error: line 1, column 33: decimal is a word of SQL: write "decimal" =>

select * from 'p'
error: line 1, column 15: no table 'p': name a file ('trips.csv') or a folder ('trips/'), or load it with `granary load p FILE`

select * from ''
error: syntax error

select * from (select 1 from f join) t
error: line 1, column 32: this JOIN needs a condition: ON a.id = b.id, or USING (id)

select t.i from (values (1, 2)) t(i, i)
error: line 1, column 8: 't' has more than one column 'i': give its columns names, AS t(a, b)

select now() = current_timestamp, now() > timestamptz '2024-01-01', count(*) from f where now() = statement_timestamp()
true,true,6

select current_timestamp(3)
error: a precision of the current time is not supported

select typeof(1.5)
error: 'typeof' needs a value that is no decimal

select regexp_matches('a', 'a', 'x')
error: line 1, column 33: option 'x' of a regular expression is not supported

select 1 << -1
error: bits are lost, or there are negative ones

select factorial(34)
error: a factorial is of 0 to 33

select hamming('a', 'ab')
error: texts of one length

select x from generate_series(date '2024-01-01', date '2024-03-01', interval '0 day') t(x)
error: a step is one of months, or of days and less, and not 0

select x::date from range(date '2024-01-31', date '2024-04-30', interval '1 month') t(x)
2024-01-31
2024-02-29
2024-03-31

select time_bucket(interval '1 month 1 day', date '2024-01-01')
error: an interval as written, of months or of days and less

select -1::utinyint
error: line 1, column 8: an unsigned integer has no negative (cast it to int64 first): 1

select title('ǆ中a 1st ა'), islower('ªa'), isupper('Ⅷ'), islower('ǅ'), isupper('ǅ'), islower('中'), islower('中a')
ǅ中A 1St ა,true,true,false,false,false,true

values (1), (2, 3)
error: line 1, column 14: VALUES: row 2 has 2 values

with a as (select 1), A as (select 2) select * from a
error: line 1, column 23: two queries of WITH are called 'a'

select * from beside
error: line 1, column 15: no table 'beside': there is a file 'beside.csv', write its name with the ending

select * from beside.csv
1
"""


def blocks():
    yield 'select i from f where ' + ' and '.join(f'i <> {n}' for n in range(10, 310)) + ' limit 0', []
    yield f"select 1 where 1 in ({', '.join(map(str, range(20000)))})", ['1']
    yield f"select 1 from f where i in ({', '.join(f'i + {n}' for n in range(5000))})", ['error: line 1, column 25: IN has 5000 values, more than an expression can have (4096): load them as a table']
    yield f"select i from f where i not in ({', '.join(map(str, range(2, 18000)))}) and -x <= 0", ['1']
    yield f"select count(*) from (select {', '.join(f'i + {n} as c{n}' for n in range(300))} from f) where c299 > 301", ['4']
    yield f"from {'(from ' * 60}f{')' * 60} where i = 1", ['1,0.0']
    yield f"from {'(from ' * 3000}f{')' * 3000}", ['error: line 1, column ']
    yield f"select {'(' * 5000}1{')' * 5000}", ['1']
    yield f"select {'not ' * 1000}true", ['error: nested more than 1100 deep']
    yield f"select x from f where {'interval ' * 1000}", ['error: line 1, column ']
    yield 'select 1 from f where ' + ' or '.join(f'i = {n}' for n in range(5091)), ['error: line 1, column 29: OR has 5091 terms']
    yield f"select 1 from (values {', '.join(f'({n})' for n in range(1000))}) t(i) where i = 999", ['1']
    yield f"select count(*), sum(a), max(b) from (values {', '.join(f'({n}, {-n})' for n in range(3001))}) t(a, b)", ['3001,4501500,0']
    yield f"select a from (values {', '.join(f'({n})' for n in range(1000))}, (0.5)) t(a) limit 3 offset 998", ['998.0', '999.0', '0.5']
    yield f"select a from (values {', '.join(f'({n})' for n in range(1000))}, ('x')) t(a)", ['error: line 1, column ']
    yield '-- a comment is no option\n-- nor are two\nselect 1', ['1']
    yield '-- a comment\nselect x', ["error: line 2, column 8: no column 'x'"]
    for block in ANSWERS.strip().split('\n\n'):
        statement, *answer = block.strip().splitlines()
        yield statement, answer


class Instance(CommandLine):
    def ready(self):
        pathlib.Path(self.base, 'beside.csv').write_text('a\n1\n')
        for name, text in TABLES.items():
            path = pathlib.Path(self.base, f'{name}.csv')
            path.write_text(text)
            dtypes = [word for dtype in DTYPES.get(name, []) for word in ('--dtype', dtype)]
            self.must('load', *dtypes, name, path)


def differs(instance, statement, answer):
    """What is different, or None."""
    ended = instance.call('sql', '--csv', '--discard', statement)
    if answer and answer[0].startswith('error: '):
        said = ended.stderr.strip()
        return None if ended.returncode != 0 and '\n'.join([answer[0][7:], *answer[1:]]) in said else f'no such error: {said or ended.stdout}'
    if ended.returncode != 0:
        return ended.stderr.strip()
    got = ended.stdout.splitlines()[1:]
    return None if got == answer else f'{got}, expected {answer}'


wrong = 0
count = 0
with Instance(binaries) as instance:
    for statement, answer in blocks():
        count += 1
        what = differs(instance, statement, answer)
        if what is not None:
            print(f'{statement[:1000]}\n  {what}', flush=True)
            wrong += 1
print(f'{count - wrong} of {count} statements answered')
sys.exit(1 if wrong else 0)
