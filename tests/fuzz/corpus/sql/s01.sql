select a.id, sum(x + y) from a join b using (id) where a.name like 'o%' group by 1 having count(*) > 0 order by 2 desc nulls first limit 3
