package main

import (
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/callnode/scheduler/cmd/scheduler/chinesehelp"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
)

// Every command and flag explains itself in Chinese, and there are no other texts.
func TestChineseHelp(t *testing.T) {
	newTestRoot := func() *cobra.Command {
		return newRoot(&app{Terminal: terminal.New(strings.NewReader(""), io.Discard, io.Discard, nil)})
	}
	used := map[string]bool{}
	english := newTestRoot()
	english.InitDefaultHelpCmd()
	english.InitDefaultCompletionCmd()
	eachHelpText(english, func(_, text string) { used[text] = true })
	for _, catalog := range chinesehelp.Catalogs {
		for text := range catalog {
			if !used[text] {
				t.Errorf("no command or flag says %q", text)
			}
		}
	}
	chinese := newTestRoot()
	chinesehelp.Translate(chinese)
	eachHelpText(chinese, func(where, text string) {
		if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: %q is not in Chinese: add it to the package chinesehelp", where, text)
		}
	})
	var out strings.Builder
	chinese.SetOut(&out)
	chinese.SetArgs([]string{"memory", "search", "--help"})
	if err := chinese.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"查找与问题相关的记忆，最相关的在前。", "\n用法：\n  scheduler memory search QUERY [flags]\n", "\n选项：\n", "显示此说明", "最多 N 条记忆（默认为 10）", "\n全局选项：\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// eachHelpText visits the help texts of commands and flags, except the library's long ones.
func eachHelpText(cmd *cobra.Command, visit func(where, text string)) {
	path := cmd.CommandPath()
	visit(path, cmd.Short)
	if cmd.Long != "" && !strings.HasPrefix(path, "scheduler completion") {
		visit(path, cmd.Long)
	}
	visitFlag := func(f *pflag.Flag) { visit(path+" --"+f.Name, f.Usage) }
	cmd.Flags().VisitAll(visitFlag)
	cmd.PersistentFlags().VisitAll(visitFlag)
	for _, sub := range cmd.Commands() {
		eachHelpText(sub, visit)
	}
}
