# What the second statement of the block prints says that a part came from the first one.
left=$(awk -v now="$(date +%s.%N)" -v made="$(stat -c %.9Z shops.csv)" 'BEGIN { left = made + 2.1 - now; print (left > 0 ? left : 0) }')
sleep "$left" # a file that changed less than 2 s ago is read again
granary recall clear
export GRANARY_RECALL=eager # of files that are this small no part is kept
told=$(
@BLOCK@
)
grep -q "recalled: 'join.*from graph" <<<"$told" || { echo "$told"; exit 1; }
