package context_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm/value"
)

// checkOrigins compares the bytes of every part with the bytes of its stated origin, and returns how many bytes
// were compared for each place.
func checkOrigins(t *testing.T, dir string, with value.Value, parts []calls.Part) map[string]int {
	t.Helper()
	covered := map[string]int{}
	for _, p := range parts {
		end := 0
		for _, o := range p.Origins {
			if o.Start < end || o.End > len(p.Text) || o.Start > o.End {
				t.Errorf("%s %s: the origin %+v is out of order", p.Kind, p.Name, o)
				continue
			}
			end = o.End
			source := ""
			switch {
			case o.Computed || p.Text == "":
				continue
			case o.Pointer != "":
				v, ok := with.At(o.Pointer)
				source, _ = v.Str()
				if !ok {
					t.Errorf("%s %s: there is no %s", p.Kind, p.Name, o.Pointer)
				}
			case o.File != "" && o.Line == 1:
				data, err := os.ReadFile(filepath.Join(dir, o.File))
				if err != nil {
					t.Error(err)
				}
				source = string(data)
			default:
				continue
			}
			if got := p.Text[o.Start:o.End]; !strings.HasPrefix(source[min(o.From, len(source)):], got) {
				t.Errorf("%s %s: %q is not at byte %d of %s%s", p.Kind, p.Name, got, o.From, o.Pointer, o.File)
			}
			covered[o.Pointer+o.File] += o.End - o.Start
		}
	}
	return covered
}

// Every copied byte knows its place, even if all texts are equal.
func TestOrigins(t *testing.T) {
	for _, same := range []bool{false, true} {
		text := func(name string) string {
			if same {
				return "yes\nyes"
			}
			return "text of " + name + "\nsecond line of " + name
		}
		dir := tree(t, map[string]string{
			"ws/AGENTS.md": text("agents"), "ws/memory/MEMORY.md": text("memory"),
			"ws/skills/s/SKILL.md": "---\ndescription: d\n---\n" + text("skill"),
		})
		with := value.Pairs("workspace", "ws", "identity", text("identity"), "skills_intro", text("intro"), "skill_names", []string{"s"},
			"slots", value.Pairs("before_char", text("before"), "after_char", text("after")),
			"memories", []any{text("memory 0"), value.Pairs("content", " "+text("memory 1")+"\n")}, "channel", "yes", "chat_id", "yes",
			"history", []any{value.Pairs("role", "user", "content", text("history")),
				value.Pairs("role", "assistant", "content", []any{value.Pairs("type", "text", "text", text("part 0")), value.Pairs("type", "text", "text", text("part 1"))})},
			"current_message", text("message"),
			"append", []any{value.Pairs("role", "assistant", "content", text("append"), "tool_calls", []any{value.Pairs("id", "1", "name", "x", "arguments", "{}")}), value.Pairs("tool_call_id", "1", "result", text("result"))})
		out := run(t, dir, callstest.Now, with)
		covered := checkOrigins(t, dir, value.OfMap(with), out.Parts)
		for _, place := range []string{"/identity", "/skills_intro", "/slots/before_char", "/slots/after_char", "/memories/0", "/memories/1/content",
			"/channel", "/chat_id", "/history/0/content", "/history/1/content/0/text", "/history/1/content/1/text", "/current_message",
			"/append/0/content", "/append/1/result", "ws/AGENTS.md", "ws/memory/MEMORY.md"} {
			if covered[place] == 0 {
				t.Errorf("nothing is said to come from %s", place)
			}
		}
		for _, p := range out.Parts {
			if p.Kind == "skill" && (len(p.Origins) != 1 || p.Origins[0].File != "ws/skills/s/SKILL.md" || p.Text[p.Origins[0].Start:] != text("skill")) {
				t.Errorf("the skill is from %+v", p.Origins)
			}
		}
	}
}
