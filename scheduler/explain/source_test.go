package explain

import "testing"

// The sources of a computed text are named in the reader's language, names of the flow as they are.
func TestComputedText(t *testing.T) {
	s := Source{Kind: SourceComputed, File: "f.yaml", Line: 3, Col: 5, From: []string{"the model's answer", "inputs.town"}}
	text := s.Text()
	if want := "f.yaml:3:5 computed from the model's answer, inputs.town"; text.En != want {
		t.Errorf("got %q, want %q", text.En, want)
	}
	if want := "f.yaml:3:5 由 模型的回答、inputs.town 计算"; text.Zh != want {
		t.Errorf("got %q, want %q", text.Zh, want)
	}
	for want, source := range map[string]Source{
		"工具 look up":    {Kind: SourceTool, Name: "look up"},
		"文件 a b.txt":    {Kind: SourceFile, Name: "a b.txt"},
		"记忆 memory1":    {Kind: SourceMemory, Name: "memory1"},
		"文本 zh/a.txt":   {Kind: SourceText, Name: "zh/a.txt"},
		"inputs.a tool": {Kind: SourceInput, Name: "inputs.a tool"},
	} {
		text := Source{Kind: SourceComputed, From: source.origins()}.Text()
		if text.Zh != " 由 "+want+" 计算" || text.En != " computed from "+source.String() {
			t.Errorf("got %+v, want %q", text, want)
		}
	}
}
