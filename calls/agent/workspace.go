package agent

import (
	"context"
	"embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/internal/skill"
	"github.com/callnode/scheduler/calls/internal/userpath"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

//go:embed lang/en lang/zh
var texts embed.FS

const (
	maxFile  = 4 << 20 // bytes of a file that are looked at
	maxLines = 500     // lines of a file at once, unless the model asks for fewer or more
	maxNames = 100     // entries of a directory that an error lists
)

// workspace is the directories that the model may read.
type workspace struct {
	root   *os.Root // nil if the step has only built-in skills
	shown  string   // the path as the flow gives it, which prompts show
	extra  *os.Root // built-in skills; may be nil
	skills []foundSkill
	// warnings are the skills that cannot be used, and why.
	warnings []string
	room     int // bytes that the model gets to see at once
}

// foundSkill is a skill with the place of its files.
type foundSkill struct {
	*skill.Skill
	root *os.Root
	dir  string
}

// openWorkspace opens the directories and looks for skills. The caller closes the workspace even if there is an
// error.
func openWorkspace(ctx context.Context, env *calls.Env, dir, builtin string, room int) (*workspace, error) {
	w := &workspace{shown: path.Clean(filepath.ToSlash(dir)), room: room}
	var err error
	if dir != "" {
		w.root, err = openRoot(env.Dir, dir)
		if err != nil {
			return w, calls.Errorf(calls.NotFound, "workspace %s: %w", dir, err)
		}
		for _, below := range []string{"skills", ".agents/skills"} {
			if err := w.findSkills(ctx, env, w.root, below, path.Join(w.shown, below)); err != nil {
				return w, err
			}
		}
	}
	if builtin != "" {
		w.extra, err = openRoot(env.Dir, builtin)
		if err != nil {
			return w, calls.Errorf(calls.NotFound, "builtin_skills %s: %w", builtin, err)
		}
		err = w.findSkills(ctx, env, w.extra, ".", path.Clean(filepath.ToSlash(builtin)))
	}
	return w, err
}

// findSkills adds the skills of a directory, except for skills that only people call. The model knows the
// directory as shown.
func (w *workspace) findSkills(ctx context.Context, env *calls.Env, root *os.Root, dir, shown string) error {
	host := skill.Host{LookPath: exec.LookPath, Getenv: os.Getenv}
	list, warnings, err := skill.Load(ctx, host, skill.Source{FS: root.FS(), Dir: dir, Shown: shown})
	for _, warning := range warnings {
		w.warnings = append(w.warnings, env.Say("%s", warning))
	}
	for _, x := range list {
		taken := slices.ContainsFunc(w.skills, func(f foundSkill) bool { return f.Name == x.Name })
		if !taken && !x.Hidden {
			w.skills = append(w.skills, foundSkill{x, root, path.Join(dir, x.Folder)})
		}
	}
	return err
}

// openRoot opens a directory; a relative one starts at dir, ~ is the home directory.
func openRoot(dir, given string) (*os.Root, error) {
	full, err := userpath.Resolve(dir, given)
	if err != nil {
		return nil, err
	}
	root, err := calls.OpenRoot(full)
	if err != nil {
		return nil, userpath.WithoutPath(err)
	}
	return root, nil
}

func (w *workspace) close() {
	for _, root := range []*os.Root{w.root, w.extra} {
		if root != nil {
			_ = root.Close() // it was only read
		}
	}
}

// fileArguments are the arguments of read_file.
type fileArguments struct {
	Path   string `json:"path" min:"1" doc:"The file's path in the workspace."`
	Offset int    `json:"offset,omitempty" default:"1" min:"1" doc:"The first line to read, from 1."`
	Limit  int    `json:"limit,omitempty" default:"500" min:"1" doc:"How many lines to read."`
}

// skillArguments are the arguments of read_skill.
type skillArguments struct {
	Name string `json:"name" min:"1" doc:"The skill's name."`
	File string `json:"file,omitempty" doc:"A file in the skill's directory; without it, the instructions."`
}

// workspaceTools returns the tools of the workspace.
func (w *workspace) workspaceTools(ctx context.Context, env *calls.Env) (list []tool, err error) {
	if w.root != nil {
		description, err := ask.Prompt(ctx, env, "agent", texts, calls.ReadFileTool, value.Pairs("workspace", w.shown))
		if err != nil {
			return nil, err
		}
		list = append(list, tool{name: calls.ReadFileTool, description: description, parameters: schema.MustFor[fileArguments](), words: env.Say, run: w.readFile})
	}
	if len(w.skills) > 0 {
		skills := make([]*value.Map, len(w.skills))
		for i, s := range w.skills {
			skills[i] = value.Pairs("name", s.Name, "description", s.Description, "available", s.Available())
		}
		description, err := ask.Prompt(ctx, env, "agent", texts, calls.ReadSkillTool, value.Pairs("skills", skills))
		if err != nil {
			return nil, err
		}
		list = append(list, tool{name: calls.ReadSkillTool, description: description, parameters: schema.MustFor[skillArguments](), words: env.Say, run: w.readSkill})
	}
	return list, nil
}

// pathInside returns a path in the workspace for a path in a prompt, which may begin with the workspace's own, as
// the flow writes that or absolute; for example the paths in a prompt's list of skills do.
func (w *workspace) pathInside(name string) string {
	if inside, ok := strings.CutPrefix(name, w.shown+"/"); ok {
		if _, err := w.root.Stat(name); err != nil {
			return inside
		}
	}
	if full, err := filepath.EvalSymlinks(w.root.Name()); err == nil {
		return strings.TrimPrefix(name, filepath.ToSlash(full)+"/")
	}
	return name
}

func (w *workspace) readFile(ctx context.Context, env *calls.Env, arguments value.Value) (toolOutput, error) {
	a := fileArguments{Offset: 1, Limit: maxLines}
	if err := value.Decode(arguments, &a); err != nil {
		return toolOutput{}, calls.Errorf(calls.Invalid, "%w", err)
	}
	name := w.pathInside(path.Clean(filepath.ToSlash(a.Path)))
	text, err := readText(w.root, name)
	file := path.Join(w.shown, name)
	if err != nil {
		return toolOutput{}, calls.Errorf(kindOf(err), "%s: %w", a.Path, err)
	}
	if !utf8.ValidString(text) {
		return pictureOutput(text, file), nil
	}
	return toolOutput{Value: value.OfString(excerptLines(env, secret.FromContext(ctx).MaskText(text), a.Offset, a.Limit, w.room)), file: file}, nil
}

func (w *workspace) readSkill(_ context.Context, _ *calls.Env, arguments value.Value) (toolOutput, error) {
	var a skillArguments
	if err := value.Decode(arguments, &a); err != nil {
		return toolOutput{}, calls.Errorf(calls.Invalid, "%w", err)
	}
	i := slices.IndexFunc(w.skills, func(f foundSkill) bool { return f.Name == a.Name })
	if i < 0 {
		names := make([]string, len(w.skills))
		for i, s := range w.skills {
			names[i] = s.Name
		}
		return toolOutput{}, calls.Errorf(calls.NotFound, "there is no skill %q", a.Name).WithHint("%s", value.DidYouMeanOrList(a.Name, names))
	}
	s := w.skills[i]
	if a.File == "" {
		return toolOutput{Value: value.OfString(s.Instructions() + s.fileList()), file: s.Location}, nil
	}
	file := path.Clean(filepath.ToSlash(a.File))
	if !filepath.IsLocal(file) {
		return toolOutput{}, calls.Errorf(calls.Invalid, "%s is not a file of the skill", a.File)
	}
	text, err := readText(s.root, path.Join(s.dir, file))
	if err != nil {
		return toolOutput{}, calls.Errorf(kindOf(err), "%s: %w", a.File, err)
	}
	file = path.Join(path.Dir(s.Location), file)
	if !utf8.ValidString(text) {
		return pictureOutput(text, file), nil
	}
	return toolOutput{Value: value.OfString(text), file: file}, nil
}

// skillToFollow returns the skill whose instructions a use of read_skill has read, or the one before if it read
// another file.
func (w *workspace) skillToFollow(arguments string, before *skill.Skill) *skill.Skill {
	var a skillArguments
	v, err := value.ParseJSON([]byte(arguments))
	if err != nil || value.Decode(v, &a) != nil || a.File != "" {
		return before
	}
	for _, s := range w.skills {
		if s.Name == a.Name {
			return s.Skill
		}
	}
	return before
}

// warnOfTools warns of skills whose allowed-tools this agent does not have.
func (w *workspace) warnOfTools(env *calls.Env, tools []tool) {
	for _, s := range w.skills {
		isThere := func(name string) bool {
			return slices.ContainsFunc(tools, func(t tool) bool { return strings.EqualFold(t.name, name) })
		}
		if s.AllowedTools != nil && !slices.ContainsFunc(s.AllowedTools, isThere) {
			w.warnings = append(w.warnings, env.Say("skill %s: the agent has none of its allowed-tools (%s), so it can only read while it follows the skill",
				s.Name, strings.Join(s.AllowedTools, ", ")))
		}
	}
}

// fileList lists the other files in the skill's directory.
func (f foundSkill) fileList() string {
	var names []string
	err := fs.WalkDir(f.root.FS(), f.dir, func(name string, d fs.DirEntry, err error) error {
		rel, ok := strings.CutPrefix(name, f.dir+"/")
		isFile := err == nil && ok && d.Type().IsRegular()
		if isFile && rel != path.Base(f.Location) {
			names = append(names, rel)
		}
		if len(names) >= maxNames {
			return fs.SkipAll
		}
		return nil // files that cannot be listed are left out
	})
	if err != nil || len(names) == 0 {
		return ""
	}
	return "\n\n<files>\n" + strings.Join(names, "\n") + "\n</files>"
}

// pictureOutput returns the output for a picture that was read.
func pictureOutput(data, file string) toolOutput {
	return toolOutput{value.OfString(pictureNote([]byte(data))), file, []string{pictureURL([]byte(data))}}
}

// readText reads a text file or a picture; other files that are not text are an error. The error of a directory
// lists its entries.
func readText(root *os.Root, name string) (string, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return "", userpath.WithoutPath(err)
	case info.IsDir():
		return "", wording.Errorf("it is a directory, with %s", listEntries(root, name))
	case !info.Mode().IsRegular(): // opening a named pipe would wait for its other end
		return "", wording.Errorf("it is not a regular file")
	case info.Size() > maxFile:
		return "", wording.Errorf("it has %d bytes, more than %d", info.Size(), maxFile)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", userpath.WithoutPath(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", userpath.WithoutPath(err)
	}
	text, err := value.DecodeText(data)
	if err != nil && pictureURL(data) != "" {
		return string(data), nil
	}
	return text, err
}

func listEntries(root *os.Root, name string) wording.Text {
	list, err := calls.ReadDirFS(root.FS(), name)
	if err != nil || len(list) == 0 {
		return wording.Say("nothing in it")
	}
	var names []string
	for i, entry := range list {
		if i == maxNames {
			names = append(names, "...")
			break
		}
		if n := entry.Name(); entry.IsDir() {
			names = append(names, n+"/")
		} else {
			names = append(names, n)
		}
	}
	return wording.Same(strings.Join(names, ", "))
}

// noteRoom is how many bytes are kept free for the note that excerptLines adds.
const noteRoom = 160

// excerptLines returns a part of a text that fits into room bytes, with a note about the rest. A line that does
// not fit by itself is cut.
func excerptLines(env *calls.Env, text string, offset, limit, room int) string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if offset > len(all) {
		return env.Say("[the file has %d lines]", len(all))
	}
	part := all[offset-1 : min(len(all), offset-1+min(limit, len(all)))]
	size := 0
	for _, line := range part {
		size += len(line)
	}
	n := len(part)
	for room -= noteRoom; n > 1 && size > room; n-- {
		size -= len(part[n-1])
	}
	out, end := strings.Join(part[:n], ""), offset-1+n
	if size > room {
		out = value.FirstBytes(out, room)
		out += "\n" + env.Say("[cut: these are the first %d of %d bytes of line %d]", len(out), size, end) + "\n"
	}
	if end < len(all) {
		out += env.Say("[lines %d to %d of %d; read on with offset %d]", offset, end, len(all), end+1)
	}
	return out
}

func kindOf(err error) calls.Kind {
	if errors.Is(err, fs.ErrNotExist) {
		return calls.NotFound
	}
	return calls.Invalid
}
