package service

import (
	"os"
	"testing"

	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

var must, equal = wardentest.Must, wardentest.Equal
