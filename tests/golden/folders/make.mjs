// Random folders of Parquet and CSV files, by DuckDB: make.mjs DIRECTORY SEED FOLDERS. Beside them: DuckDB's answers to questions over all
// files of each, columns by name, with conditions on what folders and files tell.
import { writeFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';

const { DuckDBInstance } = createRequire(import.meta.url)(process.env.DUCKDB_MODULE);
const [directory, seed, folders] = process.argv.slice(2);
let state = (Number(seed) * 2654435761 % 4294967296) || 1;
const random = (n) => { // xorshift
    state ^= state << 13; state >>>= 0; state ^= state >>> 17; state ^= state << 5; state >>>= 0;
    return state % n;
};
const choice = (list) => list[random(list.length)];
const connection = await (await DuckDBInstance.create(':memory:')).connect();

const keys = {
    year: ['2020', '2021', '2022', '1999'], name: ["it's", 'a b', 'ä', 'x/y', '100%'], day: ['2024-02-29', '1970-01-01', '2030-12-31'],
};
const literal = (key, value) => key === 'year' ? value : key === 'day' ? `DATE '${value}'` : `'${value.replaceAll("'", "''")}'`;

const condition = (used, depth = 0) => {
    if (depth < 2 && random(3) === 0) {
        return `(${condition(used, depth + 1)}) ${choice(['AND', 'OR'])} (${condition(used, depth + 1)})`;
    }
    if (depth < 2 && random(8) === 0) return `NOT (${condition(used, depth + 1)})`;
    if (random(4) === 0) return choice([`a > ${random(100)}`, `b IS NULL`, `a % 3 = ${random(3)}`, `c < ${random(50)}`]);
    const key = choice(used);
    const x = literal(key, choice(keys[key])), y = literal(key, choice(keys[key]));
    return choice([`${key} = ${x}`, `${key} <> ${x}`, `${key} < ${x}`, `${key} >= ${x}`, `${x} > ${key}`, `${key} IN (${x}, ${y})`,
                   `${key} NOT IN (${x}, ${y})`, `${key} BETWEEN ${x} AND ${y}`, `${key} IS NULL`, `${key} IS NOT NULL`]);
};

const cases = [];
for (let number = 0; number < Number(folders); number++) {
    const format = choice(['parquet', 'parquet', 'csv']);
    const used = Object.keys(keys).filter(() => random(3) > 0);
    if (used.length === 0) used.push('year');
    const top = `${directory}/f${number}`;
    for (let part = 0; part < 2 + random(3); part++) {
        const columns = choice([['a', 'b', 'c'], ['c', 'a', 'b'], ['b', 'a', 'c', 'd']]);
        const types = { a: choice(['INTEGER', 'BIGINT', 'SMALLINT']), b: choice(['INTEGER', 'BIGINT']), c: choice(['DOUBLE', 'INTEGER']), d: 'VARCHAR' };
        const values = { a: 'i % 97', b: 'CASE WHEN i % 5 = 0 THEN NULL ELSE i * 3 END', c: 'i % 51', d: "'text' || i % 7" };
        const folder = used.map((key, at) => `CASE i * ${at + 3} % 11 ${keys[key].map((v, k) => `WHEN ${k} THEN '${v.replaceAll("'", "''")}'`).join(' ')}
            ${random(2) ? '' : `ELSE '${keys[key][0].replaceAll("'", "''")}'`} END AS ${key}`);
        mkdirSync(`${top}/p${part}`, { recursive: true });
        await connection.run(`COPY (SELECT ${columns.map((c) => `(${values[c]})::${types[c]} AS ${c}`).join(', ')}, ${folder.join(', ')}
            FROM range(${1 + random(400)}) t(i)) TO '${top}/p${part}' (FORMAT ${format}${format === 'csv' ? ', HEADER' : ''}, PARTITION_BY (${used.join(', ')}))`);
    }
    const glob = `${top}/**/*.${format}`;
    const source = format === 'csv' ? `read_csv('${glob}', union_by_name=true, hive_partitioning=true)`
                                    : `read_parquet('${glob}', union_by_name=true, hive_partitioning=true)`;
    const asked = [];
    for (let k = 0; k < 12; k++) {
        const where = condition(used);
        const what = `count(*), sum(a), sum(b), sum(c), ${used.map((key) => `count(${key}), count(DISTINCT ${key})`).join(', ')}`;
        const reader = await connection.runAndReadAll(`SELECT ${what} FROM ${source} WHERE ${where}`);
        asked.push({ what, where, answer: reader.getRowsJson()[0].map((v) => v === null ? null : Number(v)) });
    }
    cases.push({ glob, top: `${top}/`, asked });
}
writeFileSync(`${directory}/cases.json`, JSON.stringify(cases));
