package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// defaultProviderType is the type of providers that name none.
const defaultProviderType = "openai"

// EchoProvider is the name of the provider that repeats the words of the user.
const EchoProvider = "echo"

// ProviderType is a kind of model server that llm.providers can name as type, with the
// schema of its settings. [NewProviderType] makes one; it does not change.
type ProviderType struct {
	Name string
	// Embeds reports whether its servers may have models for embeddings.
	Embeds bool
	schema *schema.Schema
	decode func(settings value.Value) (made decodedProvider, wrong settingErrors)
}

// decodedProvider is the settings of a provider, decoded for its type.
type decodedProvider struct {
	open func() (llm.Provider, error)
	// takesImages: all models of the server see images.
	takesImages bool
}

// NewProviderType describes a type of provider: S is its settings struct, which embeds
// [llm.Settings], and open makes a provider from them. open sends nothing.
func NewProviderType[S any, P llm.Provider](name string, open func(S) (P, error)) ProviderType {
	var p P
	_, embeds := any(p).(llm.EmbeddingProvider)
	return ProviderType{
		Name: name, Embeds: embeds, schema: schema.MustFor[S](),
		decode: func(settings value.Value) (decodedProvider, settingErrors) {
			var s S
			wrong := decodeSettings(settings, &s)
			server, ok := any(s).(interface{ TakesImages() bool })
			return decodedProvider{func() (llm.Provider, error) { return open(s) }, ok && server.TakesImages()}, wrong
		},
	}
}

// Provider is one entry of llm.providers, checked by the schema of its type. [Load] makes it;
// it does not change then.
type Provider struct {
	llm.Settings
	Type ProviderType
	// Open makes the provider. The error names the missing part, for example the key.
	Open        func() (llm.Provider, error)
	takesImages bool        // its server is known for it
	settings    value.Value // as the file has them
}

// DecodeValue keeps the settings until the types are known.
func (p *Provider) DecodeValue(v value.Value) error {
	p.settings = v
	return nil
}

// JSONSchema describes any object: its type knows the rest.
func (Provider) JSONSchema() value.Value { return value.OfMap(value.Pairs("type", "object")) }

// check checks the settings of the providers by their types, and that their names differ.
func (c *LLM) check(types []ProviderType) error {
	seen := []string{EchoProvider}
	var all settingErrors
	for i := range c.Providers {
		p := &c.Providers[i]
		wrong := p.resolveType(types)
		wrong = append(wrong, p.checkAbilities()...)
		if strings.Contains(p.Name, llm.NameSeparator) {
			wrong = append(wrong, settingError{pointer: "/name", message: wording.Say("the name %q has a comma, which separates names", p.Name)})
		}
		if len(wrong) == 0 && slices.Contains(seen, p.Name) {
			wrong = settingErrors{{pointer: "/name", message: wording.Say("the name %q is taken by another provider", p.Name)}}
		}
		seen = append(seen, p.Name)
		all = append(all, wrong.prefixPointers(fmt.Sprintf("/llm/providers/%d", i))...)
	}
	if len(all) > 0 {
		return all
	}
	return nil
}

// checkAbilities checks the words of lacks and has.
func (p *Provider) checkAbilities() (wrong settingErrors) {
	for name, words := range map[string][]string{"lacks": p.Lacks, "has": p.Has} {
		for i, ability := range words {
			if !slices.Contains(llm.Abilities(), ability) {
				wrong = append(wrong, settingError{pointer: fmt.Sprintf("/%s/%d", name, i), message: wording.Say("unknown ability %q%s", ability, value.DidYouMeanOrListSuffix(ability, llm.Abilities()))})
			}
		}
	}
	for i, ability := range p.Has {
		if slices.Contains(p.Lacks, ability) {
			wrong = append(wrong, settingError{pointer: fmt.Sprintf("/has/%d", i), message: wording.Say("%q stands under lacks too (take one of them out)", ability)})
		}
	}
	return wrong
}

// TakesImages reports whether the model of a provider is known to see images: its server is, or has says so, and lacks does not.
func (c *LLM) TakesImages(name string) bool {
	p := c.Find(name)
	if p == nil || slices.Contains(p.Lacks, llm.Images) {
		return false
	}
	return p.takesImages || slices.Contains(p.Has, llm.Images)
}

// Lacks returns the capabilities that the providers' models lack, by name of provider.
func (c *LLM) Lacks() map[string][]string {
	all := map[string][]string{}
	for i := range c.Providers {
		all[c.Providers[i].Name] = c.Providers[i].Lacks
	}
	return all
}

// checkList checks a setting that lists providers: known ones, each once.
func (c *LLM) checkList(setting string, names []string) error {
	for i, name := range names {
		if known := c.Names(); !slices.Contains(known, name) {
			return wrongSetting(setting, "unknown provider %q%s", name, value.DidYouMeanOrListSuffix(name, known))
		}
		if slices.Contains(names[:i], name) {
			return wrongSetting(setting, "the provider %q is listed twice", name)
		}
	}
	return nil
}

// Names returns the names that a flow may write under llm.
func (c *LLM) Names() []string {
	names := []string{EchoProvider}
	for i := range c.Providers {
		names = append(names, c.Providers[i].Name)
	}
	return names
}

// embedderNames returns the names of the providers that may have models for embeddings.
func (c *LLM) embedderNames() (names []string) {
	for i := range c.Providers {
		if c.Providers[i].Type.Embeds {
			names = append(names, c.Providers[i].Name)
		}
	}
	return names
}

// Find returns the provider of that name; nil if there is none.
func (c *LLM) Find(name string) *Provider {
	i := slices.IndexFunc(c.Providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Providers[i]
}

// ModelOf returns the model that the provider of that name asks; "" if it has none of its own.
func (c *LLM) ModelOf(name string) string {
	if p := c.Find(name); p != nil {
		return p.Model
	}
	return ""
}

// Priced reports whether the settings have a price for the model of the provider of that name.
func (c *LLM) Priced(name string) bool {
	_, ok := c.Cost(name, "", llm.Usage{})
	return ok
}

// Cost returns the cost of a model of the provider of that name; "" is the provider's own model. ok is false if
// the settings have no price for it.
func (c *LLM) Cost(name, model string, u llm.Usage) (cost float64, ok bool) {
	if name == EchoProvider {
		return 0, true // it asks no model
	}
	p := c.Find(name)
	if p == nil {
		return 0, false
	}
	return p.Prices.Cost(cmp.Or(model, p.Model), u)
}

// resolveType finds the type of the provider and reads the settings as that wants them.
func (p *Provider) resolveType(types []ProviderType) settingErrors {
	name := defaultProviderType
	if given, ok := p.settings.Get("type"); ok {
		name, _ = given.Str()
	}
	var known []string
	for _, t := range types {
		known = append(known, t.Name)
	}
	i := slices.Index(known, name)
	if i < 0 {
		hint := wording.Say("use one of %s", strings.Join(known, ", "))
		if near := value.Nearest(name, known); near != "" {
			hint = wording.Say("did you mean %q?", near)
		}
		return settingErrors{{pointer: "/type", message: wording.Say("unknown type of provider %q", name), hint: hint}}
	}
	p.Type = types[i]
	settings := asSettings(p.settings, p.Type.schema.Doc())
	wrong := checkSettings(settings, p.Type.schema, &p.Settings)
	if len(wrong) > 0 {
		return wrong
	}
	made, wrong := p.Type.decode(settings)
	p.Open, p.takesImages = made.open, made.takesImages
	return wrong
}

// LLM is the settings of model providers.
type LLM struct {
	Default []string `json:"default,omitempty"`
	Mode    string   `json:"mode,omitempty" enum:"auto|live|record|replay"`
	// Currency is the unit of all prices.
	Currency  llm.Currency `json:"currency,omitempty" pattern:"^[A-Z]{3}$"`
	Providers []Provider   `json:"providers,omitempty"`
}
