#!/usr/bin/python3
"""What SQL means, against SQLite (Python's own): small tables with nulls, duplicates, empty ones and unicode.

    semantics.py BIN_DIRECTORY

Rows are compared in order where ORDER BY gives one, else as multisets. What the two write in different ways stands in a
query twice, as {ours|SQLite's}.
"""
import collections
import json
import pathlib
import random
import re
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

binaries = pathlib.Path(sys.argv[1]).resolve()
dice = random.Random(5)


def pick(values, nulls):
    return None if dice.random() < nulls else dice.choice(values)


WORDS = ['ant', 'Bee', 'bee', 'cat', 'ähre', '', 'a_b', 'a%b', "it's", '漢字', 'zebra']
TABLES = {
    'a': (['id integer', 'x integer', 'y real', 'name text', 'day text'],
          [(i, pick(range(-5, 6), .2), pick([0.5, 1.25, -3.0, 7.75], .2), pick(WORDS, .2), pick([f'20{n:02}-0{1 + n % 9}-15' for n in range(30)], .1))
           for i in range(60)]),
    'b': (['id integer', 'x integer', 'z integer', 'name text'],
          [(pick(range(0, 80), .05), pick(range(-5, 6), .3), pick(range(3), .3), pick(WORDS, .3)) for _ in range(70)]),
    'e': (['id integer', 'x integer', 'name text'], [(1, 1, 'x')]),  # emptied by its view's condition: id < 0
    'n': (['x integer', 'k integer'], [(1, 1), (None, 1), (2, 2)]),
}

QUERIES = r"""
select id, x + 1, x * y, -x, x - id from a
select a.id, (select max(b.z) from b where b.x < a.x), (select count(*) from b where b.x < a.x) from a
select a.id, (select b.name from b where b.x = a.x and b.z > 0 order by b.id, b.z, b.name limit 1) from a
select a.id, (select a.id + 1), (select a.x + a.id), (select sum(b.z) + a.id from b where b.x = a.x) from a
select a.id, (select count(*) from b where b.x = a.x having count(*) > 3) from a
select a.id, (select count(distinct b.z) from b where b.x >= a.x), (select sum(b.z) from b where b.x = a.x or b.name = a.name) from a
select a.id from a where exists (select 1 from b where b.x > a.x and b.z = 1)
select a.id from a where not exists (select 1 from b where b.x > a.x)
select a.id from a where exists (select 1 from b) and not exists (select 1 from e where id < 0)
select a.id from a where exists (select 1 from b where b.x < a.x) or a.y > 1
select a.id, exists (select b.x from b where b.x = a.x group by b.x having count(*) > 5) from a
select a.id, exists (select 1 from b where b.x = a.x limit 0), exists (select max(z) from b where b.x = a.x), exists (select 1 from b where b.x = a.x limit 1 offset 8) from a
select a.id, a.x in (select b.x from b where b.z > a.y), a.x not in (select b.x from b where b.z > a.y and b.x is not null) from a
select a.id from a where a.x not in (select b.x from b where b.z > a.y)
select a.id from a where a.x in (select max(b.x) from b where b.z < a.x)
select a.id from a where (a.x, a.name) not in (select b.x, b.name from b where b.x is not null)
select a.id, (a.x, a.name) in (select b.x, b.name from b), (a.x, a.name) not in (select b.x, b.name from b where b.z = a.id % 3) from a
select a.id from a where (a.x, a.name) = (select b.x, b.name from b where b.id = a.id limit 1)
select id, (x, id) < (1, 20), (x, id) >= (1, 20), (x, id) <> (1, 20), (x, name) = (1, 'ant') from a
select id, (x, id) in (values (1, 2), (3, 4)) from a
select a.id, (select sum(c) from (select b.z as c from b where b.x = a.x union all select a.id) u) from a
select a.id, (select count(*) from (select b.z from b where b.x = a.x union select a.x union select 7) u), (select count(*) from (select z from b where b.x >= a.x except select a.x) u) from a
select a.id, (with w as (select b.z from b where b.x = a.x) select sum(z) from w), (with w as (select z, x from b) select count(*) from w where w.x > a.x) from a
select a.id, (select sum(b.z) from b where b.x in (select c.x from a c where c.y > a.y)) from a
select a.id, (select max(b.id) from b where exists (select 1 from n where n.x = b.z and n.x < a.x)) from a
select a.id, (select (select max(c.id) from b c where c.x = b.x and c.z < a.x) from b where b.id = a.id order by b.x nulls last, b.z nulls last limit 1) from a
select x, sum(id), (select max(b.z) from b where b.x < a.x), max(id) + (select count(*) from n where n.x > a.x) from a group by x
select x from a group by x having count(*) > (select count(*) from b where b.x = a.x)
select sum((select max(b.z) from b where b.x = a.x)), count((select b.x from b where b.id = a.id limit 1)) from a
select a.id, row_number() over (order by (select count(*) from b where b.x < a.x), a.id) from a
select id from a order by (select count(*) from b where b.x = a.x) desc, id limit 9
select a.id, (select max(r) from (select row_number() over (order by b.id) r from b where b.x >= a.x) w) from a
select a.id, case when a.x > 0 then (select max(b.z) from b where b.x < a.x) else (select count(*) from n where n.x < a.id) end from a
select a.id, (select distinct b.x from b where b.x = a.x) from a
select (select x from n where k = 2), (select x from n where k = 9), (select x from n where x = 2 union select 2)
select a.id, b.z from a left join b on a.x < b.x and b.z = 1
select a.id, b.z from a left join b on a.id < 3
select a.id, b.z from a left join b on b.z = 2 and a.id % 9 = 0
select a.id, n.k from a left join n on 1 = 1
select a.id, n.k from a left join n on 1 = 0
select a.id, b.id from a left join b on a.x = b.x and b.z > (select min(z) from b)
select a.id, b.id from a left join b on a.x = b.x and exists (select 1 from n where n.x = a.x)
select a.id, (select count(b.id) from n left join b on n.x = b.z and b.x > a.x) from a
select id, x % 3, x % -2, {x // 2|x / 2}, mod(x, 4) from a
select id, {extract(dow from day)|cast(strftime('%w', day) as integer)}, {isodow(day)|(strftime('%w', day) + 6) % 7 + 1} from a
select {position('b' in 'abc'), strpos('abc', 'b'), instr('abc', 'b')|2, 2, 2}
select {10 - 7 // 2, -7 // 2 * 2, 2 ** 3 + 1, 2 * 3 ** 2, '//**'|7, -6, 9, 18, '//**'}
select {date '2020-01-01' + interval '1 month' * 2, date '2020-03-31' + (-interval '1 month')|'2020-03-01T00:00:00', '2020-02-29T00:00:00'}
{select try_cast('x1' as integer), TRY_CAST (' 12' as bigint) + 1, try_cast('2001-02-29' as date) is null, try_cast(x as text) from n|select null, 13, 1, cast(x as text) from n}
select id from a where x > 0
select id from a where not x > 0
select id from a where x > 0 or y > 1
select id from a where not (x > 0 and y > 1)
select id from a where x is null or y is not null
select id from a where x in (1, 2, 3) or name in ('ant', 'zebra')
select id from a where x not in (1, 2, 3)
select id from a where x not in (1, 2, null)
select id from a where x between -2 and 2 and y not between 0 and 1
select id, case when x > 0 then 'plus' when x < 0 then 'minus' end from a
select id, case x when 1 then 'one' when 2 then 'two' else name end from a
select id, coalesce(x, 99), nullif(x, 1), coalesce(name, 'none') from a
select id from a where name like 'b%' or name like '%t' or name like '_e%'
select id from a where name not like '%a%'
select id from a where name like 'a\_b' escape '\' or name like 'a\%b' escape '\'
select id, name || '!' || name, {upper(name)|upper(name)}, length(name) from a where name is not null and name <> 'ähre'
select id, substring(name from 2 for 2), substring(name from 1 for 1) from a
select id, {replace(name, 'e', 'E')|replace(name, 'e', 'E')}, trim(name) from a
{select id, name ~ '[[:alpha:]]', name ~ '^\w+$', name !~ '[^a-z]' from a where name in ('ähre', '漢字', 'ant', '')|select id, name <> '', name <> '', name in ('ant', '') from a where name in ('ähre', '漢字', 'ant', '')}
select id from a where x is distinct from 1
select id from a where x is not distinct from null
select id from a where (x > 0) is true
select id from a where (x > 0) is not true
select id, extract(year from day), extract(month from day) from a
select id from a where day >= date '2010-01-01' and day < date '2010-01-01' + interval '5' year
select id, cast(x as double precision), cast(y as integer) from a where y is null or y in (-3.0)
select count(*), count(x), sum(x), avg(x), min(x), max(x), count(distinct x), min(name), max(name) from a
select count(*), count(x), sum(x), avg(x), min(x), max(x), count(distinct x), min(name) from e where id < 0
select sum(x), count(*) from e where id < 0 group by name
select name, count(*), count(x), sum(x), avg(y), min(y), max(x) from a group by name
select x, name, count(*) from a group by x, name
select x % 2 as odd, sum(y) from a where x >= 0 group by x % 2
select name n, sum(x) s from a group by 1 having sum(x) > 0 and count(*) > 1
{select name, x, count(*), sum(y) from a group by rollup (name, x)|select name, x, count(*), sum(y) from a group by name, x union all select name, null, count(*), sum(y) from a group by name union all select null, null, count(*), sum(y) from a}
{select x % 2 as odd, name, count(*) from a where id > 5 group by cube (1, name) having count(*) > 1|select x % 2, name, count(*) from a where id > 5 group by 1, 2 having count(*) > 1 union all select x % 2, null, count(*) from a where id > 5 group by 1 having count(*) > 1 union all select null, name, count(*) from a where id > 5 group by 2 having count(*) > 1 union all select null, null, count(*) from a where id > 5}
{select 1, count(*) from a group by ()|select 1, count(*) from a}
{select 1 from n group by ()|select 1}
{select x + 1 as c, x, count(*) from a group by grouping sets ((x + 1), (x, x + 1))|select x + 1, null, count(*) from a group by 1 union all select x + 1, x, count(*) from a group by 1, 2}
{select name, z, max(x) from b group by name, grouping sets ((z), ())|select name, z, max(x) from b group by name, z union all select name, null, max(x) from b group by name}
{select count(*) from (select day, sum(x) from a group by rollup (day)) t|select 1 + count(*) from (select distinct day from a)}
select name, sum(x) + count(*) * 2, max(x) - min(x) from a group by name having max(y) is not null
select count(*) filter (where x > 0), sum(x) filter (where y > 1), sum(y) filter (where x > 1000) from a
select distinct x from a
select distinct x, name from a where y > 0
select distinct name from a order by name nulls first
select count(distinct name), count(distinct x) from a group by y
select id, x from a order by x desc nulls last, id limit 7
select id, x from a order by x nulls first, id desc limit 30
select name, id from a where name is not null order by name, id
select x p, x q, id from a order by p desc nulls last, q nulls first, id, p
select id, rank() over (partition by x, x order by y nulls last, y nulls first) from a
select id, x * x as sq from a where x is not null order by sq desc, id
select id, x from a where x is not null order by abs(x), 1
select a.id, b.z from a join b on a.id = b.id
select a.id, b.z from a, b where a.id = b.id and b.z > 0
select a.id, b.id, b.z from a left join b on a.id = b.id
select a.id, b.z from a left join b on a.id = b.id and b.z > 0 and a.x > 0
select a.id, b.z from a left join b on a.id = b.id and b.z <> a.x
select a.id, b.z from a left join b on a.id = b.id where b.z is null
select a.id, b.id from a right join b on a.id = b.id and a.x > 0
select a.id, b.id, b.z from a full join b on a.id = b.id
select a.id, b.id from a full join b on a.id = b.id and a.x = b.x
select id, z from a join b using (id)
select * from n join {(select x, k as j from n) m|(select x, k as j from n) m} using (x)
{select * from (select k, x from n) l right join (select x, k as j from n) m using (x)|select m.x, l.k, m.k from n m left join n l on l.x = m.x}
{select * from (select k, x from n) l natural full join (select x, k as j from n where k > 1) m|select l.x, l.k, m.k from n l left join n m on l.x = m.x and m.k > 1}
{select * from (select k, x from n) l join (select x, k as j from n) m using (x) left join (select k, x as i from n) o using (k)|select l.k, l.x, m.k, o.x from n l join n m using (x) left join n o on o.k = l.k}
{select * from (select x from n) l natural join ((select x, k as a from n) p join (select x, k as b from n) q using (x))|select p.x, p.k, q.k from n l join n p using (x) join n q using (x)}
{select l.*, x from (select k, x from n) l right join (select x, k as j from n) m using (x)|select l.k, l.x, m.x from n m left join n l on l.x = m.x}
select id, a.id, b.id, z from a full join b using (id)
select id, z from a right join b using (id)
select id, b.id, z from a left join b using (id) where id > 20
select a.x, b.x from a join b on a.x = b.x and a.name = b.name
select a.id, p.x, q.z from a join b p on a.id = p.id left join b q on q.id = p.id and q.z = p.z
{select * from n semi join b using (x)|select * from n where x in (select x from b)}
{select * from a left anti join b using (id) where x > 0|select * from a where x > 0 and id not in (select id from b where id is not null)}
{select p.id, k from a p ANTI JOIN b q on p.id = q.id and p.x > 0 and q.z > 0 join n on n.x = p.x|select p.id, k from a p join n on n.x = p.x where not exists (select 1 from b q where p.id = q.id and p.x > 0 and q.z > 0)}
{select * from n semi join (a p left join b q on q.id = p.id) on p.x = n.x anti join e on e.x = k|select * from n where x in (select x from a) and k not in (select x from e)}
select anti.x, semi.k from n as anti join n as semi on anti.k = semi.x
select count(*) from a, b
select count(*) from a cross join n
select a.id, n.k from a, n where a.x < n.x and a.id < 10
select l.id, r.id from a l join a r on l.x = r.x and l.id < r.id where l.y > 0
select a.id, b.z, n.k from a left join (b join n on b.x = n.x) on b.id = a.id
select id from a where exists (select * from b where b.id = a.id)
select id from a where not exists (select * from b where b.id = a.id and b.z > 0)
select id from a where exists (select 1 from b where b.id = a.id and b.x <> a.x)
select id from a where not exists (select 1 from b where b.id = a.id and b.x < a.x and b.z > 0)
select id from a where x in (select x from b where z = 1)
select id from a where x not in (select x from n)
select id from a where x not in (select x from n where x is not null)
select id from a where x not in (select x from e where id < 0)
select id from a where x in (select x from b where b.name = a.name)
select id from a where x in (select max(x) from b group by name)
select id from a where (x, name) in (select x, name from b)
select id from a where x = 1 or exists (select 1 from b where b.id = a.id and b.z = 1)
select a.id from a, b where a.id = b.id and a.y > (select avg(a.y) from a, b where a.id = b.id)
select a.id, (select max(b.z) from a, b where a.id = b.id), (select min(z) from b) from a
select p.id from a p where exists (select * from a, b where a.id = b.id and a.x = p.x)
select id from a where (select count(*) from a p, b where p.id = b.id and p.x = a.x) > 1
select id from a where x in (select x from a where y > 1) and x not in (select a.x from a, n where a.x = n.x)
select x, count(*) from a group by x having count(*) > (select avg(c) from (select count(*) as c from a group by x) t)
select id from a where y > (select avg(y) from a where x > (select min(x) from a where id < 10))
select p.id from a p join a q on p.id = q.id where p.y >= (select max(q.y) from a p join a q on p.id = q.id where p.x = q.x)
select id, x in (select x from n where x is not null) from a where x is not null
select id, x in (select x from n), x not in (select x from n), x in (select x from n where x > 5), x not in (select x from e where id < 0) from a
select id from a where x not in (select x from n) or y > 1
select id from a where y > 1 or not (x in (select x from n where x is not null))
select id, case when x not in (select x from b where b.id = a.id) then 1 when x in (select z from b where b.name = a.name) then 2 end from a
select id from a where x not in (select x from b where b.name = a.name)
select id from a where x not in (select z from b where b.id = a.id and b.x < a.x)
select id from a where name not in (select name from b where b.id = a.id) or x not in (select z from b where b.x = a.x)
select id from a where x > (select avg(x) from b)
select 1, 'one', null, 1 + 1 where 1 = 1
select 1 where 1 = 0
select count(*), sum(3)
select (select max(x) from a) as most, (select count(*) from b)
select (select 2 - 3), (values (4)), (select 1 where 1 = 2 limit 1)
select id + (select 1) from a where x > (select -1)
values (1, 'a', 2.5e0), (2, null, null), (null, 'it''s', 3)
select column1 + 1, column2 from (values (1, 'x'), (2, 'y')) {v|} where column1 > 1
select a.id, t.word from a join {(values (1, 'one'), (2, 'two')) t(number, word)|(select column1 as number, column2 as word from (values (1, 'one'), (2, 'two'))) t} on a.x = t.number
with t(n, w) as (values (1, 'p'), (3, 'q')) select w, count(*) from t join a on a.x >= t.n group by w
select id from a where x in (values (1), (3))
{select n * n from generate_series(-2, 7, 3) n|select value * value from (select -2 as value union all select 1 union all select 4 union all select 7)}
{select count(*), sum(range) from range(1000)|select 1000, 499500}
{select distinct on (name) name, x, id from a order by name nulls first, x nulls last, id desc|select name, x, id from (select *, row_number() over (partition by name order by x nulls last, id desc) as r from a) where r = 1 order by name nulls first}
{select distinct on (x % 2) id from a order by x % 2 nulls last, id desc limit 2|select max(id) from a group by x % 2 order by x % 2 nulls last limit 2}
{select distinct on (x, x) x, id from a order by x nulls first, id|select x, min(id) from a group by x order by x nulls first}
{select id from a order by id fetch first 3 rows only|select id from a order by id limit 3}
select id, first_value(x) over (partition by name order by id), last_value(x) over (partition by name order by id), nth_value(x, 2) over (partition by name order by id) from a
select id, first_value(y) over (order by x nulls last, id desc), last_value(x) over (order by y nulls first), nth_value(name, 3) over (order by id rows between unbounded preceding and unbounded following) from a where y is not null
select id, first_value(name) over (order by id rows 3 preceding), last_value(name) over (order by id rows 3 preceding), last_value(id) over (partition by y order by id rows between unbounded preceding and unbounded following) from a
select id from a where x > (select avg(x) from e where id < 0)
select id, (select max(z) from b where b.id = a.id) from a
select id, (select count(*) from b where b.x = a.x) from a
select id, (select coalesce(max(z), 0) from b where b.id = a.id) from a
select id, (select count(*) * 2 + coalesce(sum(z), 100) + count(distinct x) from b where b.id = a.id) from a
select id, (select case when max(z) is null then 'none' else 'some' end from b where b.id = a.id) from a
select id from a where (select min(z) is null from b where b.id = a.id) and x > (select count(z) - 1 from b where b.name = a.name)
select id from a where x = (select max(b.x) from b where b.name = a.name)
select id from a where y > (select 0.1 * sum(b.z) from b where b.name = a.name and b.z > 0)
select id, x - (select min(x) from a) from a where x is not null
select name, (select count(*) from b) + count(*) from a group by name
select name from a group by name having count(*) > (select count(*) / 20 from b where z = 1)
select name, sum(x) from a group by name order by (select max(x) from n), name nulls last
select x from a union select x from b
select x from a union all select x from b
select x, name from a intersect select x, name from b
select x from a except select x from b where x > 0
select x from a union select z from b order by x nulls last
select id from (select id from a order by id desc) t limit 3
with c as (select id, x from a order by x nulls last, id desc) select id + 1 from c where id > 3 limit 7
select id from (select id, y from (select id, y from b join a using (id) order by y nulls last, id desc, z nulls first) t where y > 0) u limit 9
select count(*) from (select distinct x, name from a) t
select t.s, count(*) from (select name, sum(x) as s from a group by name) t group by t.s
select {t.p, t.x|t.id, t.x} from (select id, x from a where x > 2) t{(p)|}
with c as (select name, count(*) n from a group by name) select p.name, q.n from c p join c q on p.n = q.n
with c(k, n) as (select x, count(*) from a group by x), d as (select max(n) m from c) select k, n from c, d where n = m
select id i, id + 1 id, x i2 from a where id < 5
select * from n
select a.*, n.k from a, n where a.x = n.x
select id from a where (x = 1 and name = 'ant') or (x = 2 and name = 'cat') or (x = 1 and y > 0)
select a.id, b.z from a, b where (a.id = b.id and a.x = 1) or (a.id = b.id and b.z = 2)
select id from a limit 0
select id, x from a order by id limit 5 offset 7
select id from a order by id desc {offset 50|limit -1 offset 50}
select count(*) from (select id from a order by x, id limit 10 offset 55) t
select id from a order by id limit 10 offset 1000
select id from a where 1 = 2
select id, x from a where true order by id limit 3
select max(id) from a where x = 1 order by 1
select 1, 'two', null is null from n
select id from a order by id desc limit 1
select p.x, p.k from n p, n q where p.k = q.k and q.x = 1
select a.id from a where a.x in (select b.x from b where b.id in (select id from a where y > 0))
select a.id, s.total from a join (select x, sum(z) total from b group by x) s on s.x = a.x where s.total > 3
select count(*) from a where day is null
select id, row_number() over (order by id) from a
select id, row_number() over (partition by x order by id desc) from a
select id, rank() over (order by x), dense_rank() over (order by x) from a where x is not null
select id, rank() over (partition by name order by y desc nulls last) from a
select id, ntile(3) over (order by id) from a
select id, lag(x) over (order by id), lead(x, 2) over (order by id) from a
select id, lag(name) over (partition by x order by id) from a
select id, sum(x) over (), count(*) over (), avg(y) over (partition by name), min(x) over (partition by name) from a
select id, sum(x) over (order by id) from a
select id, sum(x) over (order by y nulls last) from a
select id, count(*) over (order by y nulls last), count(x) over (order by y nulls last) from a
select id, sum(x) over (partition by name order by id rows unbounded preceding) from a
select id, min(x) over (order by id), max(y) over (partition by x order by id) from a
select id, avg(x) over (order by id) from a
select id, sum(x) over (order by id rows between 2 preceding and current row) from a
select id, avg(y) over (order by id rows 3 preceding), max(x) over (order by id rows 1 preceding) from a
select id, count(x) over (order by id rows 3 preceding) from a
select id, x * 100 / sum(x * x) over (partition by name){| * 1.0} from a where id < 0
select name, sum(x), rank() over (order by sum(x) desc nulls last) from a group by name
select id from (select id, row_number() over (partition by name order by id) r from a) t where r = 1
select id, sum(x) over w, count(*) over w from a window w as (partition by name)
select id, count(*) over w2, sum(x) over (w rows 1 preceding) from a window w as (partition by x order by id), v as (partition by y), w2 as (v order by id)
select id from a order by row_number() over (partition by x order by id desc), id
{select percentile_cont(0.1) within group (order by id desc), percentile_cont(0.1) within group (order by id) filter (where id > 9) from a|select 53.1, 14.9}
select id, x - avg(x) over (partition by y) as d from a where x is not null order by d, id
select name, x from a where name = '漢字' or name = 'it''s'
"""


def split(query):
    return re.sub(r'\{([^|{}]*)\|[^{}]*\}', r'\1', query), re.sub(r'\{[^|{}]*\|([^{}]*)\}', r'\1', query)


def for_sqlite(sql):
    sql = re.sub(r"date '([\d-]+)' \+ interval '(\d+)' (\w+)", r"date('\1', '+\2 \3')", sql)
    sql = re.sub(r"date '([\d-]+)'", r"'\1'", sql)
    sql = re.sub(r"extract\((\w+) from (\w+)\)",
                 lambda m: f"cast(strftime('{ {'year': '%Y', 'month': '%m'}[m[1]] }', {m[2]}) as integer)", sql)
    sql = re.sub(r"substring\((\w+) from (\d+) for (\d+)\)", r"substr(\1, \2, \3)", sql)
    return sql


def plain(value):
    if isinstance(value, bool):
        return int(value)
    return round(value, 9) + 0.0 if isinstance(value, float) else value


def rows_of(rows):
    return [tuple(plain(value) for value in row) for row in rows]


def comparable(rows):
    return collections.Counter(tuple(float(v) if isinstance(v, (int, float)) else v for v in row) for row in rows)


class Engines(CommandLine):
    def ready(self):
        self.sqlite = sqlite3.connect(':memory:')
        self.sqlite.execute('pragma case_sensitive_like = on')
        for name, (columns, rows) in TABLES.items():
            self.sqlite.execute(f"create table {name} ({', '.join(columns)})")
            self.sqlite.executemany(f"insert into {name} values ({', '.join('?' * len(columns))})", rows)
            with open(f'{self.base}/{name}.csv', 'w') as file:
                file.write(','.join(column.split()[0] for column in columns) + '\n')
                for row in rows:
                    file.write(','.join('\\N' if v is None else '"' + v.replace('"', '""') + '"' if isinstance(v, str) else str(v)
                                        for v in row) + '\n')
            self.must('load', '--null', '\\N', '--chunk-bytes', '500', name, f'{self.base}/{name}.csv')

    def differ(self, query):
        """What is different, or None."""
        ours, theirs = split(query)
        ended = self.call('sql', '--json', '--discard', ours)
        if ended.returncode != 0:
            return ended.stderr.strip()
        got = rows_of([list(row.values()) for row in json.loads(ended.stdout)])
        want = rows_of(self.sqlite.execute(for_sqlite(theirs)).fetchall())
        if comparable(got) != comparable(want):
            return f'  {len(got)} rows, {len(want)} expected; surplus {list((comparable(got) - comparable(want)))[:3]}, missing ' \
                   f'{list((comparable(want) - comparable(got)))[:3]}'
        outside = ours
        while '(' in outside:
            outside = re.sub(r'\([^()]*\)', '', outside)
        if ' order by ' in outside and [list(comparable([r]))[0] for r in got] != [list(comparable([r]))[0] for r in want]:
            return f'  order: {got[:5]}..., expected {want[:5]}...'
        return None


wrong = 0
queries = [line for line in QUERIES.strip().splitlines() if line.strip()]
with Engines(binaries) as engines:
    for query in queries:
        differs = engines.differ(query)
        if differs is not None:
            print(query + '\n' + differs, flush=True)
            wrong += 1
    # A subquery joins what the query around it joins: once is enough.
    common = engines.call('sql', '--explain', 'select a.id from a, b where a.id = b.id and a.y > (select avg(a.y) from a, b where a.id = b.id)')
    if 'common-steps: \'join' not in common.stdout:
        print('no step is shared\n' + common.stdout + common.stderr)
        wrong += 1
print(f'{len(queries) - wrong} of {len(queries)} statements equal')
sys.exit(1 if wrong else 0)
