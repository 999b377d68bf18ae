# Reads a Go coverage profile and fails where one of the trees (below module) has
# less than min percent of its statements covered. With -coverpkg a block stands
# in the profile once per test binary: it is covered when any of them ran it.
# Test kits (folders whose name ends in test) are left out, and so is whatever is
# generated.
NR > 1 && $1 !~ /test\/[^\/]*:/ && $1 !~ /\.pb\.go:/ {
	statements[$1] = $2
	if ($3 > 0) covered[$1] = 1
}
END {
	n = split(trees, tree, " ")
	for (i = 1; i <= n; i++) {
		prefix = module "/" tree[i] "/"
		total = hit = 0
		for (block in statements) {
			if (index(block, prefix) != 1) continue
			total += statements[block]
			if (block in covered) hit += statements[block]
		}
		percent = total ? 100 * hit / total : 0
		printf "coverage of %-12s %5.1f %% of %d statements\n", tree[i] "/", percent, total
		if (percent < min) failed = failed " " tree[i]
	}
	if (failed != "") {
		printf "less than %d %% covered:%s\n", min, failed
		exit 1
	}
}
