select case x when 1 then 'a' else name end, extract(year from day), x::decimal(10, 2) from 'a.csv'
