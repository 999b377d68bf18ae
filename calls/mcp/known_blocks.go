package mcp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/llm/value"
)

// knownBlocks is a transport that replaces blocks of types that the library does not know with a text: the
// library would refuse the whole answer for one of them. It is for commands; for servers with a URL the library
// wants its own transport, and [readKnownBlocks] changes their answers.
type knownBlocks struct{ sdk.Transport }

// Connect connects.
func (t knownBlocks) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return knownBlocksConnection{c}, nil
}

type knownBlocksConnection struct{ sdk.Connection }

// Read reads the next message.
func (c knownBlocksConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Response); ok && err == nil && r.Error == nil {
		r.Result = replaceUnknownBlocks(r.Result)
	}
	return m, err
}

// readKnownBlocks replaces the blocks that the library does not know in an HTTP answer: in its one message, or in
// each event of a stream.
func readKnownBlocks(answer *http.Response) {
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if media != "application/json" && media != "text/event-stream" {
		return
	}
	answer.Body = &knownBlocksBody{in: bufio.NewReader(answer.Body), closer: answer.Body, isStream: media == "text/event-stream"}
	answer.ContentLength = -1
	answer.Header.Del("Content-Length")
}

// knownBlocksBody is a body whose messages are changed. It belongs to its reader.
type knownBlocksBody struct {
	in       *bufio.Reader
	closer   io.Closer
	isStream bool
	out      bytes.Buffer
	err      error // returned once out is empty
}

// Read reads the changed messages.
func (b *knownBlocksBody) Read(p []byte) (int, error) {
	for b.out.Len() == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.isStream {
			b.readEvent()
			continue
		}
		var data []byte
		data, b.err = io.ReadAll(b.in)
		b.out.Write(replaceInMessage(data))
		if b.err == nil {
			b.err = io.EOF
		}
	}
	return b.out.Read(p)
}

// Close closes the body.
func (b *knownBlocksBody) Close() error { return b.closer.Close() }

// readEvent reads the lines of an event, up to the empty one after it. Lines without data do not change.
func (b *knownBlocksBody) readEvent() {
	var whole, others, data []byte
	for {
		line, err := b.in.ReadBytes('\n')
		b.err = err
		whole = append(whole, line...)
		text := bytes.TrimRight(line, "\r\n")
		if len(text) == 0 || err != nil {
			break
		}
		if given, isData := bytes.CutPrefix(text, []byte("data:")); isData {
			data = append(append(data, bytes.TrimPrefix(given, []byte(" "))...), '\n')
		} else {
			others = append(others, line...)
		}
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	changed := replaceInMessage(data)
	if b.err != nil || bytes.Equal(changed, data) {
		b.out.Write(whole)
		return
	}
	b.out.Write(others)
	b.out.WriteString("data: ")
	b.out.Write(changed)
	b.out.WriteString("\n\n")
}

// replaceInMessage is [replaceUnknownBlocks] for the result of a message.
func replaceInMessage(message []byte) []byte {
	if !hasContent(message) {
		return message
	}
	v, err := value.ParseJSON(message)
	result, ok := v.Get("result")
	if err != nil || !ok {
		return message
	}
	before := result.AppendJSON(nil)
	after := replaceUnknownBlocks(before)
	changed, err := value.ParseJSON(after)
	if err != nil || bytes.Equal(before, after) {
		return message
	}
	m := v.Map().Clone()
	m.Set("result", changed)
	return value.OfMap(m).AppendJSON(nil)
}

// hasContent reports whether a result may have blocks: it is worth reading.
func hasContent(result []byte) bool { return bytes.Contains(result, []byte(`"content"`)) }

// replaceUnknownBlocks returns a result with a text such as [chart] in the place of each block of a type that the
// library does not know.
func replaceUnknownBlocks(result []byte) []byte {
	if !hasContent(result) {
		return result
	}
	v, err := value.ParseJSON(result)
	content, ok := v.Get("content")
	if err != nil || !ok || content.Kind() != value.List {
		return result
	}
	blocks, isChanged := slices.Clone(content.List()), false
	for i, block := range blocks {
		kind, _ := block.Get("type")
		name, isText := kind.Str()
		if isText && !slices.Contains([]string{"text", "image", "audio", "resource", "resource_link", "tool_use", "tool_result"}, name) {
			blocks[i] = value.OfMap(value.Pairs("type", "text", "text", "["+value.Visible(value.Truncate(name, 80))+"]"))
			isChanged = true
		}
	}
	if !isChanged {
		return result
	}
	m := v.Map().Clone()
	m.Set("content", value.OfList(blocks...))
	return value.OfMap(m).AppendJSON(nil)
}
