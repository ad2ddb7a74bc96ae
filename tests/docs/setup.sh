# Files, tables and programs that blocks of the pages name; the blocks run in this directory, with this instance.
mkdir bin build trips
ln -s "$BUILD" build/release
granary up --executors 2 --memory 256M
cat >trips.csv <<END
town,year,month,price,km,day
Oslo,2022,1,4.5,2,2022-01-03
Rome,2023,2,7.0,4,2023-02-03
Rome,2024,1,9.5,5,2024-01-09
END
gzip -k trips.csv
cp trips.csv trips/a.csv
cp trips.csv trips/b.csv
granary sql "COPY (SELECT * FROM 'trips.csv') TO 'trips.parquet' (FORMAT parquet)"
cp trips.parquet trips/c.parquet
granary sql "COPY (SELECT 3 AS shop, 1 AS product_id, 1500.0 AS price, 0.1 AS discount, 2.5 AS amount, DATE '2024-03-01' AS day) TO 'sales.csv' (HEADER)"
granary sql "COPY (SELECT 3 AS shop, 'Oslo' AS town) TO 'shops.csv' (HEADER)"
cp "$SOURCE/libclient/examples/data/birdstrikes.csv" .
granary sql <<'END'
CREATE TABLE products AS SELECT 1 AS product_id, 'nail' AS name;
CREATE TABLE staff AS SELECT * FROM (VALUES (1, NULL), (2, 1), (3, 2)) s(id, boss);
CREATE TABLE edges AS SELECT * FROM (VALUES ('a', 'b', 1), ('b', 'c', 2), ('a', 'c', 5)) e(source, target, length);
CREATE TABLE people AS SELECT 'Ada' AS name, 36 AS age, '{"name": "Ada", "age": 36, "tags": ["x"], "address": {"city": "London"}}' AS j;
CREATE TABLE readings (celsius double precision);
CREATE TABLE warm_rooms (celsius double precision);
INSERT INTO readings VALUES (18), (23.5);
CREATE TABLE clicks (page text);
INSERT INTO clicks VALUES ('home');
END
granary sql --keep=t "SELECT * FROM (VALUES (1, 1, 'x', 3, 30, 1, ['x', 'y'], ['a', 'b'])) t(id, k, name, x, age, t, l, tags)"
granary sql --keep=strikes "SELECT * FROM 'birdstrikes.csv'" -o strikes.csv
# Of the network, and of a program of the reader.
printf '#!/bin/sh\ncat trips.parquet\n' >bin/curl
chmod +x bin/curl
echo 'import sys; assert len(sys.stdin.buffer.read()) > 100' >plot.py
