package guard

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/callnode/scheduler/calls"
)

// maxRedirects is how many redirects are followed.
const maxRedirects = 5

// checkRedirect removes data for the first origin from a redirect to another origin: all headers except those that
// describe the request are dropped, and a body is not sent there at all.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return calls.Errorf(calls.Invalid, "%s redirects more than %d times", via[0].URL.Host, maxRedirects)
	}
	first := via[0].URL
	if sameOrigin(first, req.URL) && !slices.ContainsFunc(via, func(r *http.Request) bool { return !sameOrigin(first, r.URL) }) {
		return nil
	}
	if req.Body != nil {
		return calls.Errorf(calls.Invalid, "%s redirects the request with its body to another host, %s", first.Host, req.URL.Host).
			WithHint("if that is right, send it there directly")
	}
	for name := range req.Header {
		if !slices.Contains([]string{"Accept", "Accept-Language", "User-Agent"}, name) {
			req.Header.Del(name)
		}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
