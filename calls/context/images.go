package context

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/context/media"
	"github.com/callnode/scheduler/calls/internal/userpath"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Bounds of the images of one message, as vendors have them: their number, and
// the bytes of their data URLs together.
const (
	maxImages     = 100
	maxImageBytes = 30_000_000
)

// picture is an image of the current message.
type picture struct {
	name, url, note string
	tokens          int
}

func (p *picture) reason(env *calls.Env) string {
	if p.note == "" {
		return env.Say("sent as it is")
	}
	return p.note
}

// prepareImages prepares the files of the parameter media. A file that cannot be used is a warning; the error is
// the error of ctx.
func (b *builder) prepareImages(ctx context.Context) ([]*picture, error) {
	if len(b.params.Media) == 0 {
		return nil, nil
	}
	roots := b.mediaRoots()
	defer func() {
		for _, root := range roots {
			if root != b.workspace {
				root.close()
			}
		}
	}()
	var pictures []*picture
	done := map[string]*picture{}
	sent := 0
	for _, name := range b.params.Media {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(pictures) == maxImages {
			b.reportUnsent(name, wording.Errorf("a message may have at most %d images", maxImages))
			continue
		}
		p, seen := done[name]
		if !seen {
			var err error
			p, err = b.prepareImage(roots, name)
			if err != nil {
				b.reportUnsent(name, err)
			}
			done[name] = p
		}
		switch {
		case p == nil:
		case sent+len(p.url) > maxImageBytes:
			b.reportUnsent(name, wording.Errorf("the images of a message may have at most %d bytes together", maxImageBytes))
		default:
			sent += len(p.url)
			pictures = append(pictures, p)
		}
	}
	return pictures, nil
}

// reportUnsent reports a file that is not sent.
func (b *builder) reportUnsent(name string, err error) {
	b.warn("media %s: not sent: %v", name, err)
	b.unsent = append(b.unsent, calls.Part{Kind: "image", Name: name, Reason: b.env.Say("left out: %w", err), Code: codeError})
}

func (b *builder) mediaRoots() []*rootDir {
	var roots []*rootDir
	if b.workspace != nil {
		roots = append(roots, b.workspace)
	}
	for _, dir := range b.env.MediaRoots {
		root, err := openDir(b.env.Dir, dir)
		if err != nil {
			b.warn("the folder %s of the setting media_roots: skipped: %v", dir, err)
			continue
		}
		roots = append(roots, root)
	}
	return roots
}

func (b *builder) prepareImage(roots []*rootDir, name string) (*picture, error) {
	data, err := b.mediaFile(roots, name)
	if err != nil {
		return nil, err
	}
	m, err := media.Prepare(data)
	if err != nil {
		return nil, err
	}
	if m.Doubt.En != "" {
		b.warn("media %s: %s", name, m.Doubt)
	}
	return &picture{name: name, url: m.URL(), note: b.env.Say("%s", m.Note), tokens: b.imageTokens(m)}, nil
}

// imageTokens returns the tokens of an image for the model that the prompt is for: the parameter's, else the
// flow's.
func (b *builder) imageTokens(m *media.Image) int {
	if b.params.Model != "" {
		return tokens.Image(b.params.Model, m.Width, m.Height)
	}
	if counter, ok := b.env.Tokens.(llm.ImageCounter); ok {
		return counter.CountImage(m.URL(), "")
	}
	return llm.ImageTokens
}

// mediaFile reads a file that lies in one of the roots. A relative path starts at the flow file or, if there is no
// such file, at the workspace.
func (b *builder) mediaFile(roots []*rootDir, name string) ([]byte, error) {
	if strings.Contains(name, "://") || strings.HasPrefix(name, "data:") {
		return nil, wording.Errorf("addresses are not fetched; give a file of the workspace")
	}
	path, err := userpath.Resolve(b.env.Dir, name)
	if err != nil {
		return nil, err
	}
	candidates := []string{path}
	if b.workspace != nil && filepath.IsLocal(name) {
		candidates = append(candidates, filepath.Join(b.workspace.path, name))
	}
	err = wording.Errorf("it lies outside the workspace; the setting media_roots can allow its folder")
	for _, candidate := range candidates {
		for _, root := range roots {
			rel, ok := root.relativePath(candidate)
			if !ok {
				continue
			}
			data, size, readErr := root.readFile(rel, media.MaxFile+1)
			switch {
			case readErr == nil && size > media.MaxFile:
				return nil, wording.Errorf("%d bytes are more than %d", size, media.MaxFile)
			case readErr == nil:
				return data, nil
			case errors.Is(readErr, fs.ErrNotExist):
				err = wording.Errorf("there is no such file")
			default:
				return nil, readErr
			}
		}
	}
	return nil, err
}
