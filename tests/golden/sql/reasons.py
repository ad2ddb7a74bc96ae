"""SELECTs of which granary's rows are others, with the reason: (regular expression, why). docs/semantics.md has those that users meet."""
REASONS = [
    (r'\bapprox_|\blist_approx_', 'exact here'),
    (r'!?~\*?\s', '`~` finds anywhere, as in PostgreSQL'),
    (r'\breverse\s*\(', 'characters are turned round, not what is drawn as one'),
    (r'\bround\s*\(', 'halves of floats go to the even digit'),
    (r'\btypeof\s*\(', 'integers are wider here'),
    (r'\b(kurtosis|skewness|corr|regr_\w+|entropy|mad)\s*\(', 'of values that do not vary, and of nans'),
    (r'\bregexp_replace\b.*\'\w*g\w*\'', 'an empty match counts behind another one'),
    (r'\b(natural|using)\b', '* begins with the joined columns, as in the standard'),
    (r'\b(using\s+sample|tablesample)\b', 'other rows are drawn'),
    (r'\bilike\b.*chr\s*\(\s*0', 'a NUL is a character as any other'),
]
