// What golden_write wrote, seen by apache-arrow: names, types, values, nulls.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { tableFromIPC } = createRequire(import.meta.url)(process.env.APACHE_ARROW_MODULE);
const read = (name) => tableFromIPC(readFileSync(`${process.argv[2]}/${name}`));
const day = 86400000;

const want = {
    flag: ['Bool', [true, false, null, true]],
    big: ['Int64', [-(2n ** 63n), -1n, null, 2n ** 63n - 1n]],
    narrow: ['Int32', [-(2 ** 31), -1, null, 2 ** 31 - 1]],
    real: ['Float64', [0.1, -1e300, null, 5e-324]],
    single: ['Float32', [0.5, -1, null, 3]],
    'größe €': ['Utf8', ['naïve', '', null, '日本']],
    day: ['Date32<DAY>', [-day, 18321 * day, null, Date.parse('9999-12-31')]],
    at: ['Timestamp<MICROSECOND>', [-1, Date.parse('2020-01-01T00:00:00.123Z'), null,
                                    Date.parse('9999-12-31T23:59:59.999Z')]],
    none: ['Null', [null, null, null, null]],
    tiny: ['Int8', [-128, -1, null, 127]],
    huge: ['Uint64', [0n, 1n, null, 2n ** 64n - 1n]],
    wait: ['Duration<MICROSECOND>', [-(2n ** 63n), -1n, null, 2n ** 63n - 1n]],
    price: ['Decimal[38e+2]', [12345n, -1n, null, 2n ** 100n]],
    bird: ['Dictionary<Int32, Utf8>', ['reiher', 'owl', null, 'reiher']],
};
const names = Object.keys(want);

// Decimals are words of 32 bits, the lowest first, in two's complement.
const plain = (value, type) => value instanceof Date ? value.getTime()
    : type.toString().startsWith('Decimal') && value !== null
        ? BigInt.asIntN(128, [...value].reduceRight((all, word) => (all << 32n) + BigInt(word), 0n)) : value;

const table = read('everything.arrow');
assert.equal(table.numRows, 4);
assert.deepEqual(table.schema.fields.map((field) => field.name), names);
for (const name of names) {
    const column = table.getChild(name);
    assert.equal(column.type.toString(), want[name][0]);
    const values = Array.from(column, (value) => plain(value, column.type));
    assert.deepEqual(values, want[name][1], name);
    assert.equal(column.nullCount, want[name][1].filter((value) => value === null).length, name);
}

const empty = read('no_rows.arrow');
assert.equal(empty.numRows, 0);
assert.deepEqual(empty.schema.fields.map((field) => field.name), names);
for (const name of names) {
    assert.equal(empty.getChild(name).length, 0);
}

const none = read('no_columns.arrow');
assert.equal(none.numRows, 0);
assert.equal(none.numCols, 0);
console.log('3 files read by apache-arrow');
