package server

import (
	"context"
	"slices"
	"strings"
)

// tagsOf returns the ETags of a header of the request. Several lines of it are one list (RFC 9110, 5.3). No tag of this
// server has a comma in it.
func tagsOf(ctx context.Context, header string) (tags []string) {
	for _, line := range requestOf(ctx).http.Header.Values(header) {
		for one := range strings.SplitSeq(line, ",") {
			tag := strings.TrimSpace(one)
			if tag != "" {
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// hasTag reports whether the tags of an If-None-Match header have an ETag, by the weak comparison (RFC 9110, 13.1.2): proxies
// that compress make tags weak.
func hasTag(tags []string, etag string) bool {
	return slices.ContainsFunc(tags, func(one string) bool { return one == "*" || strings.TrimPrefix(one, "W/") == etag })
}

// quotedTag returns the ETag of a hash or a number.
func quotedTag(text string) string { return `"` + text + `"` }
