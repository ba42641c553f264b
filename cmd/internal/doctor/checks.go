package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/desktop"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/personas"
)

// CheckShared tries a write to a shared database.
func CheckShared(ctx context.Context, url string) Finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := db.Probe(ctx, url); err != nil {
		return Finding{Name: "PostgreSQL", State: FindingMissing, Detail: cli.Sentence(err), Fix: "mend that, or correct database_url"}
	}
	return OK("PostgreSQL", "a shared one, by database_url; it takes writes")
}

// CheckData looks at the data directory, or at the folder in which it would be made.
func CheckData(root string, private bool) Finding {
	name := "data directory"
	bad := func(format string, args ...any) Finding {
		return Finding{Name: name, State: FindingMissing, Detail: fmt.Sprintf(format, args...), Fix: "choose another with --data or UNDERSTUDY_DATA"}
	}
	if longest := len(root) + LongestSocket; longest > 103 {
		return bad("the path of %s is %d bytes too long for the sockets in it", root, longest-103)
	}
	there := root
	for {
		info, err := os.Stat(there)
		if err == nil && !info.IsDir() {
			return bad("%s is not a folder", there)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return bad("%s", cli.Sentence(err))
		}
		there = filepath.Dir(there)
	}
	if private && os.Geteuid() == 0 && !Passable(there) {
		return bad("PostgreSQL refuses root, and the account that it gets cannot pass through %s", there)
	}
	if there != root {
		return OK(name, "%s, made when the daemon first starts", root)
	}
	return OK(name, "%s", root)
}

func CheckNotifications(s serve.Settings, getenv func(string) string) Finding {
	if !s.Notify.Desktop {
		return OK("notifications", "off by notify.desktop: alerts are in the log")
	}
	if why := desktop.New(true, getenv, "").Absent(); why != "" {
		return Finding{Name: "notifications", State: FindingWarning, Detail: why + "; alerts are in the log", Fix: "run the daemon in your desktop session"}
	}
	return OK("notifications", "on the desktop")
}

// CheckTemplates looks for templates that can't be used.
func CheckTemplates(root string) Finding {
	f := Finding{Name: "templates", State: FindingWarning, Fix: "correct it"}
	templates, err := personas.OpenTemplates(filepath.Join(root, "pipelines"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return OK(f.Name, "they come when the daemon first starts")
	case err != nil:
		f.Detail = cli.Sentence(err)
		return f
	}
	var broken []string
	for _, t := range templates.List() {
		if t.Problem != "" {
			broken = append(broken, show.ProblemIn(t.File, t.Problem))
		}
	}
	switch len(broken) {
	case 0:
		return OK(f.Name, "%s for `understudy pipeline run`", words.Count(len(templates.List()), "template"))
	case 1:
	default:
		f.Fix = "correct them"
	}
	f.Detail = strings.Join(broken, "; ")
	return f
}

// LongestSocket is what the paths of the sockets in a data directory may add to its own.
const LongestSocket = len("/d/postgres/sock/.s.PGSQL.5432.lock")

// Passable reports whether every account may pass through a folder and those above it.
func Passable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}
