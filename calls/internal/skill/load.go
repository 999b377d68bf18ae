package skill

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// FileName is the file that makes a directory a skill. If it is missing, a file whose name differs only in case
// counts.
const FileName = "SKILL.md"

// Limits of a scan.
const (
	maxDirs  = 2000
	maxBytes = 1 << 20
)

// Source is a directory of skills.
type Source struct {
	// FS holds the directory; an [os.Root]'s keeps symbolic links inside.
	FS fs.FS
	// Dir is the directory's slash-separated path in FS.
	Dir string
	// Shown is the directory's path as it is shown to the model.
	Shown string
}

// Load is the SkillsLoader of the documents. It finds the skills of the sources: the directories that hold a
// SKILL.md, and for a directory without one its subdirectories that do, for example writing/letters. They come in
// the order of the sources and, within one, of the code points of their names. Of two skills of one name the first
// that can be read counts. A source that does not exist is empty; everything else that cannot be used is skipped
// with a warning. The error is ctx's.
func Load(ctx context.Context, host Host, sources ...Source) (skills []*Skill, warnings []wording.Text, err error) {
	l := &loader{host: host, taken: map[string]bool{}}
	for _, source := range sources {
		if err := l.loadSource(ctx, source); err != nil {
			return nil, nil, err
		}
	}
	return l.skills, l.warnings, nil
}

// loader is one [Load].
type loader struct {
	host     Host
	taken    map[string]bool // the names of skills
	skills   []*Skill
	warnings []wording.Text
}

// loadSource finds the skills of one directory.
func (l *loader) loadSource(ctx context.Context, source Source) error {
	left := maxDirs
	for _, name := range l.listNames(source, "", &left) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if l.loadNamed(source, name) {
			continue
		}
		for _, below := range l.listNames(source, name, &left) {
			l.loadNamed(source, path.Join(name, below))
		}
	}
	return nil
}

// listNames returns the entries of a directory below a source's that may be skills. left is the number that may
// still be examined.
func (l *loader) listNames(source Source, below string, left *int) (names []string) {
	source.Dir, source.Shown = path.Join(source.Dir, below), path.Join(source.Shown, below)
	entries, err := listDir(source)
	if err != nil {
		isEntry := below != "" // a plain file, for example
		if !isEntry && !errors.Is(err, fs.ErrNotExist) {
			l.warnings = append(l.warnings, wording.Say("skills: %s cannot be listed: %v", source.Shown, withoutPath(err)))
		}
		return nil
	}
	if len(entries) > *left {
		l.warnings = append(l.warnings, wording.Say("skills: %s has %d entries; only the first %d are looked at", source.Shown, len(entries), *left))
		entries = entries[:*left]
	}
	*left -= len(entries)
	for _, entry := range entries {
		if name := entry.Name(); name != ".git" && name != "node_modules" {
			names = append(names, name)
		}
	}
	return names
}

// loadNamed reads the skill of a directory below a source's, and reports whether there is one, usable or not. Of
// two skills of one name the first counts.
func (l *loader) loadNamed(source Source, dir string) bool {
	name := path.Base(dir)
	if l.taken[name] {
		return true
	}
	s, notes := loadSkill(l.host, source, dir)
	shown := dir
	if _, hidden := hiddenInName(dir); hidden {
		shown = strconv.QuoteToASCII(dir)
	}
	for _, note := range notes {
		l.warnings = append(l.warnings, wording.Say("skill %s: %s", shown, note))
	}
	if s != nil {
		l.taken[name] = true
		l.skills = append(l.skills, s)
	}
	return s != nil || notes != nil
}

// listDir lists the directory of a source. Other files are not opened: opening a pipe would block.
func listDir(source Source) ([]fs.DirEntry, error) {
	info, err := fs.Stat(source.FS, source.Dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, wording.Errorf("it is not a directory")
	}
	return fs.ReadDir(source.FS, source.Dir)
}

// loadSkill reads the skill of a directory below the source's; nil if it has none that can be used, without
// warnings if it has none at all.
func loadSkill(host Host, source Source, name string) (*Skill, []wording.Text) {
	base := skillFile(source, name)
	file := path.Join(source.Dir, name, base)
	info, err := fs.Stat(source.FS, file)
	hidden, isHidden := hiddenInName(name)
	switch {
	case err != nil && isAbsent(source, name, err):
		return nil, nil
	case err != nil:
		return nil, []wording.Text{wording.Say("skipped: %s cannot be read: %v", FileName, withoutPath(err))}
	case isHidden:
		return nil, []wording.Text{wording.Say("skipped: the name of its directory has %s (rename it)", hidden)}
	case !info.Mode().IsRegular():
		return nil, []wording.Text{wording.Say("skipped: %s is not a regular file", FileName)}
	case info.Size() > maxBytes:
		return nil, []wording.Text{wording.Say("skipped: %s has %d bytes, more than %d", FileName, info.Size(), maxBytes)}
	}
	data, err := fs.ReadFile(source.FS, file)
	if err != nil {
		return nil, []wording.Text{wording.Say("skipped: %s cannot be read: %v", FileName, withoutPath(err))}
	}
	text, err := value.DecodeText(data)
	if err != nil {
		return nil, []wording.Text{wording.Say("skipped: %s:%w", FileName, err)}
	}
	f, err := Parse(newlines.Replace(text))
	if err != nil {
		return nil, []wording.Text{wording.Say("skipped: %v", err)}
	}
	s, warnings := Interpret(path.Base(name), path.Join(source.Shown, name, base), f, host)
	s.Content, s.BodyStart = string(data), f.BodyStart
	if entries, err := fs.ReadDir(source.FS, path.Join(source.Dir, name)); err == nil && len(entries) > 1 {
		s.Dir = path.Join(source.Shown, name)
	}
	s.Folder = name
	return s, warnings
}

// hiddenInName returns the characters of a directory's name that are invisible or control a terminal. The model
// and people read such a name as another.
func hiddenInName(name string) (what wording.Text, hidden bool) {
	if r, hidden := value.InvisibleInName(name); hidden {
		return wording.Say("the invisible character %U", r), true
	}
	return wording.Text{}, false
}

// skillFile returns the name of the file that makes a directory a skill.
func skillFile(source Source, name string) string {
	dir := path.Join(source.Dir, name)
	if _, err := fs.Stat(source.FS, path.Join(dir, FileName)); !errors.Is(err, fs.ErrNotExist) {
		return FileName
	}
	entries, err := fs.ReadDir(source.FS, dir)
	if err != nil {
		return FileName
	}
	for _, entry := range entries {
		if strings.EqualFold(entry.Name(), FileName) {
			return entry.Name()
		}
	}
	return FileName
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// isAbsent reports whether an error means that the entry is simply no skill: a
// plain file, or a directory without a SKILL.md.
func isAbsent(source Source, name string, err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	info, statErr := fs.Stat(source.FS, path.Join(source.Dir, name))
	return statErr == nil && !info.IsDir()
}

// withoutPath returns an error of a file without the path, which the message names.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
