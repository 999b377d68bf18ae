package context_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	callcontext "github.com/callnode/scheduler/calls/context"
	"github.com/callnode/scheduler/llm/value"
)

// conversation draws a history in any order that real agents leave behind:
// several calls at once, results late or missing, ids used again.
func conversation(rt *rapid.T) []*value.Map {
	var messages []*value.Map
	var open []string
	for i := range rapid.IntRange(0, 30).Draw(rt, "messages") {
		text := strings.Repeat("word ", rapid.IntRange(0, 20).Draw(rt, "words"))
		switch rapid.SampledFrom([]string{"user", "assistant", "call", "tool", "tool", "system"}).Draw(rt, "role") {
		case "user":
			messages = append(messages, value.Pairs("role", "user", "content", text, "n", i))
		case "assistant":
			messages = append(messages, value.Pairs("role", "assistant", "content", text, "n", i))
		case "system":
			messages = append(messages, value.Pairs("role", "system", "content", text, "n", i))
		case "call":
			list := []any{}
			for range rapid.IntRange(1, 3).Draw(rt, "calls") {
				id := fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "id"))
				open = append(open, id)
				list = append(list, value.Pairs("id", id, "type", "function"))
			}
			messages = append(messages, value.Pairs("role", "assistant", "content", nil, "tool_calls", list, "n", i))
		case "tool":
			if len(open) == 0 {
				continue
			}
			messages = append(messages, value.Pairs("role", "tool", "tool_call_id", rapid.SampledFrom(open).Draw(rt, "answers"), "content", text, "n", i))
		}
	}
	return messages
}

// callOf is the index of the message whose call the message at i answers, or -1.
func callOf(messages []*value.Map, i int) int {
	id, ok := messages[i].Get("tool_call_id")
	if !ok {
		return -1
	}
	for j := i - 1; j >= 0; j-- {
		list, _ := messages[j].Get("tool_calls")
		for _, call := range list.List() {
			if of, _ := call.Get("id"); value.Equal(of, id) {
				return j
			}
		}
	}
	return -1
}

func TestCutsKeepCallsAndResultsTogether(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		history := conversation(rt)
		tail := []any{}
		if rapid.Bool().Draw(rt, "tail") {
			tail = append(tail, value.Pairs("role", "tool", "tool_call_id", fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "tail id")), "content", "x"))
		}
		limit := rapid.IntRange(1, 600).Draw(rt, "max_tokens")
		out, err := try(t, dir, callstest.Now, value.Pairs("identity", "I", "current_message", "go", "history", history, "append", tail, "max_tokens", limit))
		if err != nil {
			if calls.KindOf(err) != calls.Budget {
				rt.Fatal(err)
			}
			return
		}
		if out.Tokens > limit {
			rt.Fatalf("%d tokens, more than %d", out.Tokens, limit)
		}
		var later []*value.Map
		for _, m := range tail {
			later = append(later, m.(*value.Map))
		}
		repaired, _ := calls.RepairMessages(history, later)
		history = calls.MapsOf(repaired)
		kept := len(out.Messages) - 2 - len(tail)
		from := len(history) - kept
		for i, m := range out.Messages[1 : 1+kept] {
			if !value.Equal(value.OfMap(m), value.OfMap(history[from+i])) {
				rt.Fatalf("what is kept is not the newest of the history")
			}
		}
		all := append(append([]*value.Map{}, history...), value.NewMap(0))
		all = append(all, later...)
		for i := range all {
			if at := callOf(all, i); at >= 0 && (at < from) != (i < from) {
				rt.Fatalf("the cut before %d parts the call in %d from its result in %d", from, at, i)
			}
		}
		checkParts(t, out)
	})
}

func TestAnyWorkspaceAddsUp(t *testing.T) {
	dir := t.TempDir()
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab 天\n-#:<&'\r")), 0, 300, -1)
	rapid.Check(t, func(rt *rapid.T) {
		for _, name := range []string{"AGENTS.md", "SOUL.md", "memory/MEMORY.md", "memory/2026-03-05.md", "skills/a/SKILL.md", "skills/b/SKILL.md"} {
			content := text.Draw(rt, name)
			if strings.HasPrefix(name, "skills") {
				content = "---\ndescription: d\nalways: " + rapid.SampledFrom([]string{"true", "false"}).Draw(rt, "always") + "\n---\n" + content
			}
			write(t, dir+"/ws/"+name, []byte(content), 0o644)
		}
		with := value.Pairs("workspace", "ws", "identity", "I", "current_message", text.Draw(rt, "message"), "memories", []string{text.Draw(rt, "memory")},
			"channel", rapid.SampledFrom([]string{"", "c"}).Draw(rt, "channel"), "chat_id", "1", "max_tokens", rapid.IntRange(0, 600).Draw(rt, "max_tokens"))
		out, err := try(t, dir, callstest.Now, with)
		if err != nil {
			if calls.KindOf(err) != calls.Budget {
				rt.Fatal(err)
			}
			return
		}
		checkParts(t, out)
		checkWhole(rt, out, with)
	})
}

// checkWhole checks that the prompt keeps the parts that must not be cut, and its limit.
func checkWhole(rt *rapid.T, out *callcontext.Output, with *value.Map) {
	limit, _ := with.Get("max_tokens")
	if n, _ := limit.Int(); n > 0 && out.Tokens > int(n) {
		rt.Fatalf("%d tokens, more than %d", out.Tokens, n)
	}
	message, _ := with.Get("current_message")
	if words, _ := message.Str(); textOf(out.Messages[1]) != words || !strings.HasPrefix(out.System, "I") {
		rt.Fatal("the identity or the current message was changed")
	}
}
