"""SELECTs of which granary's rows are others, with the reason: (regular expression, why)."""
REASONS = []
