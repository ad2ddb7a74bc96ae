select * from read_csv('t.csv', delim = ';', dtypes => array['a int64', 'b'])
