// Folders that granary has written, read by DuckDB: read.mjs CASES. A case has a pattern, its format and questions; the answers are printed.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { DuckDBInstance } = createRequire(import.meta.url)(process.env.DUCKDB_MODULE);
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const answers = [];
for (const { glob, format, asked } of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
    const source = format === 'csv' ? `read_csv('${glob}', hive_partitioning=true)` : format === 'ndjson'
        ? `read_json('${glob}', format='newline_delimited', hive_partitioning=true)` : `read_parquet('${glob}', hive_partitioning=true)`;
    for (const text of asked) {
        const reader = await connection.runAndReadAll(text.replace('FILES', source));
        answers.push(reader.getRowsJson());
    }
}
console.log(JSON.stringify(answers));
