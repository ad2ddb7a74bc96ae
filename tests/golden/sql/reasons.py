"""SELECTs of which granary's rows are others, with the reason: (regular expression, why). docs/semantics.md has those that users meet."""
REASONS = [
    (r'\bapprox_|\blist_approx_', 'exact here'),
    (r'!?~\*?\s', '`~` finds anywhere, as in PostgreSQL'),
    (r'\breverse\s*\(', 'characters are turned round, not what is drawn as one'),
    (r'\bround\s*\(', 'halves of floats go to the even digit'),
    (r'\btypeof\s*\(', 'integers are wider here'),
    (r'\b(list_)?(kurtosis|skewness|corr|regr_\w+|entropy|mad)\s*\(', 'of values that do not vary, and of nans'),
    (r'\bregexp_replace\b.*\'\w*g\w*\'', 'an empty match counts behind another one'),
    (r'\b(natural|using)\b', '* begins with the joined columns, as in the standard'),
    (r'\([^()]*,[^()]*\)\s*(=|<>|!=|<=?|>=?|(not\s+)?in)\s*\(', 'a null in a row makes a comparison null, as in the standard'),
    (r'\b0[box][0-9a-f_]', 'numbers with another base, as in PostgreSQL; for DuckDB an alias begins there'),
    (r'\bregexp_split_to_array\s*\([^)]*\\s\*', 'an empty match splits behind each character, as in PostgreSQL'),
    (r'\b(var|stddev)_?(pop|samp)?\s*\(\s*\'(inf|nan)', 'nan, as in PostgreSQL; a nan counts as missing'),
    (r'\b(using\s+sample|tablesample)\b', 'other rows are drawn'),
    (r'\bilike\b.*chr\s*\(\s*0', 'a NUL is a character as any other'),
    (r'\(\s*(describe|desc|show|summarize)\b', 'types are called as granary calls them'),
    (r'with nt as \(select length\(s\)', 'as the file says it: the release of DuckDB gives something else'),
]
