package services

import (
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// A plugin that asks again and again for a service that it was not granted does not fill the log.
func TestRefusalIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	s := NewServer("p", &manifest.Manifest{Name: "p", Services: []string{manifest.ServiceVars}}, slog.New(slog.NewTextHandler(&log, nil)), nil)
	for range 3 {
		for _, service := range []string{manifest.ServiceMemory, manifest.ServiceLLM} {
			if _, _, _, err := s.beginCall(t.Context(), "", service); status.Code(err) != codes.PermissionDenied {
				t.Errorf("got %v", err)
			}
		}
		if _, err := s.Log(t.Context(), &proto.LogRequest{Level: "info"}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("got %v", err)
		}
	}
	if n := strings.Count(log.String(), "not granted"); n != 3 {
		t.Errorf("the log has %d lines for 3 services:\n%s", n, log.String())
	}
}
