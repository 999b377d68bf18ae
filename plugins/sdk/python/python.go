// Package python holds the SDK of plugins in Python. It is the one source of it: `plugins
// init` writes these files beside a new plugin, and the examples link to them.
package python

import (
	"embed"
	"io/fs"
)

//go:embed *.py
var files embed.FS

// Files returns the files of the SDK, which belong beside the program of a plugin.
func Files() fs.FS { return files }
