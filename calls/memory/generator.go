package memory

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

//go:embed lang/en lang/zh
var prompts embed.FS

// SnapshotGenerator lets a model write snapshots. Its LLM is the LLMService of the documents: [llm.Provider]
// chats, [ask.JSON] is generate_json. Without a model, or if its answers are unusable, it extracts sentences of
// the memories. The caller sets its fields; it is safe for concurrent use.
type SnapshotGenerator struct {
	// LLM is the model; nil works without one.
	LLM llm.Provider
	// Model is the vendor's name of the model to ask; "" is the provider's setting.
	Model string
	// Language is the language of the prompts, Languages adds further ones.
	Language  string
	Languages fs.FS
	// Clock dates snapshots; nil is the machine's.
	Clock func() time.Time
	// Warn gets a sentence when an answer of the model was mended or could not be used; nil
	// discards it.
	Warn func(warning string)
}

// detailAnswer and metaAnswer are answers of a model.
type detailAnswer struct {
	KeyPoints  []string `json:"key_points" min:"1"`
	Category   string   `json:"category" min:"1"`
	Importance float64  `json:"importance"`
}

type metaAnswer struct {
	Category    string   `json:"category,omitempty"`
	Keywords    []string `json:"keywords" min:"1"`
	Description string   `json:"description" min:"1"`
}

// maxTrials is the number of times a model is asked; the second time the prompt names the mistakes of the first
// answer.
const maxTrials = 2

// maxList and maxLength bound a model's lists, in items, and texts, in characters.
const (
	maxList   = 20
	maxLength = 1000
)

// GenerateDetailSnapshot (generate_detail_snapshot in the documents) sums memories up; categories are the existing
// ones. The error is the provider's.
func (g *SnapshotGenerator) GenerateDetailSnapshot(ctx context.Context, memories []BaseMemory, snapshotID string, categories ...string) (MemorySnapshot, error) {
	fallback := ExtractSnapshot(snapshotID, memories, g.now())
	var lines []ask.TracedLine
	for i := range memories {
		m := &memories[i]
		who := m.Timestamp.Format("2006-01-02 15:04")
		if name := m.Speaker(); name != "" {
			who += " " + name
		} else if role := m.Role(); role != "" {
			who += " " + role
		}
		from := calls.Origin{Kind: calls.OriginMemory, Name: m.ID, End: len(m.Content)}
		content := calls.Traced{Text: m.Content, Origins: []calls.Origin{from}}
		lines = append(lines, ask.TracedLine{Text: calls.ComputedFrom(from, who+": ").Append(content)})
	}
	values := ask.NewValues("categories", categories)
	values.Put("memories", ask.FormatLines(lines, "memories"))
	var answer detailAnswer
	usable, err := g.askModel(ctx, "detail", values, schema.MustFor[detailAnswer](), &answer)
	if !usable {
		return fallback, err
	}
	s := fallback
	s.Extra = nil
	s.KeyPoints, s.Category, s.Importance = cleanTexts(answer.KeyPoints), cleanText(answer.Category), min(1, max(0, answer.Importance))
	if len(s.KeyPoints) == 0 || s.Category == "" {
		g.warnUnusable(wording.Say("it has no words"))
		return fallback, nil
	}
	return s, nil
}

// GenerateMetaSnapshot (generate_meta_snapshot in the documents) describes the snapshots of a
// category. The error is the provider's.
func (g *SnapshotGenerator) GenerateMetaSnapshot(ctx context.Context, snapshots []MemorySnapshot, metaID string) (MetaSnapshot, error) {
	category := Uncategorized
	var lines []ask.TracedLine
	for i, s := range snapshots {
		if i == 0 {
			category = s.Category
		}
		text := s.Timestamp.Format("2006-01-02") + ": " + strings.Join(s.KeyPoints, " ")
		lines = append(lines, ask.TracedLine{Text: calls.ComputedFrom(calls.Origin{Kind: calls.OriginMemory, Name: s.ID}, text)})
	}
	values := ask.NewValues("category", category)
	values.Put("snapshots", ask.FormatLines(lines, "summaries"))
	fallback := ExtractMeta(metaID, category, snapshots, g.now())
	var answer metaAnswer
	usable, err := g.askModel(ctx, "meta", values, schema.MustFor[metaAnswer](), &answer)
	if !usable {
		return fallback, err
	}
	m := fallback
	m.Extra = nil
	m.Keywords, m.Description = cleanTexts(answer.Keywords), cleanText(answer.Description)
	if len(m.Keywords) == 0 || m.Description == "" {
		g.warnUnusable(wording.Say("it has no words"))
		return fallback, nil
	}
	return m, nil
}

// askModel asks the model and decodes its answer; usable is false without a model and
// after unusable answers.
func (g *SnapshotGenerator) askModel(ctx context.Context, prompt string, values ask.Values, form *schema.Schema, answer any) (usable bool, err error) {
	if g.LLM == nil {
		return false, nil
	}
	env := calls.NewEnv()
	env.Languages, env.Vars = g.Languages, &calls.Vars{Language: g.Language}
	text, parts, err := ask.TracedPrompt(ctx, env, "memory", prompts, prompt, values)
	if err != nil {
		return false, err
	}
	req := &llm.Request{Model: g.Model, Messages: []llm.Message{llm.TextMessage("user", text)}}
	var problem error
	for range maxTrials {
		said, err := llm.Collect(g.LLM.Chat(calls.WithParts(ctx, parts), req))
		if errors.Is(err, calls.ErrNoProvider) {
			return false, nil
		}
		if err != nil {
			return false, wording.Errorf("asking the model for a snapshot: %w", err)
		}
		var unknown []string
		document, err := ask.FitMended(said.Text, form, func(v value.Value) value.Value {
			v, unknown = dropUnknown(v)
			return v
		})
		if err == nil {
			if len(unknown) > 0 {
				g.warn("the model's answer for a snapshot has unknown members, which are ignored: %s", strings.Join(unknown, ", "))
			}
			return true, value.Decode(document, answer)
		}
		problem = err
		again, more, err := ask.TracedPrompt(ctx, env, "memory", prompts, "again", ask.NewValues("problem", env.MessageOf(err)))
		if err != nil {
			return false, err
		}
		parts = append(slices.Clip(parts), calls.AnswerPart(len(req.Messages), said.Text))
		parts = append(parts, ask.MoveParts(more, len(req.Messages)+1)...)
		req.Messages = append(req.Messages, llm.TextMessage("assistant", said.Text), llm.TextMessage("user", again))
	}
	g.warnUnusable(problem)
	return false, nil
}

// warnUnusable warns that a snapshot is not the model's, and why.
func (g *SnapshotGenerator) warnUnusable(why any) {
	g.warn("the model's answers for a snapshot cannot be used, so it has sentences of the memories: %v", why)
}

func (g *SnapshotGenerator) warn(format string, args ...any) {
	if g.Warn != nil {
		g.Warn(wording.Say(format, args...).In(g.Language))
	}
}

// answerMembers are the members of the answers of both kinds.
var answerMembers = []string{"key_points", "category", "importance", "keywords", "description"}

// dropUnknown removes the members of an object that no answer has, and returns their
// names.
func dropUnknown(v value.Value) (_ value.Value, unknown []string) {
	if v.Kind() != value.Object {
		return v, nil
	}
	kept := v.Map().Clone()
	for name := range v.Map().All() {
		if !slices.Contains(answerMembers, name) {
			unknown = append(unknown, name)
			kept.Delete(name)
		}
	}
	return value.OfMap(kept), unknown
}

func (g *SnapshotGenerator) now() time.Time {
	if g.Clock == nil {
		return time.Now()
	}
	return g.Clock()
}

// cleanTexts cleans a list and drops empty texts and surplus ones.
func cleanTexts(list []string) (out []string) {
	for _, s := range list {
		s = cleanText(s)
		if s != "" && len(out) < maxList {
			out = append(out, s)
		}
	}
	return out
}

// cleanText bounds a text. It returns "" for one without letters and digits, such as
// the dots of the template.
func cleanText(s string) string {
	s = strings.TrimSpace(s)
	if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	return value.Truncate(s, maxLength)
}
