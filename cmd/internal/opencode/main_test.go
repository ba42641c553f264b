package opencode

import (
	"os"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

var must, equal, wantErr = wardentest.Must, wardentest.Equal, wardentest.WantErr

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }
