package context_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	callcontext "github.com/callnode/scheduler/calls/context"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

func TestConformance(t *testing.T) { callstest.Run(t, callcontext.Definition()) }

func picture(t testing.TB, w, h int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tree writes files below a new directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644)
	}
	return dir
}

func kinds(out *callcontext.Output, kind string, included bool) []string {
	names := []string{}
	for _, p := range out.Parts {
		if p.Kind == kind && p.Included == included {
			names = append(names, p.Name)
		}
	}
	return names
}

func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func warned(t testing.TB, out *callcontext.Output, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, part) }) {
			t.Errorf("no warning %q in %q", part, out.Warnings)
		}
	}
	if len(out.Warnings) != len(parts) {
		t.Errorf("%d warnings, want %d: %q", len(out.Warnings), len(parts), out.Warnings)
	}
}

func TestBuiltInIdentity(t *testing.T) {
	dir := tree(t, map[string]string{"ws/AGENTS.md": "A"})
	for language, want := range map[string][]string{
		"":   {"# Assistant\n", "## Current Time\n2026-03-05 09:07 (Thursday)\n", "## Workspace\nws\n", "ws/memory/MEMORY.md"},
		"xx": {"# Assistant\n"},
		"zh": {"# 助手\n", "2026-03-05 09:07 (星期四)\n", "## 工作目录\nws\n"},
		// A region has the texts of its language, a folder of a user those in it.
		"zh-CN": {"# 助手\n", "2026-03-05 09:07 (星期四)\n"},
		"fr":    {"Bonjour de ws"},
	} {
		out := run(t, dir, callstest.Now, value.Pairs("workspace", "./ws/"), func(e *calls.Env) {
			e.Vars.Language = language
			e.Languages = fstest.MapFS{"fr/context/identity.txt": {Data: []byte("Bonjour de {{ workspace }}\n")}}
		})
		identity, reason := out.Parts[0].Text, "built-in text"
		switch language {
		case "fr":
			reason = "the text fr/context/identity.txt"
		case "zh", "zh-CN":
			reason = "内置文本"
		}
		if out.Parts[0].Reason != reason {
			t.Errorf("language %q: the reason is %q", language, out.Parts[0].Reason)
		}
		for _, part := range want {
			if !strings.Contains(identity, part) {
				t.Errorf("language %q: no %q in\n%s", language, part, identity)
			}
		}
		if strings.HasSuffix(identity, "\n") || strings.Contains(identity, "\n\n\n") {
			t.Errorf("the identity has odd blank lines:\n%q", identity)
		}
		warned(t, out)
	}
	named := run(t, dir, callstest.Now, value.Pairs("workspace", "ws"), func(e *calls.Env) { e.Vars.Step.Tools = []string{"weather", "notes"} })
	if list := "\n\n## Tools\n- weather\n- notes\n\n## Current Time\n"; !strings.Contains(named.System, list) {
		t.Errorf("no %q in\n%s", list, named.System)
	}
	alone := run(t, dir, callstest.Now, value.NewMap(0))
	if strings.Contains(alone.System, "Workspace") || len(alone.Messages) != 1 {
		t.Errorf("without parameters: %d messages, %s", len(alone.Messages), alone.System)
	}
}

func TestSessionAndRuntime(t *testing.T) {
	dir := tree(t, map[string]string{
		"ws/skills/a/SKILL.md": "---\nname: a\ndescription: A\n---\nDo a.\n",
		"ws/skills/b/SKILL.md": "---\nname: b\ndescription: B\nalways: true\n---\nDo b.\n",
	})
	with := func(kv ...any) *value.Map {
		m := value.Pairs("workspace", "ws", "channel", "mail", "chat_id", "7", "current_message", "use $a and $b")
		for i := 0; i < len(kv); i += 2 {
			m.Set(kv[i].(string), value.Must(kv[i+1]))
		}
		return m
	}
	out := run(t, dir, callstest.Now, with())
	if !strings.HasSuffix(out.System, "</skills>\n\n## Current Session\nChannel: mail\nChat ID: 7") {
		t.Errorf("the system text ends with %q", out.System[len(out.System)-80:])
	}
	same(t, "skills", kinds(out, "skill", true), []string{"b", "a"})

	first := run(t, dir, callstest.Now, with("runtime_context", "message"))
	later := run(t, dir, callstest.Now.Add(time.Hour), with("runtime_context", "message", "chat_id", "8", "current_message", "hello"))
	same(t, "system text an hour later", later.System, first.System)
	same(t, "user's words", textOf(first.Messages[1]), "use $a and $b\n\n[Facts about this request, not instructions]\n"+
		"Current time: 2026-03-05 09:07 (Thursday)\nChannel: mail\nChat ID: 7\n\n### Skill: a\n\nDo a.")
	checkParts(t, first)

	none := run(t, dir, callstest.Now, value.Pairs("runtime_context", "message"))
	if !strings.Contains(none.System, "09:07") {
		t.Error("without a user's message the clock is nowhere")
	}
	half := run(t, dir, callstest.Now, value.Pairs("identity", "I", "channel", "mail", "runtime_context", "message", "current_message", "x"))
	if text := textOf(half.Messages[1]); strings.Contains(text, "mail") {
		t.Errorf("a channel without chat_id is shown: %s", text)
	}
}

func TestSkills(t *testing.T) {
	dir := tree(t, map[string]string{
		"ws/skills/a/SKILL.md":         "---\nname: a\ndescription: A\n---\nDo a.\n",
		"ws/skills/gated/SKILL.md":     "---\nname: gated\ndescription: G\nmetadata: {nanobot: {requires: {bins: no-such-program}}}\n---\nDo g.\n",
		"ws/skills/hidden/SKILL.md":    "---\nname: hidden\ndescription: H\ndisable-model-invocation: true\n---\nDo h.\n",
		"ws/.agents/skills/x/SKILL.md": "---\nname: x\ndescription: X\n---\nDo x.\n",
		"more/a/SKILL.md":              "---\nname: a\ndescription: other\n---\n",
		"more/z/SKILL.md":              "---\nname: z\ndescription: Z\n---\n",
	})
	with := value.Pairs("workspace", "ws", "builtin_skills", "more", "skill_names", []string{"gated", "hiden", "a", "a"}, "current_message", "$a $hidden")
	out := run(t, dir, callstest.Now, with)
	same(t, "loaded", kinds(out, "skill", true), []string{"gated", "a", "hidden"})
	same(t, "listed", kinds(out, "skill_entry", true), []string{"a", "gated", "x", "z"})
	same(t, "not listed", kinds(out, "skill_entry", false), []string{"hidden"})
	warned(t, out, "gated: loaded because it was asked for, but it lacks CLI: no-such-program", `no skill "hiden" (did you mean "hidden"?)`)
	for _, want := range []string{"<location>ws/.agents/skills/x/SKILL.md<", "<location>more/z/SKILL.md<", "Each skill below"} {
		if !strings.Contains(out.System, want) {
			t.Errorf("no %q in\n%s", want, out.System)
		}
	}
	checkParts(t, out)

	with = value.Pairs("workspace", "ws", "identity", "I", "skills_format", "agent-skills", "skills_intro", "intro")
	out = run(t, dir, callstest.Now, with)
	same(t, "catalog", out.System, "I\n\n---\n\n# Skills\n\nintro\n\n<available_skills>\n"+
		"<skill>\n<name>\na\n</name>\n<description>\nA\n</description>\n<location>\nws/skills/a/SKILL.md\n</location>\n</skill>\n"+
		"<skill>\n<name>\nx\n</name>\n<description>\nX\n</description>\n<location>\nws/.agents/skills/x/SKILL.md\n</location>\n</skill>\n</available_skills>")

	out = run(t, dir, callstest.Now, value.Pairs("builtin_skills", "nowhere", "skill_names", []string{"q"}))
	warned(t, out, "builtin_skills nowhere: skipped", `there is no skill "q"`)
}

func TestFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		"ws/AGENTS.md":                "root\n",
		"ws/a/AGENTS.md":              "in a\n",
		"ws/a/b/AGENTS.override.md":   "in b, instead\n",
		"ws/a/b/AGENTS.md":            "in b\n",
		"ws/a/b/c/AGENTS.md":          " \n",
		"ws/a/b/c/d/AGENTS.md":        strings.Repeat("x", 32_000) + "\n# Second\n" + strings.Repeat("y", 1000),
		"ws/BIG.md":                   strings.Repeat("a line\n", 200_000),
		"ws/memory/MEMORY.md":         " \n",
		"ws/memory/2026-03-05.md":     "today",
		"ws/memory/2026-03-06.md":     "tomorrow",
		"outside.md":                  "secret",
		"plain":                       "no directory",
		"ws/skills/escape/readme.txt": "",
	})
	link := func(to, from string) {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Skip(err)
		}
	}
	link("../outside.md", "ws/LINK.md")
	link("AGENTS.md", "ws/INSIDE.md")
	link("../../../outside.md", "ws/skills/escape/SKILL.md")

	t.Run("work_dir", func(t *testing.T) {
		out := run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "identity", "I", "work_dir", "a/b/c/d"))
		same(t, "files", kinds(out, "file", true), []string{"AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.override.md", "a/b/c/d/AGENTS.md"})
		warned(t, out, "a/b/c/d/AGENTS.md: only the first 32001 of 33010 bytes", "skill escape: skipped")
		if !strings.Contains(out.System, "\n\n## a/b/AGENTS.override.md\n\nin b, instead\n\n\n## a/b/c/d/AGENTS.md\n\nx") || !strings.Contains(out.System, "x\n\n\n---\n\n# Memory\n\n## Long-term Memory\n \n\n\n## Today's Notes\ntoday") {
			t.Errorf("system: %s", out.System)
		}
	})
	t.Run("work_dir, short of room", func(t *testing.T) {
		for name, c := range map[string]struct{ text, want string }{
			"heading":  {"# A\n" + strings.Repeat("a line\n", 4000) + "## B\n" + strings.Repeat("b line\n", 4000), "only the first 28004 of 56009 bytes"},
			"line":     {"\n# A\n" + strings.Repeat("a line\n", 8000), "only the first 32765 of 56005 bytes"},
			"one line": {strings.Repeat("é", 30_000), "only the first 32768 of 60000 bytes"},
			"no mark":  {strings.Repeat("x", 20_000) + "\n#!/bin/sh\n" + strings.Repeat("y", 20_000), "only the first 20011 of 40011 bytes"},
		} {
			dir := tree(t, map[string]string{"ws/AGENTS.md": strings.Repeat("root\n", 4000), "ws/near/AGENTS.md": c.text})
			out := run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "identity", "I", "work_dir", "near"))
			if !strings.Contains(strings.Join(out.Warnings, "\n"), "near/AGENTS.md: "+c.want) {
				t.Errorf("%s: %q", name, out.Warnings)
			}
			if name == "line" { // three bytes of the other would say nothing
				warned(t, out, c.want, "file AGENTS.md: left out, the AGENTS.md files nearer to work_dir have 32765 bytes")
			}
			out = run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "identity", "I", "work_dir", "near", "max_tokens", 2000))
			if name != "one line" && name != "no mark" { // which no line ends
				same(t, name, kinds(out, "file", true), []string{"near/AGENTS.md"})
			}
		}
	})
	t.Run("work_dir outside", func(t *testing.T) {
		for _, name := range []string{"../", "/etc", "none", "AGENTS.md"} {
			out := run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "identity", "I", "work_dir", name))
			same(t, "files", kinds(out, "file", true), []string{"AGENTS.md"})
			warned(t, out, "is not a directory inside the workspace", "skill escape")
		}
	})
	t.Run("bootstrap_files", func(t *testing.T) {
		files := []string{"a/AGENTS.md", "none.md", "../outside.md", "LINK.md", "INSIDE.md", "BIG.md", "memory", filepath.Join(dir, "outside.md")}
		out := run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "bootstrap_files", files))
		same(t, "files", kinds(out, "file", true), []string{"a/AGENTS.md", "INSIDE.md", "BIG.md"})
		warned(t, out, "none.md: skipped", "../outside.md: skipped", "LINK.md: skipped", "only the first 1048572 of 1400000 bytes", "memory: skipped: it is a directory",
			filepath.Join(dir, "outside.md")+": skipped", "skill escape")
		if strings.Contains(out.System, "secret") {
			t.Error("a file outside the workspace was read")
		}
		out = run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "bootstrap_files", []string{}))
		same(t, "files", kinds(out, "file", true), []string{})
	})
	t.Run("workspace", func(t *testing.T) {
		for _, name := range []string{"none", "plain"} {
			out := run(t, dir, callstest.Now, value.Pairs("workspace", name, "identity", "I"))
			same(t, "system", out.System, "I")
			warned(t, out, "workspace "+name)
		}
		t.Setenv("HOME", dir)
		out := run(t, t.TempDir(), callstest.Now, value.Pairs("workspace", "~/ws", "bootstrap_files", []string{"INSIDE.md"}))
		same(t, "files", kinds(out, "file", true), []string{"INSIDE.md"})
		if !strings.Contains(out.System, "\n~/ws\n") {
			t.Error("the workspace is not shown as it was given")
		}
	})
}

func TestMemories(t *testing.T) {
	out := run(t, t.TempDir(), callstest.Now, value.Pairs("identity", "I", "memories", []any{
		"likes tea\nand cake", value.Pairs("memory_id", "m1", "relevance_score", 0.825, "content", "lives in Lyon"), value.Pairs("text", "has a cat", "score", 1), 7, value.NewMap(0),
	}))
	same(t, "system", out.System, "I\n\n---\n\n# Recalled Memories\n\n- likes tea\n  and cake\n- lives in Lyon\n- has a cat")
	same(t, "names", kinds(out, "recalled", true), []string{"0", "m1", "2"})
	warned(t, out, "memories[3]: skipped", "memories[4]: skipped")
	checkParts(t, out)
}

func TestMedia(t *testing.T) {
	small := picture(t, 2, 2)
	dir := tree(t, map[string]string{
		"ws/a.png": small, "ws/sub/b.png": small, "ws/wide.png": picture(t, 2000, 100), "ws/broken.png": small[:30], "ws/a.txt": "text",
		"a.png": small, "pool/c.png": small, "ws/odd.heic": "?", "ws/d/x": "",
	})
	if err := os.Symlink("../a.png", filepath.Join(dir, "ws/link.png")); err != nil {
		t.Skip(err)
	}
	media := []string{"ws/a.png", "sub/b.png", filepath.Join(dir, "ws", "a.png"), "ws/a.png", "pool/c.png", "wide.png", // usable
		"odd.heic", "none.png", "https://example.org/a.png", "data:image/png;base64,AA", "a.txt", "broken.png", "../a.png", "link.png", "d"}
	with := value.Pairs("workspace", "ws", "media", media, "model", "gpt-4o", "max_tokens", 10_000)
	roots := func(e *calls.Env) { e.MediaRoots = []string{filepath.Join(dir, "pool"), filepath.Join(dir, "gone")} }
	out := run(t, dir, callstest.Now, with, roots)
	same(t, "sent", kinds(out, "image", true), media[:6])
	same(t, "not sent", kinds(out, "image", false), media[6:])
	warned(t, out, "of the setting media_roots: skipped", "odd.heic: not sent: its content is not an image", "none.png: not sent: there is no such file", "a.png: not sent: addresses", "base64,AA: not sent",
		"a.txt: not sent: its content", "broken.png: not sent", "../a.png: not sent: it lies outside", "link.png: not sent", "media d: not sent: it is a directory")
	content, _ := out.Messages[1].Get("content")
	if n := len(content.List()); n != 7 {
		t.Errorf("%d content parts", n)
	}
	for _, p := range out.Parts {
		if p.Name == "wide.png" && (p.Reason != "image/png 2000 x 100, sent as image/jpeg 1568 x 78" || p.Tokens != 85+170*4) {
			t.Errorf("wide.png: %+v", p)
		}
	}
	checkParts(t, out)

	many := run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "media", slices.Repeat([]string{"a.png"}, 101)))
	same(t, "at most", len(kinds(many, "image", true)), 100)
	warned(t, many, "a message may have at most 100 images")
	write(t, filepath.Join(dir, "ws/large.png"), append([]byte(small), make([]byte, 3_000_000)...), 0o644)
	large := run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "media", slices.Repeat([]string{"large.png"}, 10)))
	same(t, "together at most", len(kinds(large, "image", true)), 7)
	same(t, "left out", len(kinds(large, "image", false)), 3)
	warned(t, large, "the images of a message", "the images of a message", "the images of a message")
	none := run(t, dir, callstest.Now, value.Pairs("media", []string{"none.png"}))
	same(t, "user", none.Messages[1].Keys(), []string{"role", "content"})

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call, err := callcontext.Definition().New(value.OfMap(with))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range call.Exec(ctx, calls.NewEnv(), value.Must(callcontext.Input{})) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

func TestAppend(t *testing.T) {
	given := parse(t, `[
	  {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
	    {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
	    {"id": "2", "index": 1, "function": {"name": "g", "arguments": {"x": 1.50}}},
	    {"id": "3", "name": "h"}, {"id": "4"}]},
	  {"content": "one", "name": "f", "tool_call_id": "1", "role": "tool"},
	  {"tool_call_id": "2", "tool_name": "g", "result": {"b": 1, "a": [2]}},
	  {"role": "tool", "tool_call_id": "3", "content": [{"type": "text", "text": "three"}], "is_error": true},
	  {"role": "tool", "tool_call_id": "4"},
	  {"role": "assistant", "tool_calls": []},
	  {"role": "user", "content": "and?", "z": 1}]`)
	want := parse(t, `[
	  {"role": "assistant", "content": "", "tool_calls": [
	    {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
	    {"id": "2", "type": "function", "function": {"name": "g", "arguments": "{\"x\":1.50}"}, "index": 1},
	    {"id": "3", "type": "function", "function": {"name": "h", "arguments": "{}"}}, {"id": "4"}], "reasoning_content": "hm"},
	  {"role": "tool", "tool_call_id": "1", "name": "f", "content": "one"},
	  {"role": "tool", "tool_call_id": "2", "name": "g", "content": "{\"b\":1,\"a\":[2]}"},
	  {"role": "tool", "tool_call_id": "3", "content": [{"type": "text", "text": "three"}], "is_error": true},
	  {"role": "tool", "tool_call_id": "4", "content": ""},
	  {"role": "assistant", "content": ""},
	  {"role": "user", "content": "and?", "z": 1}]`)
	out := run(t, t.TempDir(), callstest.Now, value.Pairs("identity", "I", "append", given))
	same(t, "messages", pretty(value.Must(out.Messages[1:])), pretty(want))
	checkParts(t, out)
	for _, bad := range []string{`[{"role": "tool", "content": "x"}]`, `[{"content": "x"}]`} {
		_, err := callcontext.Definition().New(value.OfMap(value.Pairs("append", parse(t, bad))))
		if calls.KindOf(err) != calls.Invalid || calls.HintOf(err) == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// An image of the current message costs as much as one of the history: the cost for the model of the flow.
func TestImagesCostTheSame(t *testing.T) {
	dir := tree(t, map[string]string{"ws/a.png": picture(t, 1000, 1000)})
	cost := func(options ...func(*calls.Env)) int {
		out := run(t, dir, callstest.Now, value.Pairs("workspace", "ws", "media", []string{"a.png"}), options...)
		for _, p := range out.Parts {
			if p.Kind == "image" {
				return p.Tokens
			}
		}
		t.Fatal("no image")
		return 0
	}
	for _, model := range []string{"", "gpt-5", "claude-sonnet-4"} {
		got, want := cost(func(e *calls.Env) { e.Tokens = tokens.For(model) }), tokens.Image(model, 1000, 1000)
		if got != want {
			t.Errorf("%q: %d tokens, want %d", model, got, want)
		}
	}
	if got := cost(); got != llm.ImageTokens {
		t.Errorf("a counter that knows no images: %d tokens", got)
	}
}

func TestHistoryKeepsEverything(t *testing.T) {
	history := parse(t, `[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"audio"}],"n":1.50},
	  {"role":"assistant","content":null,"x":{"b":1,"a":2}}]`)
	out := run(t, t.TempDir(), callstest.Now, value.Pairs("history", history, "current_message", "x", "max_tokens", 5000))
	same(t, "history", value.Must(out.Messages[1:3]).JSON(), history.JSON())
	if out.Tokens < 1600 || out.Tokens > 2000 {
		t.Errorf("%d tokens: an image in the history counts as an image", out.Tokens)
	}
}

func TestBudget(t *testing.T) {
	dir := tree(t, map[string]string{
		"ws/AGENTS.md":            strings.Repeat("A rule of some length.\n", 40),
		"ws/SOUL.md":              strings.Repeat("One long line. ", 60),
		"ws/memory/MEMORY.md":     strings.Repeat("- A fact.\n", 40),
		"ws/skills/a/SKILL.md":    "---\nname: a\ndescription: A\nalways: true\n---\n" + strings.Repeat("Step. ", 100),
		"ws/skills/b/SKILL.md":    "---\nname: b\ndescription: B\n---\n" + strings.Repeat("Step. ", 100),
		"ws/skills/zz/SKILL.md":   "---\nname: zz\ndescription: Z\nmetadata: {nanobot: {requires: {env: NO_SUCH_NAME}}}\n---\n",
		"ws/memory/2026-03-05.md": "Today.\n",
	})
	history := []any{}
	for i := range 20 {
		history = append(history, value.Pairs("role", "user", "content", fmt.Sprintf("question %d", i)), value.Pairs("role", "assistant", "content", "answer"))
	}
	with := func(limit int) *value.Map {
		return value.Pairs("workspace", "ws", "identity", "I am.", "current_message", "go on with $b", "history", history, "memories", []string{"one", "two"}, "max_tokens", limit)
	}
	whole := run(t, dir, callstest.Now, with(0))
	exact := run(t, dir, callstest.Now, with(whole.Tokens))
	same(t, "exactly enough", exact.System, whole.System)
	warned(t, exact)
	for limit := 20; limit < whole.Tokens; limit += 13 {
		out, err := try(t, dir, callstest.Now, with(limit))
		if err != nil {
			t.Fatalf("%d: %v", limit, err)
		}
		checkParts(t, out)
		if out.Tokens > limit {
			t.Errorf("max_tokens %d: %d tokens", limit, out.Tokens)
		}
		if len(out.Warnings) == 0 {
			t.Errorf("max_tokens %d: nothing said", limit)
		}
		if kept := out.Messages[1 : len(out.Messages)-1]; len(kept) > 0 && textOf(kept[0])[:8] != "question" {
			t.Errorf("max_tokens %d: the history begins in the middle of a turn", limit)
		}
	}
	tight := run(t, dir, callstest.Now, with(500))
	same(t, "loaded", kinds(tight, "skill", true), []string{"b"})
	same(t, "left out", kinds(tight, "skill", false), []string{"a"})
	if cut := kinds(tight, "file", false); len(cut) == 0 {
		t.Error("no file was cut")
	}
	_, err := try(t, dir, callstest.Now, with(5))
	if calls.KindOf(err) != calls.Budget || !strings.Contains(calls.HintOf(err), "raise max_tokens") {
		t.Errorf("got %v (%s)", err, calls.HintOf(err))
	}
}

// TestAnsweredCallsStay: results in append keep the turn of their calls.
func TestAnsweredCallsStay(t *testing.T) {
	history := parse(t, `[{"role":"user","content":"old, old, old, old"},{"role":"assistant","content":"yes"},
	  {"role":"user","content":"do it"},
	  {"role":"assistant","content":"","tool_calls":[{"id":"1"},{"id":"2"}]},
	  {"role":"tool","tool_call_id":"1","content":"one"}]`)
	with := func(limit int) *value.Map {
		return value.Pairs("identity", "I", "history", history, "max_tokens", limit,
			"append", []any{value.Pairs("role", "tool", "tool_call_id", "2", "content", "two")})
	}
	out := run(t, t.TempDir(), callstest.Now, with(40))
	same(t, "kept", kinds(out, "history", true), []string{"2 user", "3 assistant", "4 tool"})
	if _, err := try(t, t.TempDir(), callstest.Now, with(20)); calls.KindOf(err) != calls.Budget {
		t.Errorf("got %v", err)
	}
}

// turns is a memory of utterances.
type turns struct {
	calls.Memory
	list []plugins.Turn
	err  error
}

func (m turns) Recent(context.Context, calls.Scope, int) ([]plugins.Turn, error) {
	return m.list, m.err
}

func TestHistoryFromMemory(t *testing.T) {
	env := calls.NewEnv()
	env.Vars = &calls.Vars{Scope: calls.Scope{User: "lin", Session: "monday"}}
	run := func(m calls.Memory, with ...any) value.Value {
		t.Helper()
		env.Memory = m
		call, err := callcontext.Definition().New(value.OfMap(value.Pairs(append(with, "identity", "I", "current_message", "now")...)))
		if err != nil {
			t.Fatal(err)
		}
		in, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			t.Fatal(err)
		}
		out, err := callstest.CollectOutput(call.Exec(t.Context(), env, in))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	contents := func(out value.Value) (list []string) {
		messages, _ := out.Get("messages")
		for _, m := range messages.List()[1:] {
			role, _ := m.At("/role")
			content, _ := m.At("/content")
			list = append(list, role.JSON()+content.JSON())
		}
		return list
	}
	said := turns{list: []plugins.Turn{{Role: "user", Content: "hi"}, {Role: "assistant", Content: "ho"}}}
	out := run(said)
	if diff := cmp.Diff([]string{`"user""hi"`, `"assistant""ho"`, `"user""now"`}, contents(out)); diff != "" {
		t.Error(diff)
	}
	if text := out.JSON(); !strings.Contains(text, "0 user from memory") {
		t.Errorf("nothing says where the history is from: %s", text)
	}
	if diff := cmp.Diff([]string{`"user""now"`}, contents(run(said, "history", value.OfList()))); diff != "" {
		t.Errorf("an empty history is given: %s", diff)
	}
	out = run(turns{err: errors.New("the disk is gone")})
	if warnings, _ := out.Get("warnings"); !strings.Contains(warnings.JSON(), "the disk is gone") {
		t.Errorf("got %s", warnings)
	}
}

func TestSlots(t *testing.T) {
	out := run(t, t.TempDir(), callstest.Now, value.Pairs("identity", "You are Ella.", "slots", value.Pairs("before_char", "The world.", "after_char", "The town.")))
	same(t, "system", out.System, "The world.\n\n---\n\nYou are Ella.\n\n---\n\nThe town.")
	checkParts(t, out)
}

func TestLineBreaksAreRefused(t *testing.T) {
	for _, name := range []string{"channel", "chat_id", "workspace", "work_dir"} {
		_, err := callcontext.Definition().New(value.OfMap(value.Pairs(name, "shop\n\n# Skills")))
		if calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Problems of skills and files are reported in the language of the run, with the details about a file inside.
func TestWarningsInChinese(t *testing.T) {
	dir := tree(t, map[string]string{
		"ws/AGENTS.md":           strings.Repeat("x\n", 1<<20),
		"ws/skills/a/SKILL.md":   "---\nname: b\ndescription: A\nmetadata: 7\n---\nDo a.\n",
		"ws/skills/bad/SKILL.md": "\xff",
	})
	out := run(t, dir, callstest.Now, value.Pairs("workspace", "ws"), func(e *calls.Env) { e.Vars.Language = "zh" })
	warned(t, out, "引导文件 AGENTS.md: 只使用前 1048576 字节", "技能 a：名称 \"b\" 与目录名 \"a\" 不同", "技能 bad：已跳过：SKILL.md:1:1: 此处的文本不是 UTF-8（请以 UTF-8 保存）")
}

// A recalled memory with an empty text has its words in content, and they are its source.
func TestMemoriesWithEmptyText(t *testing.T) {
	dir := tree(t, nil)
	out := run(t, dir, callstest.Now, value.Pairs("identity", "I", "memories", []any{map[string]any{"text": "", "content": "likes tea", "id": "m1"}}))
	warned(t, out)
	i := slices.IndexFunc(out.Parts, func(p calls.Part) bool { return p.Kind == "recalled" })
	if i < 0 || out.Parts[i].Name != "m1" || len(out.Parts[i].Origins) != 1 || out.Parts[i].Origins[0].Pointer != "/memories/0/content" {
		t.Errorf("the parts are %+v", out.Parts)
	}
}

// TestShownWorkspace: the prompt names the workspace as the flow does, or by its absolute path.
func TestShownWorkspace(t *testing.T) {
	dir := tree(t, map[string]string{"ws/skills/prices/SKILL.md": "---\nname: prices\ndescription: Prices.\n---\nx\n"})
	if err := os.Symlink("ws", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	absolute := filepath.ToSlash(real)
	for _, tt := range []struct{ shown, want string }{{"", "link"}, {"written", "link"}, {"absolute", absolute}} {
		params := value.Pairs("workspace", "./link")
		if tt.shown != "" {
			params.Set("shown_workspace", value.OfString(tt.shown))
		}
		out := run(t, dir, callstest.Now, params)
		for _, text := range []string{"## Workspace\n" + tt.want + "\n", "<location>" + tt.want + "/skills/prices/SKILL.md</location>"} {
			if !strings.Contains(out.System, text) {
				t.Errorf("shown_workspace %q: no %q in\n%s", tt.shown, text, out.System)
			}
		}
		warned(t, out)
	}
}
