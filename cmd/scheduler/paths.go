package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/scheduler/flow"
)

// shortPath returns a path below the working directory without that, for people.
func shortPath(path string) string {
	cwd, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// shownPath returns a path from the working directory, if that is shorter. For example, flows/a.yaml instead of
// /srv/shop/flows/a.yaml.
func shownPath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || len(rel) >= len(path) {
		return path
	}
	return rel
}

// realPath returns the absolute path of a file or a folder, links followed.
func realPath(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		return real
	}
	return full
}

// gitFolder returns the nearest folder, from one upwards, that is a repository; "" if none is.
func gitFolder(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		outer := filepath.Dir(dir)
		if outer == dir {
			return ""
		}
		dir = outer
	}
}

// uniqueFiles returns the paths of files, each file once, by the first of its paths: absolute, relative or through a link.
func uniqueFiles(paths []string) (unique []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		if real := realPath(path); !seen[real] {
			seen[real] = true
			unique = append(unique, filepath.Clean(path))
		}
	}
	return unique
}

// filesIn returns the files of a folder that fit.
func filesIn(dir string, fits func(path string) bool) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); !e.IsDir() && fits(path) {
			files = append(files, path)
		}
	}
	return files, err
}

// filesBelow returns the files of a folder and its subfolders that fit, except hidden ones.
func filesBelow(dir string, fits func(path string) bool) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		isHidden := path != dir && (strings.HasPrefix(name, ".") || name == "node_modules")
		if entry.IsDir() && isHidden {
			return filepath.SkipDir
		}
		if !entry.IsDir() && fits(path) {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// isSamePath reports whether two paths name the same place; "" names none.
func isSamePath(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	return flow.Absolute(a) == flow.Absolute(b)
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
