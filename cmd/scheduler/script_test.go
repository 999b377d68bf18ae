package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the generated and golden files anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"scheduler": func() { os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the command line as people do: every file in test/scripts is
// a session with its files and what must be seen.
func TestScripts(t *testing.T) {
	flows, err := filepath.Abs("../../flows")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "../../test/scripts",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("FLOWS", flows)
			e.Setenv("LANG", "en_US.UTF-8")
			e.Setenv("TZ", "UTC")
			return nil
		},
	})
}
