package context_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm/value"
)

// The texts of the files that many vectors have.
const (
	agentsText   = "# Agent rules\n\nAnswer briefly. Prefer lists.\n"
	soulText     = "I am calm and curious.\n"
	userText     = "Name: Lin Mei\nTimezone: UTC+8\n"
	toolsText    = "- shell: run a command\n- fetch: get a page\n"
	identityText = "Codename: harbour\n"
	factsText    = "# Facts\n\n- The user likes green tea.\n- Project deadline: 2026-04-01\n"
	notesText    = "# 2026-03-05\n\n- 09:00 stand-up moved to Friday\n"
)

// from is a stretch of the prompt that was taken from a file of the workspace or from a
// parameter; a text that was computed from its source is "".
type from struct{ source, text string }

var (
	fiveFiles = []from{{"AGENTS.md", agentsText}, {"SOUL.md", soulText}, {"USER.md", userText}, {"TOOLS.md", toolsText}, {"IDENTITY.md", identityText}}
	memories  = []from{{"memory/MEMORY.md", factsText}, {"memory/2026-03-05.md", notesText}}
)

// listedSkill is the entry of a skill in the list: made from the head of its file.
func listedSkill(name string) from { return from{"skills/" + name + "/SKILL.md", ""} }

func skillBody(name, body string) from { return from{"skills/" + name + "/SKILL.md", body} }

func joined(lists ...[]from) (all []from) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// expectedSources are the sources of these vectors' prompts, in order, beside the words of the call, the identity
// and the introduction to skills. They were written by hand from the cases: from the files, the arguments and the
// recorded result.
func expectedSources() map[string][]from {
	return map[string][]from{
		"boot-empty-workspace":       nil,
		"boot-only-tools":            {{"TOOLS.md", toolsText}},
		"boot-all-five":              fiveFiles,
		"boot-empty-file":            {{"SOUL.md", soulText}},
		"boot-no-trailing-newline":   {{"AGENTS.md", "one line"}, {"USER.md", "two\n\n\n"}},
		"boot-crlf":                  {{"AGENTS.md", "a"}, {"AGENTS.md", "\nb"}, {"AGENTS.md", "\nc"}, {"AGENTS.md", ""}, {"AGENTS.md", "d"}}, // a CR alone became LF
		"boot-lowercase-ignored":     nil,
		"boot-chinese":               {{"AGENTS.md", "# 规则\n\n请用中文回答，语气友好。😀\n"}, {"USER.md", "姓名：李梅\n時區：台北\n"}},
		"boot-frontmatter-untouched": {{"AGENTS.md", "---\nx: 1\n---\nbody\n"}},
		// The file repeats the heading above it.
		"boot-contains-separator": {{"AGENTS.md", "a\n\n---\n\nb\n"}, {"SOUL.md", "## SOUL.md\n"}},
		"boot-directory":          nil,
		"boot-invalid-utf8":       nil,
		"mem-both":                memories,
		"mem-empty-files":         nil,
		"mem-root-memory-ignored": {{"MEMORY.md", "root file is not read\n"}},
		"mem-with-bootstrap":      joined(fiveFiles, memories),
		"memctx-both":             memories,
		"memctx-none":             nil,
		"memctx-trailing":         {{"memory/MEMORY.md", "x\n\n\n"}, {"memory/2026-03-05.md", "y"}},
		"skill-one":               {listedSkill("notes")},
		"skill-always-toplevel":   {skillBody("core", "# core\n\nDo the thing."), listedSkill("core")},
		"skill-always-two": {
			skillBody("a1", "# a1\n\nDo the thing."), skillBody("b2", "# b2\n\n  padded body"),
			listedSkill("a1"), listedSkill("b2"), listedSkill("c3"),
		},
		"skill-always-metadata-false":  {listedSkill("core")},
		"skill-always-unavailable":     {listedSkill("core")},
		"skill-frontmatter-only":       {listedSkill("fm")}, // of an empty body nothing is taken
		"skill-frontmatter-hr-in-body": {skillBody("fm", "before\n\n---\n\nafter"), listedSkill("fm")},
		"skill-chinese":                {skillBody("天气", "# 天气\n\n用 curl 查询。"), listedSkill("天气")},
		"full": joined(fiveFiles, memories, []from{
			skillBody("core", "# core\n\nDo the thing."), listedSkill("core"), listedSkill("github"), listedSkill("天气"),
		}),
		"msg-history":            {{"/history/0/content", "你好"}, {"/history/1/content", "Hello!"}, {"/current_message", "帮我写一个函数"}},
		"msg-chat-only":          {{"/current_message", "hi"}},
		"msg-empty-text":         nil,
		"msg-history-tool":       {{"/history/1/content", "a\nb"}, {"/history/2/content", "mid"}, {"/current_message", "next"}},
		"msg-history-extra-keys": {{"/history/0/content/0/text", "p"}, {"/current_message", "x"}},
		"msg-media-txt":          {{"/current_message", "x"}},
		"msg-media-url":          {{"/current_message", "x"}},
		"msg-media-png":          {{"/current_message", "描述这张图片"}},
	}
}

func TestSourcesOfVectors(t *testing.T) {
	expected := expectedSources()
	rows := readVectors[vector](t, "context.jsonl")
	if 3*len(expected) < len(rows) {
		t.Errorf("%d of %d vectors have expected sources", len(expected), len(rows))
	}
	for _, row := range rows {
		want, ok := expected[row.ID]
		if !ok {
			continue
		}
		delete(expected, row.ID)
		t.Run(row.ID, func(t *testing.T) {
			if diff := cmp.Diff(want, sourcesOf(t, &row), cmp.AllowUnexported(from{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	for id := range expected {
		t.Errorf("there is no vector %s", id)
	}
}

// sourcesOf runs a vector and returns the sources of its prompt.
func sourcesOf(t *testing.T, row *vector) (list []from) {
	dir := t.TempDir()
	writeAll(t, filepath.Join(dir, "ws"), row.Files)
	with := value.Pairs("workspace", "ws", "builtin_skills", "none", "identity", identityOnly, "skills_intro", "{{SKILLS_INTRO}}")
	given := strings.ReplaceAll(row.Call.Args.JSON(), "{{WORKSPACE}}", "ws")
	for key, v := range arguments(t, row.Call.Method, parse(t, given).Map()).All() {
		with.Set(key, v)
	}
	now, err := time.Parse("2006-01-02T15:04:05", row.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range run(t, dir, now, with).Parts {
		for _, o := range p.Origins {
			source := o.Pointer + strings.TrimPrefix(o.File, "ws/")
			if !p.Included || o.Kind != "" || source == "/identity" || source == "/skills_intro" || p.Kind == "image" {
				continue
			}
			f := from{source, p.Text[o.Start:o.End]}
			if o.Computed {
				f.text = ""
			}
			list = append(list, f)
		}
	}
	return list
}
