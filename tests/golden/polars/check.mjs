// check.mjs ours DIRECTORY: what golden_write wrote, seen by Polars. write DIRECTORY: files of Polars, in each compression.
// back FILE: what granary made of such a file, seen by Polars again.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const pl = createRequire(import.meta.url)(process.env.POLARS_MODULE);
const [, , task, place] = process.argv;
const read = (file) => pl.readIPC(readFileSync(file)); // of a path it reads some files only
const plain = (value) => value instanceof Date ? value.getTime() : value;
const values = (frame, name) => Array.from(frame.getColumn(name).toArray(), plain);
const day = 86400000;

const ours = {
    flag: [true, false, null, true],
    big: [-(2 ** 63), -1, null, 2 ** 63],
    narrow: [-(2 ** 31), -1, null, 2 ** 31 - 1],
    real: [0.1, -1e300, null, 5e-324],
    single: [0.5, -1, null, 3],
    'größe €': ['naïve', '', null, '日本'],
    day: [-day, 18321 * day, null, Date.parse('9999-12-31')],
    at: [-1, Date.parse('2020-01-01T00:00:00.123Z'), null, Date.parse('9999-12-31T23:59:59.999Z')],
    none: [null, null, null, null],
    tiny: [-128, -1, null, 127],
    huge: [0n, 1n, null, 2n ** 64n - 1n],
    wait: [-(2 ** 63), -1, null, 2 ** 63],
    price: ['123.45', '-0.01', null, '12676506002282294014967032053.76'],
    bird: ['reiher', 'owl', null, 'reiher'],
};

// Text below and above the 12 bytes that Polars keeps within its views, and nulls in every column.
const rows = 1000;
const made = (value) => Array.from({ length: rows }, (_, i) => i % 7 === 3 ? null : value(i));
const theirs = {
    flag: [pl.Bool, made((i) => i % 2 === 0)],
    narrow: [pl.Int32, made((i) => i - 500)],
    real: [pl.Float64, made((i) => i / 8)],
    text: [pl.String, made((i) => 'ü'.repeat(i % 20))],
    day: [pl.Date, made((i) => new Date((i - 500) * day))],
};

if (task === 'ours') {
    const frame = read(`${place}/everything.arrow`);
    assert.deepEqual(frame.columns, Object.keys(ours));
    for (const [name, want] of Object.entries(ours)) {
        const column = frame.getColumn(name);
        const got = name === 'price' ? column.cast(pl.Utf8).toArray() : values(frame, name);
        assert.deepEqual(Array.from(got), want, name);
        assert.equal(column.nullCount(), want.filter((value) => value === null).length, name);
    }
    const empty = read(`${place}/no_rows.arrow`);
    assert.deepEqual([empty.height, empty.columns], [0, Object.keys(ours)]);
    assert.equal(read(`${place}/no_columns.arrow`).width, 0);
    console.log('3 files read by Polars');
} else if (task === 'write') {
    const columns = Object.entries(theirs).map(([name, [dtype, given]]) => pl.Series(name, given, dtype));
    for (const compression of ['uncompressed', 'lz4', 'zstd']) {
        pl.DataFrame(columns).writeIPC(`${place}/${compression}.arrow`, { compression });
    }
} else {
    const frame = read(place);
    assert.deepEqual(frame.columns, Object.keys(theirs));
    for (const [name, [dtype, want]] of Object.entries(theirs)) {
        assert.deepEqual(values(frame, name), want.map(plain), name);
        assert.equal(frame.getColumn(name).dtype.toString(), dtype.toString(), name);
    }
    console.log(`${place}: ${rows} rows there and back`);
}
