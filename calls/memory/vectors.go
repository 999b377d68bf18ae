package memory

import "strings"

// Model is a model whose vectors a store keeps.
type Model struct {
	Name       string
	Dimensions int
	// Unrelated and Related are the average cosines of a question with another text and
	// with its answer: the meaning of a cosine differs from model to model.
	Unrelated, Related float64
}

// Embedding is a memory and its vector.
type Embedding struct {
	// ID is the memory's id, Text the text that is embedded.
	ID, Text string
	// Attempts counts the failures so far.
	Attempts int
	// Vector has passed [vector.Check].
	Vector []float32
}

// QueryVector is the embedding of a query.
type QueryVector struct {
	Model  Model
	Values []float32
}

// maxEmbedded bounds the text that is embedded, in characters: models take no more.
const maxEmbedded = 6000

// EmbeddedText returns the text that is embedded: the speaker and the content.
func (m *BaseMemory) EmbeddedText() string {
	text := m.Content
	if speaker := m.Speaker(); speaker != "" && !strings.HasPrefix(text, speaker) {
		text = speaker + ": " + text
	}
	return truncateRunes(text, maxEmbedded)
}

// truncateRunes returns the first characters of a text.
func truncateRunes(text string, most int) string {
	n := 0
	for i := range text {
		n++
		if n > most {
			return text[:i]
		}
	}
	return text
}
