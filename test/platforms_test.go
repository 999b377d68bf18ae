package test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/callnode/scheduler/test/slow"
)

// platforms are the systems and processors that the program must build for, each once
// beside the one that the tests run on.
var platforms = []string{"linux/arm64", "darwin/arm64", "windows/amd64"}

// TestPlatforms type-checks every package for each of the platforms, for example a file that
// calls unix.Kill without a build constraint. It reads the declarations of dependencies
// and the bodies of our own functions: compiling finds nothing more in Go code, and takes
// some minutes for each platform.
func TestPlatforms(t *testing.T) {
	slow.Test(t)
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			goos, goarch, _ := strings.Cut(platform, "/")
			if goos == runtime.GOOS && goarch == runtime.GOARCH {
				t.Skip("the tests run on it")
			}
			for _, problem := range checkPlatform(t, goos, goarch) {
				t.Error(problem)
			}
		})
	}
}

// listedPackage is a package as go list describes it.
type listedPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// ours reports whether the package is of this module.
func (p *listedPackage) ours() bool { return p.Module != nil && p.Module.Main }

// checkPlatform returns the type errors of this module's packages on a platform.
func checkPlatform(t *testing.T, goos, goarch string) []error {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Start(); err != nil {
		t.Fatal(err)
	}
	var problems []error
	ours := 0
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	// Dependencies are listed before the packages that import them.
	for decoder := json.NewDecoder(out); ; {
		var listed listedPackage
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		if listed.ours() {
			ours++
		}
		if listed.ImportPath != "unsafe" {
			problems = append(problems, checkPackage(t, &listed, checked, goarch)...)
		}
	}
	if err := list.Wait(); err != nil {
		t.Fatalf("go list for %s/%s: %v", goos, goarch, err)
	}
	if ours == 0 {
		t.Fatal("go list names no package of this module")
	}
	return problems
}

// checkPackage adds a package to checked and returns its type errors. Errors of dependencies are not reported:
// without cgo some of them are incomplete by design.
func checkPackage(t *testing.T, listed *listedPackage, checked map[string]*types.Package, goarch string) []error {
	t.Helper()
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range listed.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(listed.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		parsed = append(parsed, file)
	}
	var problems []error
	config := types.Config{
		IgnoreFuncBodies: !listed.ours(),
		FakeImportC:      true,
		Sizes:            types.SizesFor("gc", goarch),
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if mapped, ok := listed.ImportMap[path]; ok {
				path = mapped
			}
			if known, ok := checked[path]; ok {
				return known, nil
			}
			return nil, errors.New("not listed before the package that imports it: " + path)
		}),
		Error: func(err error) {
			if listed.ours() {
				problems = append(problems, err)
			}
		},
	}
	checked[listed.ImportPath], _ = config.Check(listed.ImportPath, files, parsed, nil)
	return problems
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
