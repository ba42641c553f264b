package handoffs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/data"
)

// TestExtractorCanBeReplaced: An extractor by a model takes the place of the headings. If it fails, the headings count, and a
// warning says so.
func TestExtractorCanBeReplaced(t *testing.T) {
	t.Parallel()
	const free = "I have mended the roof.\n"
	found := "The roof."
	for name, c := range map[string]struct {
		document string
		extract  func(context.Context, string) (daemon.Structured, bool, error)
		want     string
		warning  string
	}{
		"found in a free text": {free, func(_ context.Context, document string) (daemon.Structured, bool, error) {
			return daemon.Structured{WhatWasDone: &found}, document == free, nil
		}, found, ""},
		"failed": {"## What Was Done\n\nTiles.\n", func(context.Context, string) (daemon.Structured, bool, error) {
			return daemon.Structured{}, false, errors.New("the model is away")
		}, "Tiles.", "because the extractor failed: the model is away."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &assembly{d: testFlow(engine.Config{Extract: c.extract}), Doc: data.Document{Bytes: []byte(c.document)}}
			s.extractFields(t.Context())
			if s.out.Structured == nil || *s.out.Structured.WhatWasDone != c.want {
				t.Errorf("fields %+v, want %q", s.out.Structured, c.want)
			}
			if said := strings.Join(s.out.Warnings, " "); c.warning == "" && said != "" || !strings.Contains(said, c.warning) {
				t.Errorf("warnings %q, want %q", said, c.warning)
			}
		})
	}
}
