select id from a where x in (select y from b where b.id = a.id) or not exists (select 1 from b where b.y = a.x)
