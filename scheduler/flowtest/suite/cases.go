package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/stat"
	"github.com/callnode/scheduler/scheduler/journal"
)

// untilEnd is the until of cases that run to the end.
const untilEnd = "end"

// standardNow is the clock of cases that name none.
func standardNow() time.Time { return time.Date(2026, time.January, 1, 9, 0, 0, 0, time.UTC) }

// expandCases makes the cases of all entries, rows and variants.
func (r *reader) expandCases(ctx context.Context, s *Suite) {
	variants := r.allVariants()
	isEmpty := slices.ContainsFunc(r.axes(), func(a *axis) bool { return len(a.values) == 0 }) // which is reported
	if len(variants) == 0 && !isEmpty {
		r.reportOnce(r.at("/matrix"), wording.Say("exclude leaves no combination"), wording.Text{})
	}
	if d := r.keys.Defaults; d != nil {
		r.checkAllowed("/defaults/allow", d.Allow)
	}
	names := map[string]int{}
	for i := range r.keys.Cases {
		c := &caseReader{reader: r, pointer: "/cases/" + strconv.Itoa(i), entry: &r.keys.Cases[i]}
		if first, twice := names[c.entry.Name]; twice && !c.wrong[c.pointer] {
			r.report(c.pointer+"/name", wording.Say("there are two cases %q", c.entry.Name), wording.Say("the first is in line %d", r.at("/cases/"+strconv.Itoa(first)).Line))
		}
		if strings.ContainsFunc(c.entry.Name, unicode.IsControl) {
			r.report(c.pointer+"/name", wording.Say("the name of a case is one line of text"), wording.Say("take out line breaks and control characters"))
		}
		names[c.entry.Name] = i
		if c.entry.Only && r.loader.RefusesOnly {
			r.report(c.pointer+"/only", wording.Say("only leaves the other cases of the file out, which is refused in CI"), wording.Say("take only out; CI is set in the environment"))
		}
		c.read()
		c.expand(ctx, s, i, variants)
		if ctx.Err() != nil {
			r.report("/cases", wording.Say("the file was not read to its end: it was interrupted"), wording.Text{})
			return
		}
		if len(s.Cases) > maxCases {
			r.report("/cases", wording.Say("the file has more than %d cases", maxCases), wording.Say("take a sample of the dataset, or exclude combinations"))
			return
		}
	}
	if d := r.keys.Defaults; d != nil && d.Only {
		r.report("/defaults/only", wording.Say("only is about one case, and the defaults are about all"), wording.Say("write it in the cases that are to run alone"))
	}
	ids := map[string]*Case{}
	for _, c := range s.Cases {
		s.HasOnly = s.HasOnly || c.Only
		id := c.ID()
		if other := ids[id]; other != nil && other.Pos != c.Pos {
			r.reportOnce(r.shownPlace(c.Pos), wording.Say("two cases are known as %q, with their rows and variants", id), wording.Say("the other is in line %d", other.Pos.Line))
		}
		ids[id] = c
	}
	for _, c := range s.Cases {
		if s.HasOnly && !c.Only && c.Skip == "" {
			c.Skip = wording.Say("others of the file say only").In(r.loader.Language)
		}
	}
}

// shownPlace returns a place in the test file as problems name it.
func (r *reader) shownPlace(pos flow.Position) flow.Position {
	pos.File = r.shown
	return pos
}

// read reads the settings that apply to all rows and variants.
func (c *caseReader) read() {
	c.settings = c.merged()
	k := &c.settings
	if k.Until != "" && k.Until != untilEnd {
		c.checkStep(c.at(c.place("until")), k.Until)
	}
	c.checkAllowed(c.pointer+"/allow", c.entry.Allow)
	c.readMocks()
	c.readAnswers()
	c.readLLM()
	c.memory = c.readMemory(c.place("memory"), k.Memory)
	c.readState()
	c.readTrigger()
	c.now = standardNow()
	if k.Now != "" {
		var err error
		c.now, err = memory.ParseTimeIn(k.Now, time.UTC)
		if err != nil {
			c.reportOnce(c.at(c.place("now")), wording.OfError(err), wording.Text{})
		}
	}
	c.duration(c.place("timeout"), k.Timeout)
	c.checkPass()
}

// checkPass reports a pass that no repeats can meet, or none that are planned, even if all of them pass; and
// bounds of 0, with which no check can fail.
func (c *caseReader) checkPass() {
	k := &c.settings
	hint := wording.Say("give it more than 0; a check with weight: 0 is reported and decides nothing")
	if k.Threshold != nil && *k.Threshold == 0 {
		c.reportOnce(c.at(c.place("threshold")), wording.Say("with a threshold of 0 the case cannot fail"), hint)
	}
	if k.Pass == nil {
		return
	}
	if k.Pass.Rate == 0 {
		c.reportOnce(c.at(c.place("pass")), wording.Say("with a rate of 0 the case cannot fail"), hint)
		return
	}
	need := stat.Need{Rate: k.Pass.Rate, Sure: k.Pass.Sure}
	planned := cmp.Or(c.loader.Repeat, max(k.Repeat, 1))
	if need.Sure && len(c.scripts) > 0 && !c.hasAxis(axisLLM) && !need.IsMetBy(1, 1) {
		c.reportOnce(c.at(c.place("pass")), wording.Say("nothing can be sure: the answers are scripted, and all repeats with the same answers are one observation"),
			wording.Say("take sure out, or have a model answer"))
		return
	}
	if need.IsMetBy(planned, planned) {
		return
	}
	at := c.at(c.place("pass"))
	least := stat.FewestRepeats(need)
	if least == 0 {
		c.reportOnce(at, wording.Say("no number of repeats can make a rate of %v sure", need.Rate), wording.Say("lower the rate, or take sure out"))
		return
	}
	c.reportOnce(at, wording.Say("pass cannot be met with %d repeats: a rate of %v that is sure needs at least %d repeats", planned, need.Rate, least),
		wording.Say("repeat the case more often, lower the rate, or take sure out"))
}

// merged lays the settings of the case over the defaults. Inputs and mocks are joined when they are read.
func (c *caseReader) merged() settingKeys {
	own, d := c.entry.settingKeys, c.keys.Defaults
	if d == nil {
		return own
	}
	k := *d
	k.Only = own.Only
	k.Tags, k.Allow = join(d.Tags, own.Tags), join(d.Allow, own.Allow)
	k.User, k.Trigger = cmp.Or(own.User, d.User), cmp.Or(own.Trigger, d.Trigger)
	k.Until, k.Now, k.Timeout = cmp.Or(own.Until, d.Until), cmp.Or(own.Now, d.Now), cmp.Or(own.Timeout, d.Timeout)
	k.Answers, k.Seed, k.Repeat = given(own.Answers, d.Answers), cmp.Or(own.Seed, d.Seed), cmp.Or(own.Repeat, d.Repeat)
	k.Pass, k.Threshold = cmp.Or(own.Pass, d.Pass), cmp.Or(own.Threshold, d.Threshold)
	k.Conversation = given(own.Conversation, d.Conversation)
	k.Skip, k.LLM, k.Memory, k.State = given(own.Skip, d.Skip), given(own.LLM, d.LLM), given(own.Memory, d.Memory), given(own.State, d.State)
	return k
}

// given returns the value of a case, or the default if that is null.
func given(own, standard value.Value) value.Value {
	if own.IsNull() {
		return standard
	}
	return own
}

// join returns the words of two lists, each once.
func join(a, b []string) (all []string) {
	for _, word := range slices.Concat(a, b) {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// readMocks reads the mocks of the defaults, and over them the mocks of the case.
func (c *caseReader) readMocks() {
	layers := map[string]*value.Map{c.pointer: c.entry.Mocks}
	if c.keys.Defaults != nil {
		layers["/defaults"] = c.keys.Defaults.Mocks
	}
	for _, layer := range []string{"/defaults", c.pointer} {
		for key, v := range layers[layer].All() {
			m := c.readMock(layer+"/mocks/"+value.Escape(key), key, v)
			if m == nil {
				continue
			}
			m.IsDefault = layer == "/defaults"
			same := func(other *Mock) bool {
				return other.Step == m.Step && other.Call == m.Call && other.Variable == m.Variable
			}
			if i := slices.IndexFunc(c.mocks, same); i >= 0 {
				c.mocks[i] = m
				continue
			}
			c.mocks = append(c.mocks, m)
		}
	}
}

// readAnswers reads answers by their pointers, or a list of the user's answers of each turn.
func (c *caseReader) readAnswers() {
	answers, pointer := c.settings.Answers, c.place("answers")
	if answers.Kind() != value.List {
		c.addAnswers(answers.Map(), pointer, 0)
		return
	}
	for i, item := range answers.List() {
		at := fmt.Sprintf("%s/%d", pointer, i)
		text, isText := item.Str()
		switch {
		case isText && strings.TrimSpace(text) != "":
			pos := c.at(at)
			pos.File = c.file
			c.answers = append(c.answers, Answer{Pos: pos, Turn: i + 1, Message: text, IsDefault: !c.has("answers")})
		case item.Kind() == value.Object && item.Map().Len() > 0:
			c.addAnswers(item.Map(), at, i+1)
		default:
			c.reportOnce(c.at(at), wording.Say("an answer of a list is a sentence, or values by their pointers"), wording.Say(`write answers: ["It is A-1042."], or answers: [{/city: Rome}]`))
		}
	}
}

// addAnswers adds answers by STEP:/pointer and /pointer; turn is when they are given.
func (c *caseReader) addAnswers(answers *value.Map, below string, turn int) {
	for key, v := range answers.All() {
		pointer := below + "/" + value.Escape(key)
		pos := c.keyAt(pointer)
		if decision := decisionPlaces(v); decision != nil && !strings.ContainsAny(key, "/:") {
			c.checkStep(pos, key)
			pos.File = c.file
			for _, one := range decision {
				c.answers = append(c.answers, Answer{Pos: pos, Step: key, Pointer: one.pointer, Value: one.v, Turn: turn, IsDefault: !c.has("answers")})
			}
			continue
		}
		step, at, hasStep := strings.Cut(key, ":")
		if strings.HasPrefix(key, "/") || !hasStep {
			step, at = "", key
		}
		if !strings.HasPrefix(at, "/") && at != "" {
			c.reportOnce(pos, wording.Say("%q is not a JSON pointer", at), wording.Say("write /%s", at))
			continue
		}
		if step != "" {
			c.checkStep(pos, step)
		}
		pos.File = c.file
		c.answers = append(c.answers, Answer{Pos: pos, Step: step, Pointer: at, Value: v, Turn: turn, IsDefault: !c.has("answers")})
	}
}

// decisionPlace is a part of a decision about an approval, with its place.
type decisionPlace struct {
	pointer string
	v       value.Value
}

// decisionPlaces returns the parts of a decision, for example {approve: true} or {deny: too much}; nil if the value is none.
func decisionPlaces(v value.Value) (all []decisionPlace) {
	approve, isApproval := v.Get("approve")
	deny, isDenial := v.Get("deny")
	edits, hasEdits := v.Get("edits")
	yes, isBool := approve.Bool()
	reason, isText := deny.Str()
	known := 1
	if hasEdits {
		known++
	}
	switch {
	case isApproval == isDenial || v.Map().Len() != known:
		return nil
	case isApproval && isBool:
		all = append(all, decisionPlace{journal.ApprovedPlace, value.OfBool(yes)})
	case isDenial && isText:
		all = append(all, decisionPlace{journal.ApprovedPlace, value.OfBool(false)}, decisionPlace{journal.ReasonPlace, value.OfString(reason)})
	default:
		return nil
	}
	if hasEdits {
		all = append(all, decisionPlace{journal.EditsPlace, edits})
	}
	return all
}

// readLLM reads the provider, or the answers in place of one.
func (c *caseReader) readLLM() {
	llm := c.settings.LLM
	if name, isName := llm.Str(); isName {
		c.checkProviders(c.place("llm"), name)
		return
	}
	switch llm.Kind() {
	case value.List:
		c.addScript("", llm, c.place("llm"))
	case value.Object:
		for step, list := range llm.Map().All() {
			pointer := c.place("llm") + "/" + value.Escape(step)
			c.checkAsking(c.keyAt(pointer), step)
			c.addScript(step, list, pointer)
		}
		if llm.Map().Len() == 0 {
			c.reportOnce(c.at(c.place("llm")), wording.Say("llm has no answers"), wording.Say("write llm: {%s: [an answer]}, or take it out", "STEP"))
		}
	}
}

// addScript adds the answers at a pointer: those for a step, or for any.
func (c *caseReader) addScript(step string, list value.Value, pointer string) {
	script := Script{Step: step, Answers: list}
	if c.has(axisLLM) {
		for i := range list.List() {
			pos := c.at(pointer + "/" + strconv.Itoa(i))
			pos.File = c.file
			script.At = append(script.At, pos)
		}
	}
	if list.IsNull() {
		c.reportOnce(c.at(pointer), wording.Say("llm has no answers for the step %s", step), wording.Say("write llm: {%s: [an answer]}, or take it out", step))
	} else if _, err := scripted.Parse(list); err != nil {
		c.reportOnce(c.at(pointer), wording.Say("the answers cannot be read: %w", err), wording.Say(`write llm: ["an answer", {json: {...}}, {error: "..."}]`))
	}
	c.scripts = append(c.scripts, script)
}

// expand adds a case for each row and variant. A case with an llm of its own is not multiplied by the matrix's.
func (c *caseReader) expand(ctx context.Context, s *Suite, entry int, variants []variant) {
	rows := c.data.rows
	if rows == nil {
		rows = []*datasetRow{nil}
	}
	if c.has(axisLLM) {
		var left []variant
		for _, v := range variants {
			v = v.without(axisLLM)
			if !slices.ContainsFunc(left, func(other variant) bool { return slices.Equal(other.settings(), v.settings()) }) {
				left = append(left, v)
			}
		}
		variants = left
	}
	for _, row := range rows {
		for _, v := range variants {
			if ctx.Err() != nil { // a flow is read for each variant
				return
			}
			f := c.flowOf(v)
			if f == nil {
				continue
			}
			if made := c.makeCase(f, row, v, slices.Concat(c.defaults, c.cases[entry])); made != nil {
				s.Cases = append(s.Cases, made)
			}
		}
		if len(s.Cases) > maxCases {
			return
		}
	}
}

// makeCase makes the case of a row and a variant; nil if its inputs are wrong.
func (c *caseReader) makeCase(f *loadedFlow, row *datasetRow, v variant, expect []*check.Check) *Case {
	k := &c.settings
	made := &Case{
		Name: c.entry.Name, User: k.User, Variant: v.settings(), Pos: c.at(c.pointer), Flow: f.flow, Loader: f.loader, FlowFile: relativeTo(c.loader.Root, f.path),
		Answers: c.answers, Now: c.now, HasNow: k.Now != "", Seed: 1, Repeat: max(k.Repeat, 1), Rate: 1, Tags: k.Tags, Skip: c.skip(), Only: k.Only,
		Timeout: c.duration(c.place("timeout"), k.Timeout), Threshold: k.Threshold, Allow: k.Allow, Scripts: c.scripts, HasScript: len(c.scripts) > 0, Expect: expect,
	}
	made.Pos.File = c.file
	if row != nil {
		made.RowValue = value.OfMap(row.cells)
		made.Row = row.result(relativeTo(c.loader.Root, row.pos.File))
		if cluster, ok := row.cells.Get(c.keys.Dataset.Cluster); ok {
			made.Cluster = cluster.PlainText()
		}
	}
	if k.Until != untilEnd {
		made.Until, made.UntilPos = k.Until, c.at(c.place("until"))
		made.UntilPos.File = c.file
	}
	if k.Seed != nil {
		made.Seed, made.HasSeed = *k.Seed, true
	}
	if k.Pass != nil {
		made.Rate, made.Sure = k.Pass.Rate, k.Pass.Sure
	}
	made.LLM, _ = k.LLM.Str()
	if name, ok := v.get(axisLLM); ok {
		made.LLM, _ = name.Str()
		made.Scripts, made.HasScript = nil, false
	}
	for _, m := range c.mocks {
		if _, ok := f.flow.FindStep(m.Step); ok || m.Call != "" || m.Variable != "" {
			made.Mocks = append(made.Mocks, *m)
		}
	}
	for _, ended := range c.state {
		if _, ok := f.flow.Step(ended.Step); ok {
			made.State = append(made.State, ended)
		}
	}
	fired := c.fire(f.flow, row)
	if k.Trigger != nil && fired == nil {
		return nil
	}
	var ok bool
	made.Inputs, ok = c.inputs(f, row, fired)
	if !ok {
		return nil
	}
	made.Conversation, ok = c.conversation(row)
	if !ok {
		return nil
	}
	if fired != nil {
		made.User = cmp.Or(made.User, fired.user)
		made.Conversation = given(made.Conversation, fired.conversation)
	}
	c.placeMemory(made, c.memory)
	c.checkMemories(made)
	return made
}

// skip returns why the case does not run; "" if it does.
func (c *caseReader) skip() string {
	if text, isText := c.settings.Skip.Str(); isText {
		if slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(strings.TrimSpace(text))) {
			c.reportOnce(c.at(c.place("skip")), wording.Say("skip is the text %q, and would skip the case", text), wording.Say("write skip: false without marks, or why it is skipped"))
		}
		return text
	}
	if is, _ := c.settings.Skip.Bool(); is {
		return wording.Say("the case says skip").In(c.loader.Language)
	}
	return ""
}
