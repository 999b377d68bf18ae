// Package node holds the SDK of plugins in Node. It is the one source of it: `plugins
// init` writes it beside a new plugin, with the .proto files that it loads (see
// [proto.Sources]), and the examples link to it.
package node

import (
	"embed"
	"io/fs"
)

//go:embed scheduler_plugin.js
var files embed.FS

// Files returns the file of the SDK, which belongs beside the program of a plugin.
func Files() fs.FS { return files }
