package flow

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Check returns an error for a language without texts. One of a region (zh-CN) exists if the language does.
func (l *Languages) Check(language string) error {
	known := l.Names()
	if slices.ContainsFunc(calls.WithoutRegion(language), func(name string) bool { return slices.Contains(known, name) }) {
		return nil
	}
	err := calls.Errorf(calls.NotFound, "%s", say("there is no language %q", language))
	if near := value.Nearest(language, known); near != "" {
		return err.WithHint("%s", say("did you mean %q?", near))
	}
	if l.Dir == "" {
		return err.WithHint("%s", say("there are %s; the texts of another one stand in a folder of its name, in the directory that the setting languages names", strings.Join(known, ", ")))
	}
	return err.WithHint("%s", say("there are %s; put the texts of another one into %s", strings.Join(known, ", "), filepath.Join(l.Dir, language)))
}

// lintLanguage finds a language without texts, and faults of the texts that the steps use.
func (u *unit) lintLanguage() {
	known := u.loading.Languages
	if known == nil {
		return
	}
	if k := u.keys.Language; k.isSet() {
		if err := known.Check(k.text); err != nil {
			u.add(u.positionOf(k.node), "%v", err).hintOf(err)
			return
		}
		if wording.IsTraditional(k.text) && !slices.Contains(known.Names(), k.text) {
			u.warn(u.positionOf(k.node), "the texts of the language %q are in simplified Chinese", k.text).
				hint("write zh, or put texts of your own into %s", filepath.Join(known.Dir, k.text))
		}
	}
	for s := range u.eachStep() {
		if !s.known {
			continue
		}
		sets := s.Def.Texts
		if filling, ok := u.loading.Registry.Call(CallSlot); ok && s.EnableFilling {
			sets = slices.Concat(sets, filling.Texts)
		}
		var none []string
		for i := range sets {
			none = append(none, u.lintTexts(&sets[i])...)
		}
		if len(none) > 0 {
			u.warn(u.positionOf(s.keys.Call.node), "%s has no texts in the language %q and uses the English ones", s.Call, u.language).
				hint("put %s into %s", wording.Text{En: strings.Join(none, " and "), Zh: strings.Join(none, " 和 ")}, filepath.Join(known.Dir, u.language))
		}
	}
}

// lintTexts checks a set of texts that a step uses, once in a flow. none lists the files of the set if the
// language has none of them.
func (u *unit) lintTexts(set *calls.Texts) (none []string) {
	key := u.language + "/" + set.Folder
	if u.loading.texts[key] {
		return nil
	}
	u.loading.texts[key] = true
	problems, none := u.loading.Languages.checkTexts(u.language, set)
	u.problems = append(u.problems, problems...)
	return none
}

// Lint finds the faults of the texts of a call in a language, outside of flows.
func (l *Languages) Lint(language string, def calls.Definition) (problems Problems) {
	for i := range def.Texts {
		set := &def.Texts[i]
		faults, none := l.checkTexts(language, set)
		problems = append(problems, faults...)
		if len(none) > 0 {
			problems = append(problems, l.reportMissing(language, set.Folder, set.Names())...)
		}
	}
	return problems.in(l.Default)
}

// checkTexts finds the faults of a set of texts in a language of any region. none lists the files of the set if
// none of them exist.
func (l *Languages) checkTexts(language string, set *calls.Texts) (problems Problems, none []string) {
	missing := set.Names()
	for _, name := range calls.WithoutRegion(language) {
		faults, without := l.checkTemplates(name, set)
		problems = append(problems, faults...)
		missing = slices.DeleteFunc(missing, func(file string) bool { return !slices.Contains(without, file) })
	}
	if len(missing) < len(set.Names()) {
		return append(problems, l.reportMissing(language, set.Folder, missing)...), nil
	}
	for _, name := range missing {
		none = append(none, set.Folder+"/"+name)
	}
	return problems, none
}

// maxText bounds a text that users write, in bytes.
const maxText = 1 << 20

// checkTemplates checks the texts of a set that users wrote in a language. missing has the texts that are not
// built in either.
func (l *Languages) checkTemplates(language string, set *calls.Texts) (faults Problems, missing []string) {
	for _, name := range set.Names() {
		file := language + "/" + set.Folder + "/" + name
		at := Position{filepath.Join(l.Dir, filepath.FromSlash(file)), 1, 1}
		text, err := l.read(file)
		wrong := value.FindEncodingError(text)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if _, err := fs.Stat(set.BuiltIn, "lang/"+language+"/"+name); err != nil {
				missing = append(missing, name)
			}
		case err != nil:
			faults = append(faults, newProblem(at, "cannot read this text: %v", calls.WithoutPath(err)))
		case wrong != nil:
			at.Line, at.Col = wrong.Line, wrong.Col
			message, hint := wrong.Text()
			faults = append(faults, NewProblem(at, message, hint))
		case set.Check != nil:
			for _, p := range set.Check(name, text) {
				at.Line, at.Col = max(p.Line, 1), max(p.Col, 1)
				message, hint := p.Text()
				fault := newProblem(at, "%s", message)
				fault.setHint(hint)
				fault.Warning = p.Warning
				faults = append(faults, fault)
			}
		}
	}
	return faults, missing
}

func (l *Languages) read(name string) ([]byte, error) {
	if l.Files == nil {
		return nil, fs.ErrNotExist
	}
	text, err := calls.ReadFileFS(l.Files, name, maxText)
	if err == nil && len(text) > maxText {
		err = textError(say("it has more than %d bytes", maxText))
	}
	return text, err
}

// reportMissing are warnings of texts that are missing beside others.
func (l *Languages) reportMissing(language, folder string, missing []string) (problems Problems) {
	for _, name := range missing {
		p := newProblem(Position{filepath.Join(l.Dir, language, folder, name), 1, 1},
			"this text of %s is missing: the English one is used", folder)
		p.hint("write it, with what the English one mentions")
		p.Warning = true
		problems = append(problems, p)
	}
	return problems
}

// LintLanguages finds the faults of the texts that users wrote, in any language and for any call; nothing if
// Languages is nil.
func (l *Loader) LintLanguages() (problems Problems) {
	if l.Languages == nil {
		return nil
	}
	sets := map[string]*calls.Texts{}
	var folders []string
	for _, name := range l.Registry.CallNames() {
		def, _ := l.Registry.Call(name)
		for i := range def.Texts {
			if sets[def.Texts[i].Folder] == nil {
				sets[def.Texts[i].Folder] = &def.Texts[i]
				folders = append(folders, def.Texts[i].Folder)
			}
		}
	}
	slices.Sort(folders)
	known := l.Languages
	for _, language := range known.folders(".") {
		for _, folder := range known.folders(language) {
			set := sets[folder]
			if set == nil {
				problems = append(problems, known.uselessWarning(folders, say("no call has texts of this name"), language, folder))
				continue
			}
			names := set.Names()
			for _, name := range known.entries(language + "/" + folder) {
				if !slices.Contains(names, name) {
					problems = append(problems, known.uselessWarning(names, say("there is no such text of %s", folder), language, folder, name))
				}
			}
			faults, missing := known.checkTemplates(language, set)
			problems = append(problems, faults...)
			if general := calls.WithoutRegion(language); len(general) == 1 { // a region may have some of its own
				problems = append(problems, known.reportMissing(language, folder, missing)...)
			}
		}
	}
	return problems.in(known.Default)
}

// uselessWarning returns the warning of a file that nothing reads; names has the names that are read.
func (l *Languages) uselessWarning(names []string, message wording.Text, at ...string) Problem {
	p := newProblem(Position{filepath.Join(append([]string{l.Dir}, at...)...), 1, 1}, "%s: it is not used", message)
	p.suggest(at[len(at)-1], names, "there are %s")
	p.Warning = true
	return p
}
