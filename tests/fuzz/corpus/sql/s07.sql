select (select avg(y) from b where b.id = a.id), count(distinct x) filter (where x > 1) from a group by a.id
