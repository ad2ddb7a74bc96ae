// Files of granary, read and written again: back.mjs DIRECTORY. Of each X.parquet there, X.duckdb, X.polars and X.arrow-rs have the same
// rows; of each condition of cases.json, DuckDB counts the rows, by statistics and without. Of each value of probes.json, it tells
// whether the Bloom filters of all row groups exclude it. Polars where $POLARS_MODULE is set, arrow-rs
// (as parquet-wasm) where $WASM_MODULE is.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { DuckDBInstance } = require(process.env.DUCKDB_MODULE);
const pl = process.env.POLARS_MODULE ? require(process.env.POLARS_MODULE) : null;
const wasm = process.env.WASM_MODULE ? require(process.env.WASM_MODULE) : null;
const directory = process.argv[2];
const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
const count = async (from, where) => Number((await connection.runAndReadAll(`SELECT count(*) FROM ${from} WHERE ${where}`)).getRows()[0][0]);

for (const file of readdirSync(directory).filter((f) => f.endsWith('.parquet'))) {
    const path = `${directory}/${file}`;
    const stem = path.slice(0, -'.parquet'.length);
    // Without dictionaries: DuckDB's take 0.0 and -0.0 for one.
    await connection.run(`COPY (SELECT * FROM '${path}') TO '${stem}.duckdb' (FORMAT parquet, DICTIONARY_SIZE_LIMIT 1)`);
    if (pl !== null) writeFileSync(`${stem}.polars`, pl.readParquet(readFileSync(path)).writeParquet());
    if (wasm !== null) writeFileSync(`${stem}.arrow-rs`, wasm.writeParquet(wasm.readParquet(readFileSync(path))));
}
const answers = [];
let loaded = '';
for (const { file, where } of JSON.parse(readFileSync(`${directory}/cases.json`))) {
    if (file !== loaded) await connection.run(`CREATE OR REPLACE TABLE t AS SELECT * FROM '${directory}/${file}'`);
    loaded = file;
    answers.push([await count(`'${directory}/${file}'`, where), await count('t', where)]);
}
const excluded = [];
for (const { file, column, value } of JSON.parse(readFileSync(`${directory}/probes.json`))) {
    const rows = await connection.runAndReadAll(`SELECT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe('${directory}/${file}', '${column}', ${value})`);
    excluded.push(rows.getRows()[0][0]);
}
writeFileSync(`${directory}/excluded.json`, JSON.stringify(excluded));
const types = {};
for (const file of readdirSync(directory).filter((f) => f.endsWith('.parquet'))) {
    const rows = await connection.runAndReadAll(`SELECT name, type || ' ' || precision FROM parquet_schema('${directory}/${file}') WHERE precision IS NOT NULL`);
    types[file] = Object.fromEntries(rows.getRows());
}
writeFileSync(`${directory}/types.json`, JSON.stringify(types));
writeFileSync(`${directory}/answers.json`, JSON.stringify(answers));
