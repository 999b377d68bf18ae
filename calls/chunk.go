package calls

import (
	"iter"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
)

// Chunk is one piece of a call's output: text, or data. It is the CallOutputChunk of the
// documents; CallOutputType.DATA is a Chunk with Data. A call yields each once; the engine
// reads it before it asks for the next.
//
// The output of a step is its text chunks joined to {text: ...}, or its last
// data chunk. Data after text wins; text after data is an error of the call.
type Chunk struct {
	// Text is the next piece of text; used when Data is nil. An empty one means that a text is over, even if more
	// follows: nothing of its end is held back.
	Text string
	// Secret are the bytes of Text that came from secrets; nil if the call does not know of any.
	Secret []value.ByteRange
	// Spans are the origins of the bytes of Text, if the call has rendered it from a template: the bytes of the
	// template, and values that are named by their parameters, for example values with the pointer /city. nil: the
	// call does not report them.
	Spans []span.Span
	// Data is an object.
	Data *value.Value
}

// TextChunk returns a piece of text.
func TextChunk(text string) Chunk { return Chunk{Text: text} }

// DataChunk returns a piece of data made of a struct or a map.
func DataChunk(data any) (Chunk, error) {
	v, err := value.Of(data)
	if err != nil {
		return Chunk{}, Errorf(Internal, "encoding the output: %w", err)
	}
	return Chunk{Data: &v}, nil
}

// Data returns the stream of a call that outputs one piece of data.
func Data(data any) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) { yield(DataChunk(data)) }
}

// Fail returns the stream of a call that fails at once.
func Fail(err error) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) { yield(Chunk{}, err) }
}

// Do returns the stream of a call that works for a while, then outputs one piece of data or fails.
func Do(work func() (data any, err error)) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		data, err := work()
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		yield(DataChunk(data))
	}
}
