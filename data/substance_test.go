package data

import (
	"errors"
	"testing"
)

func TestSubstance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		document string
		want     Substance
	}{
		"nothing":            {"", Substance{}},
		"headings alone":     {"# Handoff\n\n## What Was Done\n\n## Next Agent Context\n", Substance{0, 3}},
		"words":              {"# Handoff\n\nI can't see `cmd/main.go`, or state-of-the-art: 3.\n", Substance{7, 1}},
		"signs":              {"# Handoff\n\n- … — *\n\n---\n", Substance{0, 1}},
		"a comment":          {"# Handoff\n\n<!-- say what\nwas done -->two words<!-- open\n", Substance{2, 1}},
		"no blanks":          {"# 引き継ぎ\n\n柵を直した。\n", Substance{5, 1}},
		"before the heading": {"Here it is.\n\n# Handoff\n\nDone.\n", Substance{4, 1}},
		"a fence":            {"# Handoff\n\n```sh\n# no heading\n```\n", Substance{3, 1}},
	} {
		equal(t, name, SubstanceOf(c.document), c.want)
	}
}

func TestCheckSubstance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		document string
		least    int
		ok       bool
	}{
		"enough":          {"# Handoff\n\none two three\n", 3, true},
		"too few":         {"# Handoff\n\none two three\n", 4, false},
		"no heading":      {"one two three\n", 3, false},
		"may say nothing": {"", 0, true},
	} {
		err := CheckSubstance(Document{Path: "x.md", Bytes: []byte(c.document)}, c.least)
		bad, refused := errors.AsType[*DocumentError](err)
		if (err == nil) != c.ok || refused && bad.Code != DocumentSaysNothing {
			t.Errorf("%s: %v", name, err)
		}
	}
}
