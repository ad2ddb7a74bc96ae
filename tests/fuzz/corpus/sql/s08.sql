select id from a where id not in (select id from b) and day < date '2020-01-01' + interval '3' month
