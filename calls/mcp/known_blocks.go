package mcp

import (
	"bytes"
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/llm/value"
)

// knownBlocks is a transport that tells of the blocks of an answer which the library does not know: it would refuse
// the whole answer for one of them.
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

// replaceUnknownBlocks returns a result with a text such as [chart] in the place of each block of a type that the
// library does not know.
func replaceUnknownBlocks(result []byte) []byte {
	if !bytes.Contains(result, []byte(`"content"`)) {
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
