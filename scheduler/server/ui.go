package server

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// assetsPath is the path of the page's files whose names hold a hash of their content.
const assetsPath = "/assets/"

// nonceMark is the placeholder for an answer's nonce in the page's document.
const nonceMark = "NONCE-OF-THIS-ANSWER"

// uiPage is the browser's side: a document and the files that it loads. [New] makes it; it does not change and is
// safe for concurrent use.
type uiPage struct {
	document string
	assets   map[string]uiAsset // by the path of the URL
}

// uiAsset is a file of the page in the form in which it is sent.
type uiAsset struct {
	media  string
	zipped []byte
}

// newUIPage reads the files of the page, each of them PATH.gz.
func newUIPage(files fs.FS) (*uiPage, error) {
	p := &uiPage{assets: map[string]uiAsset{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		plain, isZipped := strings.CutSuffix(name, ".gz")
		if !isZipped {
			return wording.Errorf("the page's file %s is not compressed: build it with make web", name)
		}
		zipped, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if plain == "index.html" {
			text, err := inflate(zipped)
			p.document = string(text)
			return err
		}
		p.assets["/"+plain] = uiAsset{mediaOf(plain), zipped}
		return nil
	})
	if err == nil && p.document == "" {
		err = wording.Errorf("the page has no index.html: build it with make web")
	}
	return p, err
}

// mediaOf returns the media type of a file. The system's own table is not asked: it differs.
func mediaOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func inflate(zipped []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// serve answers a request for the page or one of its files, and reports whether it was one.
func (p *uiPage) serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if asset, ok := p.assets[r.URL.Path]; ok {
		asset.serve(w, r)
		return true
	}
	if !wantsPage(r) {
		return false
	}
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; connect-src 'self'; "+
		"img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	_, _ = io.WriteString(w, strings.ReplaceAll(p.document, nonceMark, nonce)) // the client may have gone
	return true
}

// wantsPage reports whether a person's browser asks for a page: all that is not the API's.
func wantsPage(r *http.Request) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch first {
	case "api", "v1", "mcp", "hooks", "health", "metrics", "assets":
		return false
	}
	return r.URL.Path == "/" || strings.Contains(r.Header.Get("Accept"), "text/html")
}

// serve sends the file, inflated for a client that cannot do it.
func (a uiAsset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.media)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(r.URL.Path, assetsPath) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content := a.zipped
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
	} else if text, err := inflate(a.zipped); err == nil { // it was compressed when the page was built
		content = text
	}
	_, _ = w.Write(content) // the client may have gone
}

// acceptsGzip reports whether a client takes compressed answers.
func acceptsGzip(header string) bool {
	for one := range strings.SplitSeq(header, ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(one), ";")
		if name == "gzip" || name == "*" {
			q := strings.ReplaceAll(quality, " ", "")
			return !slices.Contains([]string{"q=0", "q=0.0", "q=0.00", "q=0.000"}, q)
		}
	}
	return false
}
