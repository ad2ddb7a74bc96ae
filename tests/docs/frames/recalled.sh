# What the second statement of the block prints says that a part came from the first one.
granary recall clear
export GRANARY_RECALL=eager # of files that are this small no part is kept
told=$(
@BLOCK@
)
grep -q "recalled: 'join.*from graph" <<<"$told" || { echo "$told"; exit 1; }
