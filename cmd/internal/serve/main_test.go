package serve

import (
	"os"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

var must, equal, wantErr = wardentest.Must, wardentest.Equal, wardentest.WantErr
