package skill_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/callnode/scheduler/calls/internal/skill"
	"github.com/callnode/scheduler/llm/value/wording"
)

func emptyHost() skill.Host { return host(nil, nil) }

func host(bins []string, env map[string]string) skill.Host {
	return skill.Host{
		LookPath: func(name string) (string, error) {
			for _, bin := range bins {
				if bin == name {
					return "/bin/" + name, nil
				}
			}
			return "", fs.ErrNotExist
		},
		Getenv: func(name string) string { return env[name] },
	}
}

const described = "---\nname: s\ndescription: D\n"

func TestInterpret(t *testing.T) {
	tests := map[string]struct {
		front string
		want  skill.Skill
		warns int
	}{
		"plain":                {"", skill.Skill{}, 0},
		"always":               {"always: true\n", skill.Skill{Always: true}, 0},
		"always as text":       {"always: 'False'\n", skill.Skill{}, 0},
		"always on":            {"always: On\n", skill.Skill{Always: true}, 0},
		"nested always":        {"metadata:\n  always: true\n  description: other\n", skill.Skill{}, 0},
		"nanobot block":        {"metadata:\n  nanobot:\n    always: yes\n", skill.Skill{Always: true}, 0},
		"nanobot as JSON text": {`metadata: '{"nanobot":{"always":true}}'` + "\n", skill.Skill{Always: true}, 0},
		"nanobot null":         {"metadata: {nanobot: null}\n", skill.Skill{}, 1},
		"requires null":        {"metadata: {nanobot: {requires: null, always: true}}\n", skill.Skill{Always: true}, 1},
		"metadata no JSON":     {"metadata: '{nope'\n", skill.Skill{}, 1},
		"one bin":              {"metadata: {nanobot: {requires: {bins: gh, env: TOKEN}}}\n", skill.Skill{Missing: []string{"CLI: gh", "ENV: TOKEN"}}, 0},
		"what is there":        {"metadata: {nanobot: {requires: {bins: [jq], env: [HOME]}}}\n", skill.Skill{}, 0},
		"openclaw requires":    {"metadata: {openclaw: {requires: {bins: [gh]}}}\n", skill.Skill{Missing: []string{"CLI: gh"}}, 0},
		"openclaw always":      {"metadata: {openclaw: {always: true, requires: {bins: [gh]}}}\n", skill.Skill{}, 0},
		"nanobot wins":         {"metadata: {openclaw: {requires: {bins: [gh]}}, nanobot: {}}\n", skill.Skill{}, 0},
		"settings of openclaw": {"metadata: {openclaw: {requires: {config: [channels.slack], bins: [jq], anyBins: [jq]}}}\n", skill.Skill{}, 1},
		"no settings":          {"metadata: {openclaw: {requires: {config: [], more: null}}}\n", skill.Skill{}, 0},
		"setting as a text":    {"metadata: {moltbot: {requires: {config: browser.enabled}}}\n", skill.Skill{}, 1},
		"anyBins of nanobot":   {"metadata: {nanobot: {requires: {anyBins: [gh]}}}\n", skill.Skill{}, 1},
		"settings, ungated":    {"metadata: {openclaw: {always: true, requires: {config: [channels.slack]}}}\n", skill.Skill{}, 0},
		"hidden":               {"disable-model-invocation: true\n", skill.Skill{Hidden: true}, 0},
		"twice":                {"description: E\n", skill.Skill{Description: "E"}, 1},
		"looks like a list":    {"license: [WIP] x\n", skill.Skill{}, 1},
		"looks like an alias":  {"license: *bold* x\nother: `code`\nmore: {x} y\nlast: \"a\" b\n", skill.Skill{}, 1},
		"flow beside text":     {"license: a: b\nmetadata: {nanobot: {always: true}}\nx: [a]\ny: >\n  z\nz: c:\n", skill.Skill{Always: true}, 1},
		"unquoted colon":       {"license: see: it's there\n", skill.Skill{}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := skill.Parse(described + test.front + "---\n\nBody.\n")
			if err != nil {
				t.Fatal(err)
			}
			got, warnings := skill.Interpret("s", "skills/s/SKILL.md", f, host([]string{"jq"}, map[string]string{"HOME": "/"}))
			test.want.Name, test.want.Location, test.want.Body = "s", "skills/s/SKILL.md", "Body."
			if test.want.Description == "" {
				test.want.Description = "D"
			}
			if diff := cmp.Diff(&test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(warnings) != test.warns {
				t.Errorf("warnings %q, want %d", warnings, test.warns)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no mapping": "---\n- a\n---\n",
		"text":       "---\nhello\n---\n",
		"not YAML":   "---\na: 1\n- b\n---\n",
		"key":        "---\n? [a]\n: b\n---\n",
		"two bombs":  "---\na: &a [x,x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n---\n",
		"too long":   "---\na: " + strings.Repeat("x", 1<<16) + "\n---\n",
		"in itself":  "---\na: &a [*a, *a]\n---\n",
		"two in one": "---\na: 1\n--- \n",
		"bad colon":  "---\na: b: c\n- d\n---\n",
	} {
		t.Run(name, func(t *testing.T) {
			if f, err := skill.Parse(text); (err == nil) != (name == "two in one") {
				t.Errorf("error %v, meta %v", err, f.Meta.Keys())
			}
		})
	}
}

func TestValidateNames(t *testing.T) {
	for name, want := range map[string]skill.Rule{
		"a--b": skill.NameHyphen, strings.Repeat("a", 65): skill.NameLength, "' '": skill.EmptyName, "other": skill.NameDirectory,
	} {
		f, err := skill.Parse("---\nname: " + name + "\ndescription: D\n---\n")
		if err != nil {
			t.Fatal(err)
		}
		dir := name
		if want == skill.NameDirectory {
			dir = "mine"
		}
		problems := skill.Validate(dir, f)
		if len(problems) != 1 || problems[0].Rule != want || problems[0].Message.En == "" {
			t.Errorf("%s: %v, want %s", name, problems, want)
		}
	}
}

func TestLoad(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	system := fstest.MapFS{
		"skills/b/SKILL.md":            file("---\nname: b\ndescription: first\r\n---\r\nline\r\n\r\nend\r\n"),
		"skills/Z/SKILL.md":            file("---\nname: Z\ndescription: upper case sorts first\n---\n"),
		"skills/bad/SKILL.md":          file("---\n: [\n---\n"),
		"skills/binary/SKILL.md":       file("\xff\xfe"),
		"skills/huge/SKILL.md":         file(strings.Repeat("x", 1<<20+1)),
		"skills/dir/SKILL.md/x":        file(""),
		"skills/none/README.md":        file(""),
		"skills/plain":                 file(""),
		"skills/node_modules/SKILL.md": file("x"),
		"more/b/SKILL.md":              file("---\nname: b\ndescription: second\n---\n"),
		"more/bad/SKILL.md":            file("---\nname: bad\ndescription: good after all\n---\n"),
	}
	found, warnings, err := skill.Load(t.Context(), emptyHost(),
		skill.Source{FS: system, Dir: "skills", Shown: "ws/skills"},
		skill.Source{FS: system, Dir: "nowhere", Shown: "nowhere"},
		skill.Source{FS: system, Dir: "skills/plain", Shown: "plain"},
		skill.Source{FS: system, Dir: "more", Shown: "more"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range found {
		got = append(got, s.Location+" "+s.Description+" "+s.Body)
	}
	want := []string{"ws/skills/Z/SKILL.md upper case sorts first ", "ws/skills/b/SKILL.md first line\n\nend", "more/bad/SKILL.md good after all "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := wording.Join(warnings, "\n", "\n").En
	for _, part := range []string{"skill bad: skipped: reading the front matter", "binary: skipped: SKILL.md:1:1: the text is not UTF-8 here", "huge: skipped: SKILL.md has 1048577 bytes",
		"dir: skipped: SKILL.md is not a regular file", "plain cannot be listed", "skill Z: the name \"Z\" is not in lower case"} {
		if !strings.Contains(all, part) {
			t.Errorf("no warning %q in\n%s", part, all)
		}
	}
	if len(warnings) != 6 {
		t.Errorf("%d warnings:\n%s", len(warnings), all)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := skill.Load(ctx, emptyHost(), skill.Source{FS: system, Dir: "skills"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled scan gives %v", err)
	}
}

// TestGroups: skills may be in folders of skills, as in repositories with many, and their files are found there.
func TestGroups(t *testing.T) {
	text := func(body string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(described + "---\n" + body)} }
	files := fstest.MapFS{
		"skills/alone/SKILL.md": text("1"), "skills/writing/letters/SKILL.md": text("2"), "skills/writing/letters/form.txt": text("x"),
		"skills/writing/alone/SKILL.md": text("second of the name"), "skills/alone/inner/SKILL.md": text("of a skill"), "skills/a/b/c/SKILL.md": text("too deep"),
		"skills/writing/node_modules/SKILL.md": text("no"), "skills/writing/README.md": text("no"),
	}
	list, _, err := skill.Load(t.Context(), emptyHost(), skill.Source{FS: files, Dir: "skills", Shown: "ws/skills"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, s.Name+" in "+s.Folder+", "+s.Location+": "+s.Instructions())
	}
	want := []string{
		"alone in alone, ws/skills/alone/SKILL.md: Base directory: ws/skills/alone\n\n1",
		"letters in writing/letters, ws/skills/writing/letters/SKILL.md: Base directory: ws/skills/writing/letters\n\n2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRequirements: the requirements of skills for OpenClaw, under all its names, and for nanobot.
func TestRequirements(t *testing.T) {
	host := skill.Host{
		OS: "linux",
		LookPath: func(name string) (string, error) {
			return name, map[string]error{"absent": fs.ErrNotExist, "gone": fs.ErrNotExist}[name]
		},
		Getenv: func(name string) string { return map[string]string{"SET": "x"}[name] },
	}
	for metadata, want := range map[string]string{
		`{nanobot: {requires: {bins: [absent]}}}`:                                "CLI: absent",
		`{openclaw: {requires: {bins: [there], env: [SET, NOT_SET]}}}`:           "ENV: NOT_SET",
		`{clawdbot: {requires: {bins: [absent, there]}}}`:                        "CLI: absent",
		`{moltbot: {requires: {anyBins: [absent, gone]}}}`:                       "CLI: absent or gone",
		`{clawdis: {requires: {anyBins: [absent, there]}}}`:                      "",
		`{clawdbot: {os: [darwin, win32]}}`:                                      "OS: darwin or win32",
		`{openclaw: {os: [linux, darwin]}}`:                                      "",
		`{openclaw: {os: darwin, requires: {bins: [absent]}, always: true}}`:     "",
		`{openclaw: {}, clawdbot: {requires: {bins: [absent]}}}`:                 "",
		"\n\t{\n\t\t\"openclaw\": {\"requires\": {\"bins\": [\"absent\"]}}\n\t}": "CLI: absent",
		"{\n  \"openclaw\": {\"requires\": {\"bins\": [\"absent\"],},},\n}":      "CLI: absent",
		`{"clawdbot":{"emoji":"\ud83c\udf0a","requires":{"bins":["absent"]}}}`:   "CLI: absent",
		`{nanobot: null, clawdbot: {requires: {bins: [absent]}}}`:                "CLI: absent",
		`'{"clawdbot":{"emoji":"\U0001F30A","requires":{"bins":["absent"]}}}'`:   "CLI: absent",
	} {
		f, err := skill.Parse("---\nname: s\ndescription: d\nmetadata: " + metadata + "\n---\n")
		if err != nil {
			t.Fatal(metadata, err)
		}
		s, _ := skill.Interpret("s", "s/SKILL.md", f, host)
		if got := strings.Join(s.Missing, ", "); got != want {
			t.Errorf("%s: missing %q, want %q", metadata, got, want)
		}
	}
}

// TestFileOfAnyCase: SKILL.md counts before names of another case, and a skill with other
// files names its directory.
func TestFileOfAnyCase(t *testing.T) {
	text := func(body string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(described + "---\n" + body)} }
	files := fstest.MapFS{
		"skills/lower/skill.md": text("low"), "skills/mixed/Skill.MD": text("mix"),
		"skills/both/SKILL.md": text("exact"), "skills/both/skill.md": text("other"), "skills/none/skills.md": text("no"),
	}
	list, _, err := skill.Load(t.Context(), emptyHost(), skill.Source{FS: files, Dir: "skills", Shown: "ws/skills"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, s.Location+" "+s.Instructions())
	}
	want := []string{"ws/skills/both/SKILL.md Base directory: ws/skills/both\n\nexact", "ws/skills/lower/skill.md low", "ws/skills/mixed/Skill.MD mix"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestInvisibleNames: a directory whose name reads as another is not loaded, and its name is shown with its hidden
// characters made visible.
func TestInvisibleNames(t *testing.T) {
	text := &fstest.MapFile{Data: []byte("---\nname: x\ndescription: y\n---\nbody\n")}
	files := fstest.MapFS{
		"skills/x/SKILL.md": text, "skills/x\u202e/SKILL.md": text, "skills/\x1b[31m/SKILL.md": text,
		"skills/x\u200b/notes.txt": text,
	}
	found, warnings, err := skill.Load(t.Context(), skill.Host{}, skill.Source{FS: files, Dir: "skills", Shown: "skills"})
	if err != nil || len(found) != 1 || found[0].Name != "x" {
		t.Fatalf("found %v, %v", found, err)
	}
	want := []string{
		`skill "\x1b[31m": skipped: the name of its directory has the invisible character U+001B (rename it)`,
		`skill "x\u202e": skipped: the name of its directory has the invisible character U+202E (rename it)`,
	}
	got := make([]string, len(warnings))
	for i, warning := range warnings {
		got[i] = warning.En
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAllowedTools(t *testing.T) {
	for front, want := range map[string][]string{
		"":                                      nil,
		"allowed-tools:\n":                      nil,
		"allowed-tools: \"\"\n":                 {},
		"allowed-tools: Read Bash(git add:*)\n": {"Read", "Bash"},
		"allowed-tools: Read, Grep,Bash(a b)\n": {"Read", "Grep", "Bash"},
		"allowed-tools: [order, weather]\n":     {"order", "weather"},
		"allowed-tools:\n  - order(x y)\n":      {"order"},
	} {
		f, err := skill.Parse(described + front + "---\nx")
		if err != nil {
			t.Fatal(err)
		}
		s, _ := skill.Interpret("s", "s/SKILL.md", f, emptyHost())
		if diff := cmp.Diff(want, s.AllowedTools); diff != "" {
			t.Errorf("%q: %s", front, diff)
		}
	}
}

func TestScanIsBounded(t *testing.T) {
	system := fstest.MapFS{}
	for i := range 2100 {
		system["s/"+strings.Repeat("x", i/100+1)+string(rune('一'+i%100))+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: x\n---\n")}
	}
	found, warnings, err := skill.Load(t.Context(), emptyHost(), skill.Source{FS: system, Dir: "s", Shown: "s"})
	if err != nil || len(found) != 2000 || !strings.Contains(warnings[0].En, "2100 entries") {
		t.Errorf("%d skills, %v, %q", len(found), err, warnings[0])
	}
}

func TestMentioned(t *testing.T) {
	skills := []*skill.Skill{{Name: "note"}, {Name: "note-taking"}, {Name: "天气"}, {Name: "a"}, {Name: ""}}
	for message, want := range map[string]string{
		"use $note please":            "note",
		"$note-taking, $note.":        "note-taking note",
		"$note- and $note":            "note",
		"$note-x $notes US$note $5 $": "",
		"$天气怎么样":                      "天气",
		"用$a。$a":                      "a",
		"($a) $$a":                    "a",
	} {
		var got []string
		for _, s := range skill.Mentioned(message, skills) {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q calls up %q, want %q", message, got, want)
		}
	}
}

func TestCatalog(t *testing.T) {
	s := &skill.Skill{Name: `a"b`, Description: "x < y & 'z'", Location: "w&s/SKILL.md", Missing: []string{"CLI: <q>"}}
	want := `  <skill available="false">
    <name>a&quot;b</name>
    <description>x &lt; y &amp; &#x27;z&#x27;</description>
    <location>w&amp;s/SKILL.md</location>
    <requires>CLI: &lt;q&gt;</requires>
  </skill>`
	if diff := cmp.Diff(want, skill.Nanobot().Entry(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !skill.Nanobot().Lists(s) || skill.AgentSkills().Lists(s) {
		t.Error("what cannot be used is listed by nanobot's form only")
	}
}

func FuzzSkill(f *testing.F) {
	for _, seed := range []string{"", "---\n---\n", described + "---\nbody", "\uFEFF---  \na: b: c\n---\t\n", "---\nmetadata: {nanobot: {requires: {bins: gh}}}\n---\n",
		"---\na: &a [*a]\n---\n", "---\r\nx: 'y\r\n---", "---\na: >-\n  b: c\n---\nd\n---\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := skill.Parse(text)
		if file.Meta == nil || !file.Fenced && err != nil {
			t.Fatalf("%+v, %v", file, err)
		}
		if !strings.Contains(text, file.Body) {
			t.Errorf("the body %q is not in the text", file.Body)
		}
		s, _ := skill.Interpret("s", "l", file, emptyHost())
		if utf8.ValidString(text) && !utf8.ValidString(skill.Nanobot().Entry(s)) {
			t.Error("the entry is not UTF-8")
		}
	})
}
