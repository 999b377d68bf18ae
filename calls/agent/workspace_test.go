package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/scripted"
)

func desk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"desk/notes.txt":                    "one\ntwo\nthree\nfour",
		"desk/big.txt":                      strings.Repeat("x", 5<<20),
		"desk/binary":                       "\xff\xfe",
		"desk/empty/.keep":                  "",
		"desk/desk/deep.txt":                "far below",
		"desk/desk/notes.txt":               "other notes",
		"desk/long.txt":                     strings.Repeat("0123456789\n", 100),
		"desk/wide.txt":                     strings.Repeat("w", 2000) + "\nend\n",
		"desk/skills/prices/SKILL.md":       "---\nname: prices\ndescription: What bread costs.\n---\n\nRye costs 4.20.\n",
		"desk/skills/prices/more/cake.md":   "Cake costs 3.\n",
		"desk/skills/hidden/SKILL.md":       "---\ndescription: x\ndisable-model-invocation: true\n---\nHush.\n",
		"desk/.agents/skills/mill/SKILL.md": "---\ndescription: Order flour.\n---\nCall before noon.\n",
		"builtin/prices/SKILL.md":           "---\ndescription: Other.\n---\nNever.\n",
		"builtin/oven/SKILL.md":             "---\ndescription: Heat the oven.\nmetadata: {nanobot: {requires: {bins: [no-such-program-here]}}}\n---\nTo 230.\n",
		"outside.txt":                       "secret",
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside.txt", filepath.Join(dir, "desk", "link.txt")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWorkspace(t *testing.T) {
	dir := desk(t)
	absolute, err := filepath.EvalSymlinks(filepath.Join(dir, "desk"))
	if err != nil {
		t.Fatal(err)
	}
	absolute = filepath.ToSlash(absolute)
	for _, c := range []struct{ tool, arguments, want string }{
		{"read_file", `{"path": "` + absolute + `/notes.txt", "limit": 1}`, "one\n"},
		{"read_file", `{"path": "` + absolute + `/../outside.txt"}`, "escapes"},
		{"read_file", `{"path": "notes.txt"}`, "one\ntwo\nthree\nfour"},
		{"read_file", `{"path": "desk/deep.txt"}`, "far below"},
		{"read_file", `{"path": "desk/notes.txt"}`, "other notes"},
		{"read_file", `{"path": "notes.txt", "offset": 2, "limit": 2}`, "two\nthree\n[lines 2 to 3 of 4; read on with offset 4]"},
		{"read_file", `{"path": "notes.txt", "offset": 9}`, "[the file has 4 lines]"},
		{"read_file", `{"path": "desk/skills/prices/SKILL.md", "limit": 1}`, "---\n[lines 1 to 1 of 6; read on with offset 2]"},
		{"read_file", `{"path": "."}`, "it is a directory, with .agents/, big.txt, binary, desk/, empty/, link.txt, long.txt, notes.txt, skills/, wide.txt"},
		{"read_file", `{"path": "empty/.keep"}`, "[the file has 0 lines]"},
		{"read_file", `{"path": "none.txt"}`, `"kind":"notfound","message":"none.txt: file does not exist"`},
		{"read_file", `{"path": "../outside.txt"}`, "escapes"},
		{"read_file", `{"path": "link.txt"}`, "escapes"},
		{"read_file", `{"path": "/etc/passwd"}`, "escapes"},
		{"read_file", `{"path": "big.txt"}`, "more than 4194304"},
		{"read_file", `{"path": "binary"}`, "1:1: the text is not UTF-8 here"},
		{"read_file", `{"path": "notes.txt", "offset": 0}`, "/offset"},
		{"read_skill", `{"name": "prices"}`, "Base directory: desk/skills/prices\n\nRye costs 4.20.\n\n<files>\nmore/cake.md\n</files>"},
		{"read_skill", `{"name": "prices", "file": "more/cake.md"}`, "Cake costs 3."},
		{"read_skill", `{"name": "prices", "file": "../../notes.txt"}`, "is not a file of the skill"},
		{"read_skill", `{"name": "prices", "file": "none"}`, "file does not exist"},
		{"read_skill", `{"name": "mill"}`, "Call before noon."},
		{"read_skill", `{"name": "oven"}`, "To 230."},
		{"read_skill", `{"name": "ofen"}`, `did you mean \"oven\"?`},
		{"read_skill", `{"name": "hidden"}`, "there are prices, mill, oven"},
	} {
		r := run(t.Context(), t, &world{t: t}, scripted.New(uses("", c.tool, c.arguments), says("ok")),
			"{prompt: x, workspace: ./desk, builtin_skills: builtin}", func(env *calls.Env) { env.Dir = dir })
		if r.err != nil {
			t.Fatal(r.err)
		}
		if got := r.Rounds[0].ToolCalls[0].Result; !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %.300q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
}

// TestAllowedTools: while the model follows a skill, it has the tools of the skill.
func TestAllowedTools(t *testing.T) {
	dir := t.TempDir()
	for name, front := range map[string]string{"strict": "allowed-tools: Weather", "foreign": "allowed-tools: Bash(git:*)", "free": "license: MIT"} {
		at := filepath.Join(dir, "skills", name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "skill.md"), []byte("---\nname: "+name+"\ndescription: D\n"+front+"\n---\nDo it.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	use := func(skill, tool, arguments string) []string {
		p := scripted.New(uses("", "read_skill", `{"name": "`+skill+`"}`), uses("", tool, arguments), says("ok"))
		r := run(t.Context(), t, &world{t: t}, p, "{prompt: x, builtin_skills: skills, tools: {calls: [{call: weather}, {call: weather, name: other}]}}",
			func(env *calls.Env) { env.Dir = dir })
		if r.err != nil {
			t.Fatal(r.err)
		}
		return append([]string{r.Rounds[1].ToolCalls[0].Result}, r.Warnings...)
	}
	const refused = "does not allow"
	for _, c := range []struct {
		skill, tool, arguments string
		refused                bool
	}{
		{"strict", "weather", `{"city": "Paris"}`, false},
		{"strict", "other", `{"city": "Paris"}`, true},
		{"strict", "read_skill", `{"name": "free"}`, false},
		{"foreign", "weather", `{"city": "Paris"}`, true},
		{"free", "other", `{"city": "Paris"}`, false},
	} {
		got := use(c.skill, c.tool, c.arguments)
		if strings.Contains(got[0], refused) != c.refused {
			t.Errorf("%s, %s: %q", c.skill, c.tool, got[0])
		}
		if warnings := strings.Join(got[1:], "\n"); !strings.Contains(warnings, "skill foreign: the agent has none of its allowed-tools (Bash)") || strings.Contains(warnings, "strict") {
			t.Errorf("warnings: %s", warnings)
		}
	}
}

// A file that does not fit into a result can be read on.
func TestLongFiles(t *testing.T) {
	dir := desk(t)
	for arguments, want := range map[string]string{
		`{"path": "long.txt"}`:                           "\n[lines 1 to 32 of 100; read on with offset 33]",
		`{"path": "long.txt", "offset": 80}`:             "6789\n",
		`{"path": "long.txt", "offset": 40, "limit": 1}`: "[lines 40 to 40 of 100; read on with offset 41]",
		`{"path": "wide.txt"}`:                           "w\n[cut: these are the first 352 of 2001 bytes of line 1]\n[lines 1 to 1 of 2; read on with offset 2]",
		`{"path": "wide.txt", "offset": 2}`:              "end\n",
	} {
		r := run(t.Context(), t, &world{t: t}, scripted.New(uses("", "read_file", arguments), says("ok")),
			"{prompt: x, workspace: desk, max_result_bytes: 512}", func(env *calls.Env) { env.Dir = dir })
		if r.err != nil {
			t.Fatal(r.err)
		}
		if got := r.Rounds[0].ToolCalls[0].Result; !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %q", arguments, got)
		}
	}
}

func TestDescriptionsOfTheWorkspace(t *testing.T) {
	dir := desk(t)
	for language, wants := range map[string][]string{
		"en": {"the workspace desk", "- prices: What bread costs.", "- oven: Heat the oven. (not usable here)"},
		"zh": {"工作目录 desk", "- prices：What bread costs.", "（此处无法使用）"},
	} {
		p := scripted.New(says("ok"))
		r := run(t.Context(), t, &world{t: t}, p, "{prompt: x, workspace: ./desk/, builtin_skills: builtin}", func(env *calls.Env) {
			env.Dir, env.Vars = dir, &calls.Vars{Language: language}
		})
		text := fmt.Sprintf("%s", p.Requests()[0].Tools)
		for _, want := range append(wants, "read_file", "read_skill") {
			if r.err != nil || !strings.Contains(text, want) {
				t.Errorf("%v: %q is not in %s", r.err, want, text)
			}
		}
		if strings.Contains(text, "hidden") {
			t.Errorf("a hidden skill is told of: %s", text)
		}
	}
}

// Problems of skills are warned about, above all if the model does not get to see the skill.
func TestWarningsOfSkills(t *testing.T) {
	dir := desk(t)
	warned := func() string {
		r := run(t.Context(), t, &world{t: t}, scripted.New(says("yes")), "{prompt: x, workspace: desk}", func(e *calls.Env) { e.Dir = dir })
		if r.err != nil {
			t.Fatal(r.err)
		}
		return strings.Join(r.Warnings, "; ")
	}
	const others = "skill hidden: there is no name; skill mill: there is no name"
	if got := warned(); got != others {
		t.Errorf("%q", got)
	}
	broken := filepath.Join(dir, "desk", "skills", "broken")
	if err := os.Mkdir(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "SKILL.md"), []byte("\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := warned(); got != "skill broken: skipped: SKILL.md:1:1: the text is not UTF-8 here (save it as UTF-8); "+others {
		t.Errorf("%q", got)
	}
}
