package flow

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Every key has a doc and an example that loads.
func TestKeyExamples(t *testing.T) {
	for _, k := range Keys() {
		if k.Doc.En == "" || strings.HasSuffix(k.Example, ": ") {
			t.Errorf("%s has no doc or no example", k.Path)
			continue
		}
		loader := fakeLoader(t)
		loader.Secrets = append(loader.Secrets, "HOOK_KEY")
		_, problems := loader.Parse("f.yaml", []byte(exampleFlow(k)))
		if err := problems.Err(); err != nil {
			t.Errorf("%s: %v\n%s", k.Path, err, exampleFlow(k))
		}
	}
}

// exampleFlow puts the example of a key into a flow that lacks nothing else.
func exampleFlow(k KeyDoc) string {
	path := strings.Split(k.Path, ".")
	key := path[len(path)-1]
	if path[0] == "triggers" && len(path) == 3 {
		return exampleTrigger(path[1], key, k.Example)
	}
	if path[0] != "steps" || len(path) == 1 {
		text := k.Example
		if len(path) == 3 {
			text = path[1] + ": {" + text + "}"
		}
		if path[0] == "memory" && len(path) > 1 && key != "user" {
			text = "user: ann, " + text
		}
		if len(path) > 1 {
			text = path[0] + ": {" + text + "}"
		}
		flow := "inputs: {type: object, properties: {question: {type: string}}}\nsteps: [{id: a, call: template, with: {template: x}}]\n"
		if key == "inputs" && len(path) == 1 {
			flow = flow[strings.Index(flow, "steps"):]
		}
		if key == "steps" {
			flow = flow[:strings.Index(flow, "steps")]
		}
		return flow + text + "\n"
	}
	text := k.Example
	if len(path) == 3 {
		text = path[1] + ": {" + text + "}"
	}
	step := map[string]string{"id": "id: b\n", "call": "call: template\n", "with": "with: {template: x}\n"}
	if path[1] == "queue" {
		step["call"], step["with"] = "call: flow\n", "with: {path: '{{ first.text }}'}\n"
	}
	delete(step, path[1])
	needs := map[string]string{"max_parallel": "for_each: [1]\n", "override_input": "enable_filling: true\n", "on_missing": "enable_filling: true\n"}
	body := step["id"] + step["call"] + step["with"] + needs[path[1]] + text
	return "inputs: {type: object}\nsteps:\n  - {id: first, call: template, with: {template: x}}\n  - " + strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ") + "\n"
}

// exampleTrigger puts the example of a key into a schedule or a webhook.
func exampleTrigger(list, key, text string) string {
	members := map[string]map[string]string{
		"schedules": {"id": "id: b", "cron": "cron: '@daily'"},
		"webhooks":  {"id": "id: b", "verify": "verify: header", "secret": "secret: HOOK_KEY"},
	}[list]
	members[key] = text
	return "inputs: {type: object, properties: {question: {type: string}}}\nsteps: [{id: a, call: template, with: {template: x}}]\n" +
		"triggers: {" + list + ": [{" + strings.Join(slices.Collect(maps.Values(members)), ", ") + "}]}\n"
}

func TestFindKeys(t *testing.T) {
	for path, want := range map[string]string{"retry": "steps.retry", "steps.retry.multiplier": "steps.retry.multiplier", "memory": "memory"} {
		if got, err := FindKeys(path); err != nil || got[0].Path != want {
			t.Errorf("%s: got %v, %v", path, got, err)
		}
	}
	if _, err := FindKeys("steps.rety"); err == nil || !strings.Contains(err.Error(), `did you mean "steps.retry"?`) {
		t.Errorf("got %v", err)
	}
}
