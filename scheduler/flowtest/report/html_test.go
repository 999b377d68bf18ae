package report_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/flowtest/report"
)

func TestPageIsStatic(t *testing.T) {
	text := write(t, "html", comparison(), report.Options{})
	for _, not := range []string{"<script", "http://", "https://", "src=", "onload", "@import", "url("} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q", not)
		}
	}
	for _, want := range []string{
		`<a class="fail" href="#c0-0">failed 1/2 (95 %: 9 to 91 %)</a><div class="text">sesame</div>`, `id="c0-0" open`, `<span class="piece s0" title="flows/a.yaml:3:1">Be kind.</span>`, `<span class="piece s1" title="inputs.question">`,
		"out of season", `<span class="minus">-opens at 11</span>`, "agrees with people in 90 % of 40 answers", "against main",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the page:\n%s", want, text)
		}
	}
	if zh := write(t, "html", nil, report.Options{Language: "zh"}); !strings.Contains(zh, `<html lang="zh">`) || !strings.Contains(zh, "<th>用例</th>") || !strings.Contains(zh, `>已失败 1/2（95`) {
		t.Error("the page is not in Chinese")
	}
}

// browser returns the Chromium that tests use.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("NO BROWSER: the page was not opened. Install chromium-headless-shell, or name one by CHROMIUM")
	return ""
}

// A browser reads the page as it is meant: hostile text is text, and all the parts are there.
func TestPageOpensInABrowser(t *testing.T) {
	program := browser(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := report.WriteFiles([]report.Target{{Kind: "html", File: file}}, sample(), comparison(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+file)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	dom := string(out)
	for _, want := range []string{`<details id="c0-0" open="">`, `href="#c0-0"`, `<details id="c1-0">`, "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp;", "The keeper: out now"} {
		if !strings.Contains(dom, want) {
			t.Errorf("%q is not in the page of the browser:\n%s", want, dom)
		}
	}
	if strings.Contains(dom, "<script") {
		t.Errorf("a text became a script:\n%s", dom)
	}
}
