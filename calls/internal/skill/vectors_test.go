package skill_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/internal/skill"
	"github.com/callnode/scheduler/llm/value"
)

// row is a SKILL.md with the results of the reference library of the Agent Skills standard and of the newest
// nanobot.
type row struct {
	ID         string       `json:"id"`
	Dir        string       `json:"dir"`
	File       string       `json:"file"`
	Content    string       `json:"content"`
	Validate   []string     `json:"validate"`
	Properties *value.Value `json:"properties"`
	Prompt     *string      `json:"prompt"`
	Nanobot    struct {
		Metadata value.Value `json:"metadata"`
		Body     string      `json:"body"`
	} `json:"nanobot_head"`
}

// stricter are rows that the reference refuses because of its small subset of
// YAML; we read real YAML.
func stricter() map[string]bool {
	return map[string]bool{
		"metadata-json-flow": true, "allowed-tools-flow": true, "anchor": true, "tag": true, "merge-bomb": true,
	}
}

// nanobotDeparts are rows that we read otherwise than nanobot: scalars keep their spelling, an empty front matter
// is one, and text without a readable front matter is whole.
func nanobotDeparts() map[string]string {
	return map[string]string{
		"octal":             "0755 is text, not the number 493",
		"name-yes":          "yes is text, not true",
		"empty-frontmatter": "two fences with nothing between are front matter",
	}
}

// rule is our name for a message of the reference.
func rule(message string) skill.Rule {
	for part, rule := range map[string]skill.Rule{
		"must start with YAML frontmatter":             skill.NeedsFrontMatter,
		"Missing required field in frontmatter: name":  skill.NeedsName,
		"Missing required field in frontmatter: descr": skill.NeedsDescription,
		"'description' must be a non-empty":            skill.EmptyDescription,
		"'name' must be a non-empty":                   skill.EmptyName,
		"must be lowercase":                            skill.NameCase,
		"cannot start or end with a hyphen":            skill.NameHyphen,
		"consecutive hyphens":                          skill.NameHyphen,
		"contains invalid characters":                  skill.NameCharacters,
		"must match skill name":                        skill.NameDirectory,
		"Description exceeds":                          skill.DescriptionLength,
		"Compatibility exceeds":                        skill.Compatibility,
		"Unexpected fields":                            skill.UnknownField,
		"character limit":                              skill.NameLength,
	} {
		if strings.Contains(message, part) && (rule != skill.NameLength || strings.HasPrefix(message, "Skill name")) {
			return rule
		}
	}
	return skill.Rule(message)
}

func TestVectors(t *testing.T) {
	f, err := os.Open("../../../test/vectors/skills.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		n++
		t.Run(r.ID, func(t *testing.T) { checkRow(t, &r) })
	}
	if n < 40 {
		t.Errorf("only %d rows", n)
	}
}

func checkRow(t *testing.T, r *row) {
	file, err := skill.Parse(r.Content)
	if len(r.Validate) == 1 && strings.Contains(r.Validate[0], "must be a YAML mapping") {
		if err == nil && file.Meta.Len() > 0 {
			t.Error("a front matter that is no mapping was read")
		}
	} else if err != nil {
		t.Fatal(err)
	}
	if !stricter()[r.ID] && err == nil && r.ID != "empty-frontmatter" {
		var got, want []skill.Rule
		for _, p := range skill.Validate(r.Dir, file) {
			got = append(got, p.Rule)
		}
		for _, message := range r.Validate {
			want = append(want, rule(message))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
	}
	if r.Properties != nil {
		for key, want := range r.Properties.Map().All() {
			got, _ := file.Meta.Get(key)
			if got.IsNull() {
				got = value.OfString("")
			}
			if s, ok := got.Str(); ok {
				got = value.OfString(strings.TrimSpace(s))
			}
			if !value.Equal(got, want) {
				t.Errorf("property %s: got %s, want %s", key, got, want)
			}
		}
	}
	if r.Prompt != nil {
		checkPrompt(t, r, file)
	}
	if nanobotDeparts()[r.ID] == "" && err == nil {
		if file.Body != r.Nanobot.Body {
			t.Errorf("body %q, want %q", file.Body, r.Nanobot.Body)
		}
		want := spelled(r.Nanobot.Metadata)
		if want.IsNull() {
			want = value.OfMap(nil)
		}
		if got := spelled(value.OfMap(file.Meta)); !value.Equal(got, want) {
			t.Errorf("front matter %s, want %s", got, want)
		}
	}
}

// checkPrompt compares the catalog. The reference shows the name of the front matter; here the directory's name
// counts.
func checkPrompt(t *testing.T, r *row, file skill.File) {
	s, _ := skill.Interpret(r.Dir, "{{ROOT}}/"+r.Dir+"/"+r.File, file, emptyHost())
	if hidden, _ := file.Meta.Get("disable-model-invocation"); !hidden.IsNull() {
		if skill.AgentSkills().Lists(s) {
			t.Error("a skill that models must not invoke is listed")
		}
		return
	}
	name, _ := file.Meta.Get("name")
	text, _ := name.Str()
	want := strings.Replace(*r.Prompt, "<name>\n"+text+"\n", "<name>\n"+r.Dir+"\n", 1)
	c := skill.AgentSkills()
	if diff := cmp.Diff(want, c.Head+c.Entry(s)+c.Tail); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
}

// spelled makes text of the scalars that nanobot's YAML library typed, without
// the last newline of block text, which nanobot trims.
func spelled(v value.Value) value.Value {
	switch v.Kind() {
	case value.Bool, value.Int, value.Float:
		return value.OfString(v.JSON())
	case value.List:
		items := []value.Value{}
		for _, item := range v.List() {
			items = append(items, spelled(item))
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			m.Set(key, spelled(member))
		}
		return value.OfMap(m)
	case value.String:
		s, _ := v.Str()
		return value.OfString(strings.TrimSpace(s))
	case value.Null:
	}
	return v
}
