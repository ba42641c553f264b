package git

import (
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// repo is a git repository of a test.
type repo struct{ cmdtest.Repo }

func newRepo(t testing.TB) repo { return repo{cmdtest.NewRepo(t)} }

// repoAt is a folder, in which there may be a repository.
func repoAt(t testing.TB, dir string) repo { return repo{cmdtest.RepoAt(t, dir)} }
