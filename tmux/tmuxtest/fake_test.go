package tmuxtest

import "testing"

func TestFakeConforms(t *testing.T) {
	t.Parallel()
	Conformance(t, func(*testing.T) Terminal { return NewFake() })
}
