package commands

import (
	"os"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // what commands print for people is in local time
	os.Exit(wardentest.Run(m.Run))
}

var must, equal, wantErr, holds = wardentest.Must, wardentest.Equal, wardentest.WantErr, wardentest.Holds

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }
