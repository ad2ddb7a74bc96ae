// DuckDB (npm @duckdb/node-api), one SELECT a line: its rows as JSON, or {"error": ...}, in a line. node duckdb.js DIRECTORY
'use strict';
const {DuckDBInstance} = require(`${process.argv[2]}/node_modules/@duckdb/node-api`);
const readline = require('readline');

async function main() {
    const connection = await (await DuckDBInstance.create(':memory:', {threads: '1'})).connect();

    for await (const line of readline.createInterface({input: process.stdin})) {
        let answer;

        try {
            const reader = await connection.runAndReadAll(JSON.parse(line));

            answer = {types: reader.columnTypes().map(String), rows: reader.getRowsJson()};
        } catch (error) {
            answer = {error: String(error)};
        }
        console.log(JSON.stringify(answer));
    }
}
main().catch((error) => { console.error(String(error)); process.exit(1); });
