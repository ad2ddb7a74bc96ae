// DuckDB (npm @duckdb/node-api) as a session: a JSON request a line, a JSON answer a line behind "> ", for DuckDB itself
// writes to stdout (COPY ... TO stdout). node session.js DIRECTORY
//   {"open": true}      a new database                 {}
//   {"run": TEXT}       a statement                    {} or {"error": ...}
//   {"rows": TEXT}      a SELECT                       {"types": [...], "names": [...], "rows": [[...]]} or {"error": ...}
'use strict';
const {DuckDBInstance} = require(`${process.argv[2]}/node_modules/@duckdb/node-api`);
const readline = require('readline');

const LONGEST_MS = 10000;
const MOST_ROWS = 100000;
let instance, connection;

async function answer(request) {
    if (request.open) {
        if (connection) connection.closeSync();
        instance = await DuckDBInstance.create(':memory:', {threads: '1', memory_limit: '2GB'});
        connection = await instance.connect();
        return {};
    }
    const timer = setTimeout(() => connection.interrupt(), LONGEST_MS);
    try {
        if (request.run !== undefined) {
            await connection.run(request.run);
            return {};
        }
        const reader = await connection.streamAndReadUntil(request.rows, MOST_ROWS);
        if (!reader.done) return {error: `more than ${MOST_ROWS} rows`};
        return {types: reader.columnTypes().map(String), names: reader.columnNames(), rows: reader.getRowsJson()};
    } catch (error) {
        return {error: String(error.message || error)};
    } finally {
        clearTimeout(timer);
    }
}

(async () => {
    for await (const line of readline.createInterface({input: process.stdin})) {
        console.log('\n> ' + JSON.stringify(await answer(JSON.parse(line))));
    }
})().catch((error) => { console.error(String(error)); process.exit(1); });
