// DuckDB (npm @duckdb/node-api): node duckdb.js SUITE DIRECTORY RUNS [MEMORY]; "KEY SECONDS ROWS CHECK" a line.
'use strict';
const {DuckDBInstance} = require('@duckdb/node-api');
const fs = require('fs');
const [, , suite, data, runsText, memory] = process.argv;
const runs = Number(runsText);
const from = process.env.BENCH_FROM || ''; // ending of the files that are asked; '': tables in memory

const groupby = {
    q1: ['SELECT id1, sum(v1) AS v1 FROM x GROUP BY id1', 'v1'],
    q2: ['SELECT id1, id2, sum(v1) AS v1 FROM x GROUP BY id1, id2', 'v1'],
    q3: ['SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM x GROUP BY id3', 'v3'],
    q4: ['SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM x GROUP BY id4', 'v3'],
    q5: ['SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM x GROUP BY id6', 'v3'],
    q6: ['SELECT id4, id5, quantile_cont(v3, 0.5) AS m, stddev(v3) AS s FROM x GROUP BY id4, id5', 'm'],
    q7: ['SELECT id3, max(v1) - min(v2) AS r FROM x GROUP BY id3', 'r'],
    q8: ['SELECT id6, unnest(max(v3, 2)) AS v3 FROM x GROUP BY id6', 'v3'],
    q9: ['SELECT id2, id4, pow(corr(v1, v2), 2) AS r2 FROM x GROUP BY id2, id4', 'r2'],
    q10: ['SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS n FROM x ' +
          'GROUP BY id1, id2, id3, id4, id5, id6', 'v3'],
};
const join = {
    q1: ['SELECT x.*, s.id4 AS s4, v2 FROM x JOIN small s USING (id1)', 'v2'],
    q2: ['SELECT x.*, m.id1 AS m1, m.id4 AS m4, m.id5 AS m5, v2 FROM x JOIN medium m USING (id2)', 'v2'],
    q3: ['SELECT x.*, m.id1 AS m1, m.id4 AS m4, m.id5 AS m5, v2 FROM x LEFT JOIN medium m USING (id2)', 'v2'],
    q4: ['SELECT x.*, m.id1 AS m1, m.id2 AS m2, m.id4 AS m4, v2 FROM x JOIN medium m USING (id5)', 'v2'],
    q5: ['SELECT x.*, b.id1 AS b1, b.id2 AS b2, b.id4 AS b4, b.id5 AS b5, b.id6 AS b6, v2 FROM x JOIN big b USING (id3)', 'v2'],
    q5sum: ['SELECT sum(v1) AS v1, sum(v2) AS v2 FROM x JOIN big b USING (id3)', 'v2'],
    q5ints: ['SELECT x.id3, v1, v2 FROM x JOIN big b USING (id3)', 'v2'],
};
const frame = {
    filter_sum: ['SELECT sum(v1 * v3) AS s FROM x WHERE v3 > 50 AND id4 < 50', 's'],
    filter: ['SELECT id4, v1, v3 FROM x WHERE v3 > 50 AND id4 < 50', 'v3'],
    expression: ['SELECT v1 * v3 + v2 AS e FROM x', 'e'],
    top_100: ['SELECT * FROM x ORDER BY v3 DESC LIMIT 100', 'v3'],
    distinct: ['SELECT DISTINCT id2, id4 FROM x', 'id4'],
    nunique: ['SELECT count(DISTINCT id6) AS n FROM x', 'n'],
    cumsum: ['SELECT sum(v3) OVER (ROWS UNBOUNDED PRECEDING) AS r FROM x', 'r'],
    rolling: ['SELECT avg(v3) OVER (ROWS BETWEEN 99 PRECEDING AND CURRENT ROW) AS r FROM x', 'r'],
    sort_2_keys: ['SELECT * FROM x ORDER BY id6, v3', 'v3'],
};

const rows = {id1: 'STR', id2: 'STR', id3: 'STR', id4: 'INTEGER', id5: 'INTEGER', id6: 'INTEGER', v1: 'INTEGER',
              v2: 'INTEGER', v3: 'DOUBLE'};
const keys = {id1: 'INTEGER', id2: 'INTEGER', id3: 'INTEGER', id4: 'VARCHAR', id5: 'VARCHAR', id6: 'VARCHAR'};
const money = 'DECIMAL(15,2)';
const tpch = {
    region: {r_regionkey: 'INTEGER', r_name: 'VARCHAR', r_comment: 'VARCHAR'},
    nation: {n_nationkey: 'INTEGER', n_name: 'VARCHAR', n_regionkey: 'INTEGER', n_comment: 'VARCHAR'},
    supplier: {s_suppkey: 'INTEGER', s_name: 'VARCHAR', s_address: 'VARCHAR', s_nationkey: 'INTEGER', s_phone: 'VARCHAR',
               s_acctbal: money, s_comment: 'VARCHAR'},
    part: {p_partkey: 'INTEGER', p_name: 'VARCHAR', p_mfgr: 'VARCHAR', p_brand: 'VARCHAR', p_type: 'VARCHAR',
           p_size: 'INTEGER', p_container: 'VARCHAR', p_retailprice: money, p_comment: 'VARCHAR'},
    partsupp: {ps_partkey: 'INTEGER', ps_suppkey: 'INTEGER', ps_availqty: 'INTEGER', ps_supplycost: money,
               ps_comment: 'VARCHAR'},
    customer: {c_custkey: 'INTEGER', c_name: 'VARCHAR', c_address: 'VARCHAR', c_nationkey: 'INTEGER', c_phone: 'VARCHAR',
               c_acctbal: money, c_mktsegment: 'VARCHAR', c_comment: 'VARCHAR'},
    orders: {o_orderkey: 'INTEGER', o_custkey: 'INTEGER', o_orderstatus: 'VARCHAR', o_totalprice: money, o_orderdate: 'DATE',
             o_orderpriority: 'VARCHAR', o_clerk: 'VARCHAR', o_shippriority: 'INTEGER', o_comment: 'VARCHAR'},
    lineitem: {l_orderkey: 'INTEGER', l_partkey: 'INTEGER', l_suppkey: 'INTEGER', l_linenumber: 'INTEGER', l_quantity: money,
               l_extendedprice: money, l_discount: money, l_tax: money, l_returnflag: 'VARCHAR', l_linestatus: 'VARCHAR',
               l_shipdate: 'DATE', l_commitdate: 'DATE', l_receiptdate: 'DATE', l_shipinstruct: 'VARCHAR',
               l_shipmode: 'VARCHAR', l_comment: 'VARCHAR'},
};

// "130M": in MiB
function mebibytes(text) {
    return Math.floor(parseFloat(text) * {K: 1 / 1024, M: 1, G: 1024, T: 1024 * 1024}[text.slice(-1)]);
}

// The statements of bench_mix.c: a point lookup and a tiny aggregate in turns.
function small(client, i) {
    const key = client * 7919 + i * 104729;

    return i % 2 === 0 ? `SELECT * FROM orders WHERE o_orderkey = ${key % 5000 + 1}`
                       : `SELECT count(*), sum(s_acctbal) FROM supplier WHERE s_nationkey = ${key % 25}`;
}

// Connections that ask all at once, for some time; what ends behind the end does not count.
async function mix(instance) {
    const clients = Number(process.env.MIX_CLIENTS);
    const seconds = Number(process.env.MIX_SECONDS);
    const names = fs.readdirSync(`${data}/queries`).sort();
    const questions = names.map((name) => fs.readFileSync(`${data}/queries/${name}`, 'utf8').trim().replace(/;$/, ''));
    const connections = await Promise.all(Array.from({length: clients}, () => instance.connect()));
    const now = () => Number(process.hrtime.bigint()) / 1e6;
    const took = async (connection, sql) => {
        const began = now();

        await connection.run(sql);
        return now() - began;
    };
    const told = (key, times, part) => console.log(`${key} ${times.sort((a, b) => a - b)[Math.round(part * (times.length - 1))]} 0 0`);
    const idle = [];
    const times = [];

    for (const sql of questions) {
        await connections[0].run(sql);
    }
    for (let i = 0; i < 200; i++) {
        const ms = await took(connections[0], small(0, i));

        if (i >= 20) {
            idle.push(ms);
        }
    }
    const end = now() + seconds * 1000;
    const finished = await Promise.all(connections.map(async (connection, client) => {
        let count = 0;

        for (let i = client, asked = 0; now() < end; i++) {
            for (let k = 0; k < 4 && now() < end; k++) {
                const ms = await took(connection, small(client, asked++));

                if (now() < end) {
                    times.push(ms);
                }
            }
            await connection.run(questions[i % questions.length]);
            count += now() < end ? 1 : 0;
        }
        return count;
    }));
    console.log(`questions_per_s ${finished.reduce((a, b) => a + b) / seconds} 0 0`);
    console.log(`small_per_s ${times.length / seconds} 0 0`);
    told('idle_small_p50_ms', idle, 0.5);
    told('idle_small_p99_ms', idle, 0.99);
    told('small_p50_ms', times, 0.5);
    told('small_p99_ms', times, 0.99);
    console.log(`client_least ${Math.min(...finished)} 0 0`);
    console.log(`client_most ${Math.max(...finished)} 0 0`);
}

async function main() {
    const file = `${data}/spilled.duckdb`; // what is larger than memory lies in a file, and what it makes beside that
    const limit = (more) => `SET memory_limit = '${mebibytes(memory) + more}MiB'`;
    const remove = () => [file, `${file}.wal`, `${file}.tmp`].forEach((path) => fs.rmSync(path, {recursive: true, force: true}));

    if (suite === 'spilled') {
        remove();
    }
    const threads = suite === 'mix' ? process.env.MIX_THREADS : '2';
    const instance = await DuckDBInstance.create(suite === 'spilled' ? file : ':memory:', {threads});
    const connection = await instance.connect();
    const run = (sql) => connection.run(sql);
    const first = async (sql) => (await connection.runAndReadAll(sql)).getRows()[0];

    async function load(name, file, columns) {
        const spec = Object.entries(columns).map(([k, v]) => `'${k}': '${v === 'STR' ? 'VARCHAR' : v}'`).join(', ');
        const path = `${data}/from/${file.replace(/csv$/, from)}`;

        if (from !== '') {
            await run(`CREATE VIEW ${name} AS SELECT * FROM ` +
                      (from === 'parquet' ? `'${path}'` : `read_csv('${path}', header = true, columns = {${spec}})`));
            return;
        }
        await run(`CREATE TABLE ${name} AS SELECT * FROM read_csv('${data}/${file}', header = true, columns = {${spec}})`);
        for (const column of Object.keys(columns).filter((k) => columns[k] === 'STR')) { // its best: dictionary keys
            await run(`CREATE TYPE ${name}_${column} AS ENUM (SELECT DISTINCT ${column} FROM ${name} ORDER BY 1)`);
            await run(`ALTER TABLE ${name} ALTER ${column} TYPE ${name}_${column}`);
        }
    }
    async function measure(key, work, check) {
        const times = [];

        for (let i = 0; i < runs; i++) {
            const began = process.hrtime.bigint();

            await work();
            times.push(Number(process.hrtime.bigint() - began) / 1e9);
        }
        times.sort((a, b) => a - b);
        const [count, sum] = check === null ? [0, 0] : await check();
        console.log(`${key} ${times[times.length >> 1]} ${count} ${Number(sum)}`);
    }
    async function query(key, sql, column) {
        await measure(key, async () => {
            await run('DROP TABLE IF EXISTS answer');
            await run(`CREATE ${suite === 'spilled' ? 'TEMP ' : ''}TABLE answer AS ${sql}`);
        }, () => first(`SELECT count(*), ${column === '' ? '0' : `sum(${column})::DOUBLE`} FROM answer`));
    }

    async function write(name) {
        if (from !== '') {
            await run(`CREATE TABLE written AS SELECT * FROM ${name}`);
            await measure('write', () => run(`COPY written TO '${data}/from/duckdb.${from}'` +
                                             (from === 'parquet' ? " (FORMAT parquet, COMPRESSION zstd)" : '')), null);
        }
    }

    if (suite === 'groupby' || suite === 'frame') {
        await load('x', 'groupby.csv', rows);
        for (const [key, [sql, column]] of Object.entries(suite === 'groupby' ? groupby : frame)) {
            await query(key, sql, column);
        }
        await write('x');
    }
    if (suite === 'frame') {
        const spec = Object.entries(rows).map(([k, v]) => `'${k}': '${v === 'STR' ? 'VARCHAR' : v}'`).join(', ');

        await run('DROP TABLE x');
        await measure('read_csv', async () => {
            await run('DROP TABLE IF EXISTS y');
            await run(`CREATE TABLE y AS SELECT * FROM read_csv('${data}/groupby.csv', header = true, columns = {${spec}})`);
        }, () => first('SELECT count(*), sum(v3) FROM y'));
        await run('DROP TABLE y');
        await run('CREATE TABLE s AS SELECT (hash(i) >> 1)::BIGINT AS a FROM range(10000000) t(i)');
        await query('sort_1e7', 'SELECT a FROM s ORDER BY a', '');
    }
    if (suite === 'join') {
        await load('x', 'join_x.csv', {...keys, v1: 'DOUBLE'});
        await load('small', 'join_small.csv', {id1: 'INTEGER', id4: 'VARCHAR', v2: 'DOUBLE'});
        await load('medium', 'join_medium.csv', {id1: 'INTEGER', id2: 'INTEGER', id4: 'VARCHAR', id5: 'VARCHAR', v2: 'DOUBLE'});
        await load('big', 'join_big.csv', {...keys, v2: 'DOUBLE'});
        for (const [key, [sql, column]] of Object.entries(join)) {
            await query(key, sql, column);
        }
        await write('x');
    }
    if (suite === 'mix') {
        for (const [name, columns] of Object.entries(tpch)) {
            await load(name, `${name}.csv`, columns);
        }
        await mix(instance);
    }
    if (suite === 'tpch' || suite === 'spilled') {
        const began = process.hrtime.bigint();

        if (suite === 'spilled') {
            await run(limit(256)); // with less it cannot load
        }

        for (const [name, columns] of Object.entries(tpch)) {
            await load(name, `${name}.csv`, columns);
        }
        if (suite === 'spilled') {
            await run('CHECKPOINT');
            await run(limit(0));
            console.log(`load ${Number(process.hrtime.bigint() - began) / 1e9} 0 0`);
        }
        for (const name of fs.readdirSync(`${data}/queries`).sort()) {
            const sql = fs.readFileSync(`${data}/queries/${name}`, 'utf8').trim().replace(/;$/, '');

            await query(name.replace('.sql', ''), sql, '');
        }
        await write('lineitem');
    }
    if (suite === 'spilled') {
        connection.closeSync();
        instance.closeSync();
        remove();
    }
}
main().catch((error) => { console.error(String(error)); process.exit(1); });
