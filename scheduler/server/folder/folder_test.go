package folder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/folder"
)

func TestHide(t *testing.T) {
	dir := t.TempDir()
	flows := filepath.Join(dir, "flows")
	if err := os.Mkdir(flows, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	h := folder.NewHider(link, filepath.Join(link, "flows"), "/", "")
	for text, want := range map[string]string{
		flows + "/shop/order.yaml:2:1: wrong":          "shop/order.yaml:2:1: wrong",
		link + "/flows/a.yaml":                         "a.yaml",
		"open " + dir + "/.scheduler/runs.db: is full": "open .scheduler/runs.db: is full",
		"there is no folder " + flows:                  "there is no folder flows",
		"in " + flows + ": nothing":                    "in flows: nothing",
		flows + "2/a.yaml":                             "flows2/a.yaml",
		dir + "-old/a":                                 dir + "-old/a",
		"/mnt" + dir + "/a":                            "/mnt" + dir + "/a",
		"\"" + flows + "/a.yaml\", '" + dir + "/b'":    "\"a.yaml\", 'b'",
		"中" + flows + "/a":                             "中a",
		"：" + flows + "/a":                             "：a",
		"/api/v1/runs and /inputs/days":                "/api/v1/runs and /inputs/days",
	} {
		if got := h.Hide(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := (*folder.Hider)(nil).Hide("/a"); got != "/a" {
		t.Errorf("no folders: %q", got)
	}
}

func TestHidePath(t *testing.T) {
	h := folder.NewHider("/srv/app/flows")
	for _, test := range []struct {
		path, want string
		isWhole    bool
	}{
		{path: "/srv/app/flows/shop/order.yaml", want: "shop/order.yaml"},
		{path: "/srv/app/flows/shop/order.yaml", isWhole: true, want: "shop/order.yaml"},
		{path: "/srv/ann/ws/AGENTS.md", want: "/srv/ann/ws/AGENTS.md"},
		{path: "/srv/ann/ws/AGENTS.md", isWhole: true, want: "AGENTS.md"},
		{path: "ws/AGENTS.md", isWhole: true, want: "ws/AGENTS.md"},
	} {
		if got := h.HidePath(test.path, test.isWhole); got != test.want {
			t.Errorf("%s, whole %v: %q, want %q", test.path, test.isWhole, got, test.want)
		}
	}
}
