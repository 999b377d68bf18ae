// Package configs holds the default settings and the schemas of flow files and test files. The
// file scheduler.yaml is both the documentation and the source of the defaults:
// the program reads it first, then the user's own file over it.
package configs

import _ "embed" // for the go:embed directives below

// Defaults is the text of scheduler.yaml.
//
//go:embed scheduler.yaml
var Defaults []byte

// FlowSchema is the JSON Schema of flow files, for editors. It is generated from
// the program's own types: go generate ./cmd/scheduler.
//
//go:embed flow.schema.json
var FlowSchema []byte

// TestSchema is the JSON Schema of test files, generated in the same way.
//
//go:embed test.schema.json
var TestSchema []byte
