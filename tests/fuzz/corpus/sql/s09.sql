select * from (select id, x from a limit 5 offset 1) t natural full join b
