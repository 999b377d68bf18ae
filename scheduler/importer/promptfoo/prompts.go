package promptfoo

import (
	"path"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// readPrompts reads the prompts: texts, files, chats, or maps of these with a label.
func (r *reader) readPrompts(n *yaml.Node) {
	at := yaml.Resolve(n)
	if at.Kind == yaml.Mapping { // file: label, the oldest form
		for i := 0; i+1 < len(at.Content); i += 2 {
			r.readPrompt(at.Content[i], at.Content[i+1].Value)
			r.main.Keep(at.Content[i+1])
		}
		return
	}
	for _, item := range itemsOf(n) {
		before := len(r.prompts)
		r.readPromptItem(item)
		keys := membersOf(item)
		var names []string
		for _, named := range []*yaml.Node{item, keys["label"], keys["id"], keys["raw"]} {
			if text, ok := textOf(named); ok {
				names = append(names, text, strings.TrimPrefix(text, "file://"))
			}
		}
		for _, p := range r.prompts[before:] {
			p.names = names
		}
	}
}

// readPromptItem reads an item of the list of prompts: a text, or a map with a label.
func (r *reader) readPromptItem(item *yaml.Node) {
	keys := membersOf(item)
	if len(keys) == 0 {
		r.readPrompt(item, "")
		return
	}
	label, _ := textOf(keys["label"])
	r.main.Keep(keys["label"])
	for _, key := range []string{"config", "function", "prefix", "suffix"} {
		r.main.Drop(keys[key], wording.Say("write it into the step %s of the flow", answerStep))
	}
	if keys["raw"] != nil {
		r.readPrompt(keys["raw"], label)
	} else if keys["id"] != nil {
		r.readPrompt(keys["id"], label)
	}
}

// readPrompt reads one prompt: its text, or the file that it names.
func (r *reader) readPrompt(n *yaml.Node, label string) {
	text, ok := textOf(n)
	if !ok {
		return
	}
	file, isFile := r.promptFile(text)
	if !isFile {
		if m := r.readMessages(n, text); m != nil {
			r.prompts = append(r.prompts, &promptText{label: label, messages: m})
		}
		return
	}
	if names := r.filesLike(file); len(names) > 0 && strings.ContainsAny(file, "*?[") {
		for _, name := range names {
			r.readPromptFile(n, label, name)
		}
		return
	}
	r.readPromptFile(n, label, file)
}

// isCode reports whether a file is a program that makes prompts.
func isCode(file string) bool {
	return slices.Contains([]string{".js", ".ts", ".mjs", ".cjs", ".py", ".rb", ".sh"}, path.Ext(file))
}

// readPromptFile reads the prompts of a file; for code, it may be FILE:FUNCTION.
func (r *reader) readPromptFile(n *yaml.Node, label, file string) {
	if before, _, ok := strings.Cut(file, ":"); ok && isCode(before) {
		file = before
	}
	data, at, err := r.readFile(file)
	if err != nil {
		r.missPrompt(n, label, wording.Say("%s was not read: %w", file, err))
		return
	}
	if isCode(at) || path.Ext(at) == ".csv" {
		r.keepFile(at, data)
		r.missPrompt(n, label, wording.Say("%s makes the prompt by code: write it as a template in the flow", file))
		return
	}
	all, err := value.DecodeText(data)
	if err != nil {
		r.missPrompt(n, label, wording.Say("%s was not read: %w", file, err))
		return
	}
	r.main.Keep(n)
	if isChatFile(at) { // --- is not a separator there
		if m := r.readMessages(n, all); m != nil {
			r.prompts = append(r.prompts, &promptText{label: label, messages: m})
		}
		return
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(all, "\r\n", "\n"), "\n---\n") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if m := r.readMessages(n, part); m != nil {
			r.prompts = append(r.prompts, &promptText{label: label, messages: m})
		}
	}
}

// isChatFile reports whether a file has one chat.
func isChatFile(file string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(file))
}

// promptFile returns the file that a prompt names, by file:// or by a path with an ending of prompts.
func (r *reader) promptFile(text string) (file string, ok bool) {
	if strings.HasPrefix(text, "file://") {
		return strings.TrimPrefix(text, "file://"), true
	}
	if strings.ContainsAny(text, "\n{") || len(text) > 200 {
		return "", false
	}
	switch path.Ext(text) {
	case ".txt", ".json", ".yaml", ".yml", ".js", ".py", ".md", ".j2", ".ts":
		return text, true
	}
	return "", false
}

// missPrompt adds a prompt that is not here.
func (r *reader) missPrompt(n *yaml.Node, label string, why wording.Text) {
	r.main.Drop(n, why)
	r.prompts = append(r.prompts, &promptText{label: label, missing: why.In(r.language)})
}

// readMessages reads the text of a prompt: a chat as JSON or YAML, else the user's words. It returns nil if a
// template has no equal here, and adds the prompt as one that is missing.
func (r *reader) readMessages(n *yaml.Node, text string) (all []message) {
	for _, raw := range chatOf(text) {
		translated, changes, err := translateTemplate(raw.text)
		if err != nil {
			r.missPrompt(n, "", wording.Say("the template has no equal here: %w", err))
			return nil
		}
		if looksLikeChat(raw.text) {
			changes = addText(changes, wording.Say("the messages of the chat are the text of one message here: write them under messages"))
		}
		r.markTemplate(n, changes)
		all = append(all, message{raw.role, translated})
	}
	return all
}

// markTemplate marks the node of a template that was translated.
func (r *reader) markTemplate(n *yaml.Node, changes []wording.Text) {
	if len(changes) == 0 {
		r.main.Keep(n)
		return
	}
	r.main.Change(n, wording.Join(changes, "; ", "；"))
}

// chatOf returns the messages of a text: a list of role and content, else one message of the user.
func chatOf(text string) []message {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "[") && !strings.HasPrefix(trimmed, "- role") {
		return []message{{"user", text}}
	}
	v, err := yaml.ParseValue([]byte(trimmed))
	if err != nil || len(v.List()) == 0 {
		return []message{{"user", text}}
	}
	var all []message
	for _, item := range v.List() {
		role, hasRole := stringMember(item, "role")
		content, hasContent := stringMember(item, "content")
		if !hasRole || !hasContent {
			return []message{{"user", text}}
		}
		all = append(all, message{role, content})
	}
	return all
}

// looksLikeChat reports whether the text of a message has the messages of a chat in it: their list is made by a template,
// or has parts that are not texts.
func looksLikeChat(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "- role") || strings.HasPrefix(text, "[") && strings.Contains(text, `"role"`)
}
