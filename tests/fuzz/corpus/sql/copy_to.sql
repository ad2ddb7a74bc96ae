copy (select a, b from t) to 'x.csv' (format csv, delimiter ';', null_values (a, b))
