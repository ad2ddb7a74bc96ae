select * from a left join b on a.id = b.id and a.x > b.y where b.name is null
