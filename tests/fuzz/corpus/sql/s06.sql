select distinct name from a union select name from b order by 1
