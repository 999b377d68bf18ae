package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docsBlock is a block of a page of docs: its language, and its text.
type docsBlock struct{ kind, text string }

func docsBlocks(t *testing.T, page string) (blocks []docsBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(text), "```") {
		if kind, body, ok := strings.Cut(block, "\n"); ok && i%2 == 1 {
			blocks = append(blocks, docsBlock{kind, body})
		}
	}
	return blocks
}

// TestDocs lints every YAML block of the pages of docs, runs the test files among them, and carries out the console
// blocks, with a model that repeats the question.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			blocks := docsBlocks(t, page)
			t.Chdir(t.TempDir())
			run := func(args ...string) (stdout, stderr string) {
				t.Helper()
				var out, errs bytes.Buffer
				if code := runProgram(args, strings.NewReader(""), &out, &errs); code != exitDone {
					t.Errorf("%v: exit code %d\n%s%s", args, code, &out, &errs)
				}
				return out.String(), errs.String()
			}
			var flows, tests []string
			for _, b := range blocks {
				name, text, ok := strings.Cut(b.text, "\n")
				if b.kind != "yaml" || !ok {
					continue
				}
				name = strings.TrimPrefix(name, "# ")
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				switch {
				case strings.HasSuffix(name, ".test.yaml"):
					tests = append(tests, name)
				case strings.Contains(text, "\nsteps:\n"):
					flows = append(flows, name)
				}
			}
			for _, flow := range flows {
				if _, errs := run("lint", flow); strings.Contains(errs, "last message only") {
					t.Errorf("%s: %s", flow, errs)
				}
			}
			for _, file := range tests {
				run("test", file)
			}
			for _, b := range blocks {
				if command, ok := strings.CutPrefix(b.text, "$ scheduler "); b.kind == "console" && ok {
					out, errs := run(append(wordsOf(command), "--llm", "echo")...)
					if strings.Contains(command, "--explain") && !strings.Contains(out+errs, "conversation.0.content") {
						t.Errorf("%s\n%s%s", command, out, errs)
					}
				}
			}
		})
	}
}

// wordsOf splits a command line into its words; quotes hold words together.
func wordsOf(line string) (words []string) {
	for i, part := range strings.Split(strings.TrimSpace(line), `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
