"""Why granary does not read a file of DuckDB's tests as DuckDB does: a reason, and the files that have it. docs/csv.md has the rules."""

REASONS = {
    # ---- other rows ----
    'an empty line is no record; DuckDB: a null of a single column': '''
        csv/blank_line.csv csv/test/many_empty_lines.csv csv/test/windows_newline_empty.csv csv/unionbyname_21248_1.csv csv/unionbyname_21248_2.csv
        csv/test/unterminated.csv csv/unquoted_escape/human_eval.csv csv/unquoted_escape/human_eval.tsv csv/rejects/multiple_errors/unquoted_less.csv
        csv/rejects/multiple_errors/unquoted_more.csv csv/afl/ignore_errors/32.csv csv/afl/null_padding/11.csv csv/afl/null_padding/15.csv
        csv/afl/null_padding/25.csv csv/afl/null_padding/26.csv csv/afl/null_padding/42.csv csv/afl/null_padding/43.csv csv/afl/null_padding/44.csv''',
    'the first record is like all others, so it is one; DuckDB: names, for a value further down makes the column text': '''
        csv/error/csv_error.csv csv/error/date.csv csv/error/time.csv csv/error/timestamp.csv csv/error/mismatch/big_bad.csv
        csv/error/mismatch/big_bad2.csv''',
    'a single record with a time in it has values; DuckDB: names': 'csv/test/timestampformat.csv',

    # ---- other columns ----
    'no delimiter makes a table, so lines are values; DuckDB leaves out all records but the last ones, which are alike': '''
        csv/csv_quoted_newline_odd.csv csv/headers/undetected_type.csv csv/inconsistent_cells.csv csv/issue5077.csv csv/issue5077_aligned.csv
        csv/locations_row_trailing_comma.csv csv/nullpadding.csv csv/rejects/multiple_errors/cast_and_more_col.csv
        csv/rejects/multiple_errors/more_col_and_max_line.csv''',
    'a space before a quote is none, and all records are read; DuckDB leaves out all but the last one': 'csv/all_quotes.csv',
    'a table by tabs, with names; DuckDB divides the JSON in one of its columns at commas': 'csv/bug_7578.csv',
    'all records are in quotes by commas; DuckDB: lines are values': 'csv/rabo-anon.csv.gz',
    'a comment begins at the line\'s first byte; DuckDB: spaces may stand before it': 'csv/comments/empty_space.csv',
    'a file of a fuzzer, which DuckDB divides by what a byte of it says': '''
        csv/afl/20250211_csv_fuzz_crash/case_53.csv csv/afl/24.csv csv/afl/no_parameter/10.csv csv/afl/no_parameter/13.csv csv/afl/no_parameter/15.csv
        csv/afl/no_parameter/18.csv csv/afl/no_parameter/20.csv csv/afl/no_parameter/21.csv csv/afl/no_parameter/4.csv csv/afl/no_parameter/9.csv
        csv/afl/null_padding/1.csv csv/afl/null_padding/2.csv csv/afl/null_padding/6.csv csv/afl/skip/1.csv csv/fuzzing/1.csv csv/fuzzing/19.csv
        csv/fuzzing/35.csv csv/fuzzing/37.csv csv/fuzzing/38.csv''',

    # ---- refused ----
    'nine of ten records divide alike: the error names the first other one; DuckDB: lines are values': '''
        csv/nullpadding_commas.csv csv/rejects/incorrect_columns/few_columns.csv csv/rejects/incorrect_columns/many_columns.csv
        csv/rejects/incorrect_columns/mix_columns.csv csv/test/error_too_little_end_of_filled_chunk.csv csv/afl/null_padding/5.csv''',
    'all records behind the header divide alike, but not as it does, which is told; DuckDB: lines are values, or there is no header': '''
        csv/issue6764.csv csv/nullpadding_header.csv csv/inconsistencies/inconsistent_columns_3.csv''',
    'several tables in one file, the last of two records; DuckDB leaves out 290 records': 'csv/bug_10283.csv',
    'quotes that do not end, in a file that others end in, or that ends there: it may be cut off': '''
        csv/segfault.csv csv/rejects/unquoted/unquoted_last_value.csv csv/afl/no_parameter/12.csv csv/afl/no_parameter/16.csv
        csv/afl/no_parameter/17.csv csv/afl/no_parameter/19.csv csv/afl/no_parameter/23.csv csv/afl/no_parameter/24.csv csv/afl/no_parameter/7.csv
        csv/afl/no_parameter/8.csv csv/afl/null_padding/41.csv''',
    'not UTF-8': '''
        csv/afl/17.csv csv/afl/22.csv csv/afl/ignore_errors/1.csv csv/afl/ignore_errors/33.csv csv/afl/null_padding/31.csv csv/fuzzing/25.csv''',
    'JSON, which is told; DuckDB divides it at commas': 'csv/error/json.csv csv/test/5438.csv',

    # ---- other names ----
    'zero bytes are no part of a name': '''
        csv/null_terminator.csv csv/nullbyte_header.csv csv/afl/null_padding/27.csv csv/afl/null_padding/3.csv csv/afl/null_padding/34.csv
        csv/fuzzing/3.csv''',
    'a column without a name is told by its place; DuckDB: the name that gives is taken already, so it has a number': 'csv/auto/test_header_mix.csv',
    'one record of text has names; DuckDB: it has none when they have an escape': 'csv/multidelimiter/unterminated_escape.csv',
    'a single record is divided at its comma; DuckDB: at its bar': 'csv/test/blob.csv',

    # ---- other values ----
    'dates in other orders than that of ISO 8601, moments in a format of their own, and times without seconds are text': '''
        csv/auto/issue_811.csv csv/auto/time.csv csv/auto/time_date_timestamp_dd-mm-yy.csv csv/auto/time_date_timestamp_dd-mm-yyyy.csv
        csv/auto/time_date_timestamp_mm-dd-yy.csv csv/auto/time_date_timestamp_mm-dd-yyyy.csv csv/auto/time_date_timestamp_yy.mm.dd.csv
        csv/auto/time_date_timestamp_yyyy.mm.dd.csv csv/auto/various_time_formats.csv csv/auto_date/date_example_2.csv csv/dates.csv
        csv/error/date_multiple_file/0.csv csv/hive-partitioning/hive_types/himym.csv csv/leading_zeros2.csv csv/multi_quote.csv
        csv/pollock/file_quotation_char_0x27.csv csv/special_date.csv csv/test/dateformat.csv csv/test/dateformat_2.csv
        csv/test_apple_financial.csv.gz csv/timestamp_tz.csv csv/timestamp_with_tz.csv csv/versions.csv csv/weather.csv''',
    'the same, and nothing between quotes is the empty text; DuckDB: null': 'csv/real/ncvoter.csv csv/real/voter.tsv csv/zstd/ncvoter.csv.zst',
    'a value of another format makes the column text; DuckDB makes it null': 'csv/mixed_timestamps.csv',
    'nothing between quotes is the empty text; DuckDB: null': '''
        csv/customer.csv csv/hits_problematic.csv csv/null/multiple_quoted_nulls.csv csv/null_comparison.csv csv/real/ontime_sample.csv
        csv/unquoted_escape/identical.csv csv/afl/no_parameter/2.csv''',
    '\\N is null; DuckDB: text': 'csv/auto/titlebasicsdebug.tsv csv/venue_pipe.csv csv/venue_pipe_big.csv',
    'numbers with decimal commas, behind another delimiter, are numbers; DuckDB: text': '''
        19578.csv csv/decimal_separators/decimal_separators.csv csv/double_trouble.csv csv/rejects_sniffer.csv''',
    'digits behind a plus are a number; DuckDB: text': 'csv/phonenumbers.csv',
    'Yes and No are text; DuckDB: truths': 'csv/soccer_kaggle.csv',
    'single quotes of a single column are text': 'csv/single_quote.csv',
    'spaces before single quotes are text, and so are the quotes then': 'csv/validator/quoted_new_value.csv',
}
