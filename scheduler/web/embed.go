// Package web holds the built page of scheduler serve, for example dist/index.html.gz. Its sources are in ui, a
// project of Node's; make web builds them into dist, which is committed, so that building the program needs Go
// alone. Its README explains the folders.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Dist returns the files of the page, each compressed with gzip and named PATH.gz. It does
// not change, and is safe for concurrent use.
func Dist() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}
