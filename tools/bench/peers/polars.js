// Polars (npm nodejs-polars): node polars.js SUITE DIRECTORY RUNS; "KEY SECONDS ROWS CHECK" a line, of the faster engine.
'use strict';
const pl = require('nodejs-polars');
const [, , suite, data, runsText] = process.argv;
const runs = Number(runsText);
const col = pl.col;
const S = pl.Utf8;
const I = pl.Int32;
const F = pl.Float64;
const rows = {id1: S, id2: S, id3: S, id4: I, id5: I, id6: I, v1: I, v2: I, v3: F};
const keys = {id1: I, id2: I, id3: I, id4: S, id5: S, id6: S};

function median(times) {
    return times.sort((a, b) => a - b)[times.length >> 1];
}

function time(work) {
    const times = [];
    let result;

    for (let i = 0; i < runs; i++) {
        const began = process.hrtime.bigint();

        result = null;
        result = work();
        times.push(Number(process.hrtime.bigint() - began) / 1e9);
    }
    return [median(times), result];
}

function say(key, seconds, frame, column) {
    const sum = column === '' ? 0 : Number(frame.getColumn(column).sum());

    console.log(`${key} ${seconds} ${frame.height} ${sum}`);
}

function query(key, make, column) {
    let best = null;

    for (const engine of ['streaming', 'in-memory']) {
        try {
            const [seconds, frame] = time(() => make().collectSync({engine}));

            if (best === null || seconds < best[0]) {
                best = [seconds, frame];
            }
        } catch (error) {
            console.error(`${key} ${engine}: ${error.message}`);
        }
    }
    if (best !== null) {
        say(key, best[0], best[1], column);
    }
}

const read = (file, schema) => pl.readCSV(`${data}/${file}`, {schema});

if (suite === 'groupby' || suite === 'frame') {
    let frame = read('groupby.csv', rows);

    if (suite === 'groupby') { // its best: categories
        frame = frame.withColumns(...['id1', 'id2', 'id3'].map((c) => col(c).cast(pl.Categorical)));
    }
    const x = frame.lazy();

    if (suite === 'groupby') {
        query('q1', () => x.groupBy('id1').agg(col('v1').sum()), 'v1');
        query('q2', () => x.groupBy(['id1', 'id2']).agg(col('v1').sum()), 'v1');
        query('q3', () => x.groupBy('id3').agg(col('v1').sum(), col('v3').mean()), 'v3');
        query('q4', () => x.groupBy('id4').agg(col('v1').mean(), col('v2').mean(), col('v3').mean()), 'v3');
        query('q5', () => x.groupBy('id6').agg(col('v1').sum(), col('v2').sum(), col('v3').sum()), 'v3');
        query('q6', () => x.groupBy(['id4', 'id5']).agg(col('v3').median().alias('m'), col('v3').std().alias('s')), 'm');
        query('q7', () => x.groupBy('id3').agg(col('v1').max().sub(col('v2').min()).alias('r')), 'r');
        query('q8', () => x.sort('v3', true).groupBy('id6').agg(col('v3').head(2)).explode('v3'), 'v3');
        query('q9', () => x.groupBy(['id2', 'id4']).agg(pl.pearsonCorr(col('v1'), col('v2')).pow(2).alias('r2')), 'r2');
        query('q10', () => x.groupBy(['id1', 'id2', 'id3', 'id4', 'id5', 'id6'])
            .agg(col('v3').sum(), col('v1').count().alias('n')), 'v3');
    } else {
        const where = () => x.filter(col('v3').gt(50).and(col('id4').lt(50)));

        query('filter_sum', () => where().select(col('v1').mul(col('v3')).sum().alias('s')), 's');
        query('filter', () => where().select('id4', 'v1', 'v3'), 'v3');
        query('expression', () => x.select(col('v1').mul(col('v3')).plus(col('v2')).alias('e')), 'e');
        query('top_100', () => x.sort('v3', true).limit(100), 'v3');
        query('distinct', () => x.select('id2', 'id4').unique(), 'id4');
        query('nunique', () => x.select(col('id6').nUnique().alias('n')), 'n');
        query('cumsum', () => x.select(col('v3').cumSum().alias('r')), 'r');
        query('rolling', () => x.select(col('v3').rollingMean({windowSize: 100, minPeriods: 1}).alias('r')), 'r');
        query('sort_2_keys', () => x.sort(['id6', 'v3']), 'v3');
        const [seconds, again] = time(() => read('groupby.csv', rows));
        say('read_csv', seconds, again, 'v3');
        const numbers = pl.DataFrame({i: pl.intRange({start: 0, end: 1e7, dtype: pl.Int64, eager: true})}).lazy()
            .select(col('i').hash(1, 2, 3, 4).reinterpret(true).alias('a')).collectSync().lazy();
        query('sort_1e7', () => numbers.sort('a'), '');
    }
}
if (suite === 'join') {
    const x = read('join_x.csv', {...keys, v1: F}).lazy();
    const small = read('join_small.csv', {id1: I, id4: S, v2: F}).lazy();
    const medium = read('join_medium.csv', {id1: I, id2: I, id4: S, id5: S, v2: F}).lazy();
    const big = read('join_big.csv', {...keys, v2: F}).lazy();

    query('q1', () => x.join(small, {on: 'id1', how: 'inner'}), 'v2');
    query('q2', () => x.join(medium, {on: 'id2', how: 'inner'}), 'v2');
    query('q3', () => x.join(medium, {on: 'id2', how: 'left'}), 'v2');
    query('q4', () => x.join(medium, {on: 'id5', how: 'inner'}), 'v2');
    query('q5', () => x.join(big, {on: 'id3', how: 'inner'}), 'v2');
    query('q5sum', () => x.join(big, {on: 'id3', how: 'inner'}).select(col('v1').sum(), col('v2').sum()), 'v2');
    query('q5ints', () => x.select('id3', 'v1').join(big.select('id3', 'v2'), {on: 'id3', how: 'inner'}), 'v2');
}
