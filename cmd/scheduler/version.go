package main

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the Makefile through the linker.
var version = ""

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.Stdout, versionLine())
			return err
		},
	}
}

// versionLine returns what version and --version print.
func versionLine() string {
	return fmt.Sprintf("scheduler %s %s %s/%s\n", buildVersion(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}

// buildVersion returns the linker's version, else the module's, else "dev".
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
