select "näme" from a where x between 1 and (2 + (3 * -4)) and name not ilike '%\_x' escape '\'
