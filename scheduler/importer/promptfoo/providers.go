package promptfoo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// vendor is a server that speaks the protocol of OpenAI, or of Anthropic.
type vendor struct{ kind, baseURL, keyEnv string }

// vendors are by the prefix of a provider's id.
var vendors = map[string]vendor{
	"openai":     {"openai", "https://api.openai.com/v1", "OPENAI_API_KEY"},
	"anthropic":  {"anthropic", "", "ANTHROPIC_API_KEY"},
	"openrouter": {"openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"},
	"groq":       {"openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY"},
	"deepseek":   {"openai", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"},
	"mistral":    {"openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"},
	"togetherai": {"openai", "https://api.together.xyz/v1", "TOGETHER_API_KEY"},
	"ollama":     {"openai", "http://localhost:11434/v1", ""},
	"localai":    {"openai", "http://localhost:8080/v1", ""},
	"google":     {"openai", "https://generativelanguage.googleapis.com/v1beta/openai", "GOOGLE_API_KEY"},
	"xai":        {"openai", "https://api.x.ai/v1", "XAI_API_KEY"},
	"cerebras":   {"openai", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"},
	"fireworks":  {"openai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"},
	"perplexity": {"openai", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"},
}

// notChat are kinds of models of a vendor that do not chat.
var notChat = []string{"embedding", "embeddings", "image", "moderation", "assistant", "realtime", "transcription", "video", "speech", "codex-sdk", "claude-agent-sdk"}

// chatKinds are the middle parts of an id that only say that the model chats.
var chatKinds = []string{"chat", "messages", "completion", "responses"}

// readProviders reads the providers: ids, maps with an id, or a map of an id and its config.
func (r *reader) readProviders(n *yaml.Node) {
	for _, item := range itemsOf(n) {
		keys := membersOf(item)
		switch {
		case len(keys) == 0:
			r.readProvider(item, nil)
		case keys["id"] != nil:
			r.readProvider(keys["id"], keys)
		case len(keys) == 1:
			at := yaml.Resolve(item)
			r.readProvider(at.Content[0], membersOf(at.Content[1]))
		}
	}
}

// echo is the provider that repeats the prompt, theirs and ours.
const echo = "echo"

// readEcho reads the provider that repeats the prompt.
func (r *reader) readEcho(id *yaml.Node, keys map[string]*yaml.Node) {
	if slices.ContainsFunc(r.providers, func(p *provider) bool { return p.name == echo }) {
		why := wording.Say("the provider echo is there already")
		r.main.Drop(id, why)
		for _, n := range keys {
			r.main.Drop(n, why)
		}
		return
	}
	p := &provider{name: echo}
	r.main.Change(id, wording.Say("echo repeats the last words of the user, not the whole chat"))
	r.main.Change(keys["label"], wording.Say("its name is %s", echo))
	r.readProviderPrompts(p, keys["prompts"])
	for _, key := range []string{"config", "transform", "delay", "env", "inputs"} {
		r.main.Drop(keys[key], wording.Say("nothing here takes it"))
	}
	r.providers = append(r.providers, p)
}

// readProvider reads a provider by its id; keys are the keys beside it.
func (r *reader) readProvider(id *yaml.Node, keys map[string]*yaml.Node) {
	text, _ := textOf(id)
	if text == echo {
		r.readEcho(id, keys)
		return
	}
	prefix, model, _ := strings.Cut(text, ":")
	v, known := vendors[prefix]
	if kind, rest, ok := strings.Cut(model, ":"); ok && slices.Contains(chatKinds, kind) {
		model = rest
	}
	kind, _, _ := strings.Cut(model, ":")
	if !known || model == "" || slices.Contains(notChat, kind) {
		why := wording.Say("no provider here is like this: add one of the settings llm.providers, or a step with the call http or one of a plugin")
		r.main.Drop(id, why)
		for _, n := range keys {
			r.main.Drop(n, why)
		}
		r.lostProvider = true
		return
	}
	p := &provider{settings: value.Pairs("name", "", "type", v.kind)}
	if v.baseURL != "" {
		p.settings.Set("base_url", value.OfString(v.baseURL))
	}
	if v.keyEnv != "" {
		p.settings.Set("api_key_env", value.OfString(v.keyEnv))
	}
	p.settings.Set("model", value.OfString(model))
	label, hasLabel := textOf(keys["label"])
	if !hasLabel {
		label = model
	}
	r.main.Change(id, wording.Say("it is a provider of the settings"))
	p.name = r.providerName(label)
	if p.name == label {
		r.main.Keep(keys["label"])
	} else {
		r.main.Change(keys["label"], wording.Say("its name is %s", p.name))
	}
	p.settings.Set("name", value.OfString(p.name))
	r.readProviderConfig(p, keys["config"])
	r.readProviderPrompts(p, keys["prompts"])
	for _, key := range []string{"transform", "delay", "env", "inputs"} {
		r.main.Drop(keys[key], wording.Say("nothing here takes it"))
	}
	r.providers = append(r.providers, p)
}

// readProviderPrompts reads which prompts a provider runs. Names that no prompt has are reported; if no name fits
// a prompt, it runs all.
func (r *reader) readProviderPrompts(p *provider, n *yaml.Node) {
	for _, item := range itemsOf(n) {
		name, _ := textOf(item)
		isKnown := slices.ContainsFunc(r.prompts, func(text *promptText) bool { return slices.Contains(text.names, name) })
		if !isKnown {
			r.main.Drop(item, wording.Say("no prompt is called so"))
			continue
		}
		p.only = append(p.only, name)
		r.main.Keep(item)
	}
}

// providerName returns a name that no other provider has.
func (r *reader) providerName(label string) string {
	base := cmp.Or(slug(label), "model")
	name := base
	isTaken := func(p *provider) bool { return p.name == name }
	for i := 2; name == echo || slices.ContainsFunc(r.providers, isTaken); i++ {
		name = base + "-" + value.OfInt(int64(i)).JSON()
	}
	return name
}

// readProviderConfig reads the config of a provider: the settings of every request, and the address of its server.
func (r *reader) readProviderConfig(p *provider, n *yaml.Node) {
	for key, member := range membersOf(n) {
		v := valueOf(member)
		switch key {
		case "apiBaseUrl", "baseURL", "baseUrl":
			if text, ok := v.Str(); ok {
				p.settings.Set("base_url", value.OfString(text))
				r.main.Keep(member)
			}
		case "apiKeyEnvar":
			if text, ok := v.Str(); ok {
				p.settings.Set("api_key_env", value.OfString(text))
				r.main.Keep(member)
			}
		case "apiKey":
			r.main.Drop(member, wording.Say("keys stay out of files: put it into the environment, under api_key_env"))
		case "temperature", "max_tokens", "top_p", "frequency_penalty", "presence_penalty", "seed", "stop", "reasoning_effort", "max_completion_tokens", "response_format":
			if kind, _ := p.settings.Get("type"); key == "max_tokens" && value.Equal(kind, value.OfString("anthropic")) {
				p.settings.Set(key, v)
				r.main.Keep(member)
				continue
			}
			extra, _ := p.settings.Get("extra")
			p.settings.Set("extra", value.OfList(append(slices.Clone(extra.List()), value.OfMap(value.Pairs("name", key, "value", v)))...))
			r.main.Change(member, wording.Say("it is in extra of the provider"))
		default:
			r.main.Drop(member, wording.Say("nothing here takes it"))
		}
	}
	if extra, ok := p.settings.Get("extra"); ok { // maps have no order
		list := slices.Clone(extra.List())
		slices.SortFunc(list, func(a, b value.Value) int { return strings.Compare(a.JSON(), b.JSON()) })
		p.settings.Set("extra", value.OfList(list...))
	}
}
