package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

const (
	loginIdle = 24 * time.Hour      // a login that nobody uses for so long has ended
	loginLife = 30 * 24 * time.Hour // a login ends then, used or not
	// loginSaved is how old the use of a login may be in the file.
	loginSaved = 10 * time.Minute
)

var errNoLogin = daemon.Errorf(daemon.KindNotFound, "login_not_found",
	"No browser is signed in under this id; `understudy dashboard --logins` lists those that are")

// Login is one browser that is signed in to the dashboard.
type Login struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at"`
	ExpiresAt time.Time `json:"expires_at"` // unless it is used before
	Browser   string    `json:"browser"`    // as people call it
}

// login is one of [logins]. Its context ends with it.
type login struct {
	Login
	ctx context.Context
	end context.CancelFunc
}

// logins are the browsers that are signed in. A file keeps them, without their keys, so that they outlive the
// daemon's restarts even while the database is away. It is safe for concurrent use.
type logins struct {
	path string // of the file; empty: they are kept in memory alone

	// writing is held while the file is written, and never by who only looks.
	writing sync.Mutex

	mu    sync.Mutex
	byID  map[string]*login
	saved time.Time // when the file was last written
}

// openLogins reads the file of those that are signed in; none need be there. With an error it returns none.
func openLogins(path string, now time.Time) (*logins, error) {
	l := &logins{path: path, byID: map[string]*login{}, saved: now}
	if path == "" {
		return l, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	var kept []Login
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		return l, fmt.Errorf("logins in %s: %w", path, err)
	}
	for _, k := range kept {
		l.enter(k)
	}
	return l, nil
}

// enter adds a login to those in memory. The caller holds mu, or is alone.
func (l *logins) enter(in Login) {
	ctx, end := context.WithCancel(context.Background())
	l.byID[in.ID] = &login{Login: in, ctx: ctx, end: end}
}

// add signs a browser in.
func (l *logins) add(userAgent string, now time.Time) (id string, err error) {
	id = strings.ToLower(rand.Text()[:10])
	l.mu.Lock()
	l.enter(Login{ID: id, CreatedAt: now.UTC(), UsedAt: now.UTC(), ExpiresAt: now.UTC().Add(loginIdle), Browser: browserName(userAgent)})
	l.mu.Unlock()
	return id, l.save(now)
}

// use returns the login with that id, if it has not ended, and notes that it is used.
func (l *logins) use(id string, now time.Time) (used *login, err error) {
	l.mu.Lock()
	used = l.byID[id]
	if used == nil || !now.Before(used.ExpiresAt) {
		l.mu.Unlock()
		return nil, nil
	}
	used.UsedAt, used.ExpiresAt = now.UTC(), now.UTC().Add(loginIdle)
	if last := used.CreatedAt.Add(loginLife); last.Before(used.ExpiresAt) {
		used.ExpiresAt = last
	}
	save := now.Sub(l.saved) > loginSaved
	if save {
		l.saved = now // whoever comes meanwhile need not
	}
	l.mu.Unlock()
	if save {
		err = l.save(now)
	}
	return used, err
}

// known returns the login with that id, if it has not ended.
func (l *logins) known(id string, now time.Time) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.byID[id]; found != nil && now.Before(found.ExpiresAt) {
		return found
	}
	return nil
}

// list returns those that are signed in, the newest first.
func (l *logins) list(now time.Time) []Login {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Login
	for one := range maps.Values(l.byID) {
		if now.Before(one.ExpiresAt) {
			out = append(out, one.Login)
		}
	}
	slices.SortFunc(out, func(a, b Login) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

// revoke ends logins, and what is being answered to them. An error says that they may come back when the
// daemon is started again.
func (l *logins) revoke(now time.Time, ids ...string) error {
	l.mu.Lock()
	for _, id := range ids {
		if one := l.byID[id]; one != nil {
			one.end()
			delete(l.byID, id)
		}
	}
	l.mu.Unlock()
	if err := l.save(now); err != nil {
		return fmt.Errorf("signed out until the daemon is started again: %w", err)
	}
	return nil
}

// save writes the file, without those that have ended.
func (l *logins) save(now time.Time) error {
	if l.path == "" {
		return nil
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	for id, one := range l.byID {
		if !now.Before(one.ExpiresAt) {
			one.end()
			delete(l.byID, id)
		}
	}
	l.saved = now
	l.mu.Unlock()
	b, err := json.MarshalIndent(l.list(now), "", "  ")
	if err == nil {
		err = data.WriteFile(l.path, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("logins in %s: %w", l.path, err)
	}
	return nil
}

// browserMarks matches what people call a browser in its User-Agent header: those that came later name the ones
// before as well.
var browserMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(Edg|OPR|Firefox|Chrome|Chromium|Version)/(\d+)`)
})

// browserName is what people call the browser that sends a User-Agent header.
func browserName(header string) string {
	found := map[string]string{}
	for _, m := range browserMarks().FindAllStringSubmatch(header, -1) {
		found[m[1]] = m[2]
	}
	for _, one := range []struct{ mark, name string }{
		{"Edg", "Edge"}, {"OPR", "Opera"}, {"Firefox", "Firefox"}, {"Chromium", "Chromium"}, {"Chrome", "Chrome"}, {"Version", "Safari"},
	} {
		if version, ok := found[one.mark]; ok {
			return one.name + " " + version
		}
	}
	return "another browser"
}
