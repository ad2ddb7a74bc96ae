"""The files of apache/parquet-testing, read by granary: suite.py DIRECTORY, or $GRANARY_PARQUET_TESTING; 77 (skipped) without.

Each file of data is read, all but the columns of types that granary has not, or it is refused for the reason that stands here. No file of
bad_data hurts an executor.
"""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../python'))

# Rows of each file that can be read, or a part of the message that refuses it.
WANT = {
    'alltypes_dictionary': 2, 'alltypes_plain': 8, 'alltypes_plain.snappy': 2, 'alltypes_tiny_pages': 7300, 'alltypes_tiny_pages_plain': 7300,
    'binary': 12, 'binary_truncated_min_max': 12, 'byte_array_decimal': 24, 'byte_stream_split.zstd': 300,
    'byte_stream_split_extended.gzip': 200, 'column_chunk_key_value_metadata': 0, 'concatenated_gzip_members': 513,
    'data_index_bloom_encoding_stats': 14, 'data_index_bloom_encoding_with_length': 14, 'datapage_v1-corrupt-checksum': 'checksum',
    'datapage_v1-snappy-compressed-checksum': 5120, 'datapage_v1-uncompressed-checksum': 5120, 'datapage_v2.snappy': 5,
    'datapage_v2_empty_datapage.snappy': 1, 'delta_binary_packed': 200, 'delta_byte_array': 1000, 'delta_encoding_optional_column': 100,
    'delta_encoding_required_column': 100, 'delta_length_byte_array': 1000, 'dict-page-offset-zero': 39, 'fixed_length_byte_array': 1000,
    'fixed_length_decimal': 24, 'fixed_length_decimal_legacy': 24, 'float16_nonzeros_and_nans': 8, 'float16_zeros_and_nans': 3,
    'floating_orders_nan_count': 50, 'hadoop_lz4_compressed': 4, 'hadoop_lz4_compressed_larger': 10000, 'incorrect_map_schema': 1,
    'int32_decimal': 24, 'int32_with_null_pages': 1000, 'int64_decimal': 24, 'int96_from_spark': 6, 'large_string_map.brotli': 'map',
    'list_columns': 3, 'lz4_raw_compressed': 4, 'lz4_raw_compressed_larger': 10000, 'map_no_value': 3, 'nan_in_stats': 2,
    'nation.dict-malformed': 'behind the end of its column',  # which does not count the head of its dictionary
    'nested_lists.snappy': 3, 'nested_maps.snappy': 6, 'nested_structs.rust': 1, 'non_hadoop_lz4_compressed': 4,
    'nonnullable.impala': 1, 'null_list': 'list', 'nullable.impala': 7, 'nulls.snappy': 8, 'old_list_structure': 'list',
    'overflow_i16_page_cnt': 40000, 'page_v2_empty_compressed': 10, 'plain-dict-uncompressed-checksum': 1000, 'repeated_no_annotation': 6,
    'repeated_primitive_no_list': 4, 'rle-dict-snappy-checksum': 1000, 'rle-dict-uncompressed-corrupt-checksum': 'checksum',
    'rle_boolean_encoding': 68, 'single_nan': 1, 'sort_columns': 6, 'unknown-logical-type': 3,
}


def rows_of(gr, path):
    """Rows of all columns that can be read; a message when there is none, or it is wrong."""
    try:
        return len(gr.scan_parquet(path).collect())
    except gr.GranaryError as error:
        others = re.search(r'select others: (.*)', str(error).split('\n')[0])
        if others is None or others.group(1) == 'none':
            return str(error)
    names = re.findall(r"'([^']*)'", others.group(1))
    try:
        return len(gr.scan_parquet(path).select(*[gr.col(name) for name in names]).collect())
    except gr.GranaryError as error:
        return str(error)


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.environ.get('GRANARY_PARQUET_TESTING', '')
    if not os.path.isdir(f'{directory}/data'):
        print('skipped: give a copy of https://github.com/apache/parquet-testing, or set GRANARY_PARQUET_TESTING to one')
        return 77
    from frames_test import Instance, SessionEngine, gr, granary
    with Instance(executors=2, memory='512M') as instance, granary.connect(instance.instance) as session:
        gr.use(SessionEngine(session))
        wrong = 0
        for name, want in WANT.items():
            got = rows_of(gr, f'{directory}/data/{name}.parquet')
            if got != want if isinstance(want, int) else want not in str(got):
                print(f'{name}: {got}, and not {want}')
                wrong += 1
        for path in sorted(glob.glob(f'{directory}/bad_data/*.parquet') + glob.glob(f'{directory}/data/*.encrypted')):
            got = str(rows_of(gr, path))
            if 'died' in got or (path.endswith('.encrypted') and 'encrypted' not in got and 'columns_plaintext' not in path):
                print(f'{path}: {got}')
                wrong += 1
        print(f'{len(WANT)} files, {wrong} wrong')
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main())
