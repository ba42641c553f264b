package tmux_test

import (
	"testing"

	"github.com/understudyd/understudy/tmux/tmuxtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	tmuxtest.Conformance(t, func(t *testing.T) tmuxtest.Terminal { return tmuxtest.Server(t) })
}
