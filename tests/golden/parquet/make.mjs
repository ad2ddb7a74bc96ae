// Random tables as Parquet files of many shapes, by DuckDB: make.mjs DIRECTORY SEED TABLES. Beside each: what is in it, as
// CSV with '\N' for nulls, and how many rows fulfil conditions.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { DuckDBInstance } = createRequire(import.meta.url)(process.env.DUCKDB_MODULE);
const [directory, seed, tables] = process.argv.slice(2);
let state = Number(seed) * 2654435761 % 4294967296;
const random = (n) => { // xorshift
    state ^= state << 13; state >>>= 0; state ^= state >>> 17; state ^= state << 5; state >>>= 0;
    return state % n;
};
const choice = (list) => list[random(list.length)];

// An expression of a value of row i; h(k): a number that looks random.
const types = {
    bool: 'h(1) % 2 = 0',
    tiny: "(h(2) % 256 - 128)::TINYINT", utiny: '(h(2) % 256)::UTINYINT',
    small: '(h(3) % 65536 - 32768)::SMALLINT', usmall: '(h(3) % 65536)::USMALLINT',
    int: '(h(4)::BIGINT % 4294967296 - 2147483648)::INTEGER', uint: '(h(4)::BIGINT % 4294967296)::UINTEGER',
    near: '(i / 10 + h(4) % 5)::INTEGER', few: '(h(5) % 7)::BIGINT',
    big: '(h(6)::HUGEINT * 9007199254740881 % 18446744073709551615 - 9223372036854775807)::BIGINT',
    ubig: '(h(6)::HUGEINT * 9007199254740881 % 18446744073709551616)::UBIGINT',
    real: "((h(7) % 100000) / 7.0)::REAL", double: "CASE WHEN h(8) % 50 = 0 THEN 'nan'::DOUBLE ELSE (h(8) - 1e6) / 3.0 END",
    price: '((h(9) % 200000 - 100000) / 100.0)::DECIMAL(8, 2)', amount: '((h(9) % 200000 - 100000) / 100.0)::DECIMAL(15, 2)',
    huge: '((h(9)::HUGEINT * 1000000007 * 1000000009) - 1000000000000000000000)::DECIMAL(38, 4)',
    day: "DATE '1992-01-01' + (h(10) % 20000 - 5000)::INTEGER",
    at: "TIMESTAMP '1970-01-01' + to_microseconds((h(11)::BIGINT * 1234567 % 8000000000000000 - 4000000000000000)::BIGINT)",
    at_ms: "(TIMESTAMP '1970-01-01' + to_milliseconds(h(11)::BIGINT * 1234567 % 4000000000000))::TIMESTAMP_MS",
    at_ns: "(TIMESTAMP '1970-01-01' + to_microseconds((h(11)::BIGINT * 1234567 % 4000000000000000)::BIGINT))::TIMESTAMP_NS",
    clock: "TIME '00:00:00' + to_microseconds((h(18) * 20000 % 86400000000)::BIGINT)",
    zoned: "(TIMESTAMP '1970-01-01' + to_microseconds((h(19)::BIGINT * 1234567 % 8000000000000000 - 4000000000000000)::BIGINT)) AT TIME ZONE 'UTC'",
    raw: "unhex(left(md5(h(20)::VARCHAR), (h(21) % 9 * 2)::INTEGER))", id: 'md5(h(22)::VARCHAR)::UUID',
    word: "['apple', 'pear', '', 'größe €', 'quince'][(h(12) % 5 + 1)::INTEGER]",
    name: "'row ' || (i // 3)::VARCHAR || CASE WHEN h(13) % 9 = 0 THEN ' äöü' ELSE '' END", text: "repeat(chr((97 + h(14) % 26)::INTEGER), (h(15) % 40)::INTEGER)",
    s: "{'x': (h(16) % 1000)::INTEGER, 'y': CASE WHEN h(17) % 3 = 0 THEN NULL ELSE 'y' || (h(17) % 10)::VARCHAR END}",
};
const shown = (name) => name === 's' ? ['s.x AS "s.x"', 's.y AS "s.y"'] : [`"${name}"`];
const text = (name) => name.replace(/^(.*?)( AS .*)?$/, (all, value, as) => `${value}::VARCHAR${as ?? ` AS ${value}`}`);
const literals = {
    near: (n) => random(n / 10 + 10), few: () => random(8), int: () => random(4294967295) - 2147483648, tiny: () => random(250) - 125, small: () => random(60000) - 30000,
    price: () => `${random(2000) - 1000}.${10 + random(90)}`, amount: () => `${random(2000) - 1000}.25`, day: () => `DATE '${1980 + random(60)}-0${1 + random(9)}-11'`,
    at: () => `TIMESTAMP '${1900 + random(150)}-05-0${1 + random(9)} 01:02:03'`, word: () => `'${choice(['apple', 'pear', '', 'fig', 'zoo'])}'`, name: (n) => `'row ${random(n / 3 + 5)}'`,
    clock: () => `TIME '${10 + random(14)}:${10 + random(50)}:00'`, zoned: () => `TIMESTAMPTZ '${1900 + random(150)}-05-0${1 + random(9)} 01:02:03+00'`,
    double: () => `${random(4000000000) / 3.5}`, usmall: () => random(65536), uint: () => random(4294967295), at_ms: () => `TIMESTAMP '${1970 + random(130)}-05-0${1 + random(9)} 01:02:03'`,
};

const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
await connection.run("SET TimeZone = 'UTC'");
const cases = [];
for (let t = 0; t < Number(tables); t++) {
    const rows = choice([0, 1, 7, 100, 1000, 5000, 20000]);
    const names = Object.keys(types).filter(() => random(3) > 0);
    if (names.length === 0) names.push('few');
    const salt = random(1000000);
    const null_in = choice([0, 2, 5, 100]);
    const columns = names.map((name, c) => {
        const value = types[name].replaceAll(/h\((\d+)\)/g, (all, k) => `(hash(i * 31 + ${k} + ${salt}) % 4294967291)::BIGINT`);
        return null_in > 0 && random(3) > 0 ? `CASE WHEN hash(i + ${c} + ${salt}) % ${null_in} = 0 THEN NULL ELSE ${value} END AS "${name}"` : `${value} AS "${name}"`;
    });
    await connection.run(`CREATE OR REPLACE TABLE t AS SELECT ${columns.join(', ')} FROM range(${rows}) r(i)`);
    const codec = choice(['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw', 'zstd']);
    const file = `${directory}/t${t}.parquet`;
    const options = ['FORMAT parquet', `COMPRESSION ${codec}`, `ROW_GROUP_SIZE ${choice([2048, 4096, 122880])}`, `PARQUET_VERSION ${choice(['v1', 'v2'])}`];
    if (random(3) === 0) options.push(`DICTIONARY_SIZE_LIMIT ${choice([1, 10, 1000])}`);
    await connection.run(`COPY (SELECT * FROM t) TO '${file}' (${options.join(', ')})`);
    await connection.run(`COPY (SELECT ${names.flatMap(shown).map(text).join(', ')} FROM t) TO '${directory}/t${t}.csv' (FORMAT csv, HEADER, NULLSTR '\\N', FORCE_QUOTE *)`);
    const asked = [];
    for (const name of names.filter((n) => n in literals)) {
        for (let k = 0; k < 3; k++) {
            const literal = () => literals[name](rows);
            const where = choice([() => `"${name}" = ${literal()}`, () => `"${name}" < ${literal()}`, () => `"${name}" >= ${literal()}`, () => `"${name}" > ${literal()}`,
                                  () => `"${name}" IN (${literal()}, ${literal()})`, () => `"${name}" IS NULL`, () => `"${name}" IS NOT NULL AND "${name}" <= ${literal()}`])();
            const answer = (await connection.runAndReadAll(`SELECT count(*)::INTEGER FROM t WHERE ${where}`)).getRows()[0][0];
            asked.push({ where, answer });
        }
    }
    cases.push({ name: `t${t}`, rows, asked, options });
}
writeFileSync(`${directory}/cases.json`, JSON.stringify(cases));
