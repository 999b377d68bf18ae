package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// Uncategorized is the category of snapshots that no model has made.
const Uncategorized = "uncategorized"

// The limits of a snapshot made without a model.
const (
	extractedPoints     = 5
	extractedKeywords   = 8
	extractedImportance = 0.5
	maxPoint            = 300 // characters
)

// generatedByExtract marks a snapshot that was made without a model.
func generatedByExtract() *value.Map { return value.Pairs("generated_by", "extract") }

// Extracted reports whether the snapshot was made without a model.
func (s *MemorySnapshot) Extracted() bool { return isExtracted(s.Extra) }

// Extracted reports whether the meta snapshot was made without a model.
func (s *MetaSnapshot) Extracted() bool { return isExtracted(s.Extra) }

func isExtracted(extra *value.Map) bool {
	by, _ := extra.Get("generated_by")
	text, _ := by.Str()
	return text == "extract"
}

// ExtractSnapshot makes a snapshot without a model, from the sentences with the rarest
// words.
func ExtractSnapshot(id string, memories []BaseMemory, now time.Time) MemorySnapshot {
	s := MemorySnapshot{ID: id, Category: Uncategorized, Importance: extractedImportance, Timestamp: now, Extra: generatedByExtract()}
	df := map[string]int{}
	for i := range memories {
		s.MemoryRefs = append(s.MemoryRefs, memories[i].ID)
		for _, f := range rank.Analyze(memories[i].Content, "").Terms {
			df[f.Term]++
		}
	}
	type sentence struct {
		text  string
		score float64
		at    int
	}
	var all []sentence
	for i := range memories {
		speaker := memories[i].Speaker()
		for _, text := range splitSentences(memories[i].Content) {
			doc := rank.Analyze(text, "")
			score := 0.0
			for _, f := range doc.Terms {
				score += math.Log(1 + float64(len(memories))/float64(max(df[f.Term], 1)))
			}
			if speaker != "" && !strings.HasPrefix(text, speaker) {
				text = speaker + ": " + text
			}
			all = append(all, sentence{text, score / math.Sqrt(float64(doc.Len+4)), len(all)})
		}
	}
	slices.SortStableFunc(all, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
	all = all[:min(len(all), extractedPoints)]
	slices.SortFunc(all, func(a, b sentence) int { return cmp.Compare(a.at, b.at) })
	for _, x := range all {
		s.KeyPoints = append(s.KeyPoints, x.text)
	}
	return s
}

// ExtractMeta makes a meta snapshot without a model, from the most frequent words of
// the snapshots.
func ExtractMeta(id, category string, snapshots []MemorySnapshot, now time.Time) MetaSnapshot {
	m := MetaSnapshot{ID: id, Category: category, Timestamp: now, Extra: generatedByExtract()}
	counts, written := map[string]int{}, map[string]string{}
	var firsts []string
	for _, s := range snapshots {
		m.SnapshotRefs = append(m.SnapshotRefs, s.ID)
		for i, point := range s.KeyPoints {
			if i == 0 {
				firsts = append(firsts, point)
			}
			for _, f := range rank.Analyze(point, "").Terms {
				if utf8.RuneCountInString(f.Term) > 1 {
					counts[f.Term]++
				}
			}
			collectSpellings(point, written)
		}
	}
	for term := range counts {
		m.Keywords = append(m.Keywords, term)
	}
	slices.SortFunc(m.Keywords, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	m.Keywords = m.Keywords[:min(len(m.Keywords), extractedKeywords)]
	for i, term := range m.Keywords {
		m.Keywords[i] = cmp.Or(written[term], term)
	}
	m.Description = strings.Join(firsts[:min(len(firsts), extractedPoints)], " ")
	return m
}

// collectSpellings notes for stems how their words are written in a text.
func collectSpellings(text string, written map[string]string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		terms := rank.Analyze(word, "").Terms
		if len(terms) == 1 && written[terms[0].Term] == "" {
			written[terms[0].Term] = word
		}
	}
}

// splitSentences splits a text after the marks that end sentences.
func splitSentences(text string) (list []string) {
	start := 0
	for i, r := range text {
		if !strings.ContainsRune(".!?。！？\n", r) {
			continue
		}
		end := i + utf8.RuneLen(r)
		if r == '.' && end < len(text) && strings.IndexByte(" \n", text[end]) < 0 {
			continue
		}
		list = appendSentence(list, text[start:end])
		start = end
	}
	return appendSentence(list, text[start:])
}

func appendSentence(list []string, s string) []string {
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) < 2 {
		return list
	}
	return append(list, value.Truncate(s, maxPoint))
}

// Text returns the text that a snapshot is found by.
func (s *MemorySnapshot) Text() string {
	if s.Extracted() { // the memories have these words themselves
		return ""
	}
	text := strings.Join(s.KeyPoints, "\n")
	if s.Category != Uncategorized {
		text += "\n" + s.Category
	}
	return text
}

// Text returns the text that a meta snapshot is found by.
func (s *MetaSnapshot) Text() string {
	if s.Extracted() {
		return ""
	}
	return strings.Join(s.Keywords, "\n") + "\n" + s.Category + "\n" + s.Description
}

// The weights of words of snapshots, beside 1 for words of memories.
const (
	SnapshotWeight = 1.0
	MetaWeight     = 0.3
)
