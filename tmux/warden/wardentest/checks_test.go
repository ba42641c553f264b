package wardentest

import (
	"fmt"
	"io"
	"testing"
)

// noted is a test that only notes whether it has failed.
type noted struct {
	testing.TB
	failed bool
}

func (*noted) Helper()                 {}
func (n *noted) Errorf(string, ...any) { n.failed = true }
func (n *noted) Fatal(...any)          { n.failed = true }

// TestChecksFail: a check that could not fail would make its tests worth nothing.
func TestChecksFail(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("the file: %w", io.EOF)
	for i, c := range []struct {
		check func(t testing.TB)
		fails bool
	}{
		{func(t testing.TB) { Must(t, nil) }, false},
		{func(t testing.TB) { Must(t, err) }, true},
		{func(t testing.TB) { Value(1, err)(t) }, true},
		{func(t testing.TB) { WantErr(t, "any", err) }, false},
		{func(t testing.TB) { WantErr(t, "none", nil) }, true},
		{func(t testing.TB) { WantErr(t, "none", nil, "") }, true},
		{func(t testing.TB) { WantErr(t, "both", err, io.EOF, "the file") }, false},
		{func(t testing.TB) { WantErr(t, "another", err, "the file", io.ErrUnexpectedEOF) }, true},
		{func(t testing.TB) { WantErr(t, "another text", err, io.EOF, "a folder") }, true},
		{func(t testing.TB) { WantErr(t, "a want that is neither", err, 7) }, true},
		{func(t testing.TB) { Failed(1, nil)(t, "none") }, true},
		{func(t testing.TB) { Equal(t, "types", 1, int64(1)) }, true},
		{func(t testing.TB) { Holds(t, "all", "abc", "a", "c") }, false},
		{func(t testing.TB) { Holds(t, "not all", "abc", "a", "d") }, true},
	} {
		n := &noted{}
		if c.check(n); n.failed != c.fails {
			t.Errorf("check %d: failed %t, want %t", i, n.failed, c.fails)
		}
	}
}
