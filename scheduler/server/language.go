package server

import (
	"context"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// languageOf returns the language of the texts that answer a request: the built-in one that its client prefers,
// else the server's.
func (s *Server) languageOf(ctx context.Context) string {
	fallback := "en"
	if wording.IsChinese(s.options.Language) {
		fallback = "zh"
	}
	r := requestOf(ctx).http
	if r == nil {
		return fallback
	}
	return preferredLanguage(strings.Join(r.Header.Values("Accept-Language"), ","), fallback)
}

// preferredLanguage returns en or zh, by the qualities of an Accept-Language header (RFC 9110,
// 12.5.4); of two that are liked as much, the first one. Regions count as their language; fallback, which is one
// of the two, applies to all unnamed ones.
func preferredLanguage(header, fallback string) string {
	best, quality := fallback, -1.0
	refused := map[string]bool{}
	for entry := range strings.SplitSeq(header, ",") {
		tag, parameter, _ := strings.Cut(entry, ";")
		language, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		q, ok := parseQuality(parameter)
		if language == "*" {
			language = fallback
		}
		isBuiltIn := language == "en" || language == "zh"
		if !ok || !isBuiltIn {
			continue
		}
		if q == 0 {
			refused[language] = true
		} else if q > quality {
			best, quality = language, q
		}
	}
	if quality > 0 || !refused[fallback] {
		return best
	}
	if fallback == "en" {
		return "zh"
	}
	return "en"
}

// parseQuality reads the parameter of an entry: q=0.5, or nothing, which means 1. ok is false if it is neither.
// For example, the result for q=0.5 is 0.5.
func parseQuality(parameter string) (q float64, ok bool) {
	parameter = strings.TrimSpace(parameter)
	if parameter == "" {
		return 1, true
	}
	name, text, _ := strings.Cut(parameter, "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 0, false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return q, err == nil && q >= 0 && q <= 1
}
