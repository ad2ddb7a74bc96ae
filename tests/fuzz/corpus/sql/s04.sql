with c (n, m) as (select name, max(x) from a group by name) select * from c x, c y where x.n = y.n
