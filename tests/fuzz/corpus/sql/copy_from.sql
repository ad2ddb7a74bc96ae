copy t (a) from 'x.ndjson' where a > 1
