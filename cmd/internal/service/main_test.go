package service

import (
	"os"
	"testing"

	"github.com/understudyd/understudy/db/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }
