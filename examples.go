// Package examples embeds flows of the folder flows, which holds no Go: `scheduler init` and
// `scheduler demo` write them into a project. For example the template desk is the flow support.
package examples

import "embed"

// Flows holds the folder flows with the examples that are written into projects: each flow, the
// folder of its files, its tests and its recorded runs.
//
//go:embed flows/quickstart flows/quickstart.* flows/roleplay flows/roleplay.* flows/support flows/support.*
var Flows embed.FS
