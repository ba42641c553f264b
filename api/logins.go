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
	loginIdle = 24 * time.Hour      // a login ends if it is not used for this time
	loginLife = 30 * 24 * time.Hour // a login ends after this time even if it is used
	// loginSaved limits how often use writes the file. A login's used_at in the file may be too old by this time.
	loginSaved = 10 * time.Minute
)

var errNoLogin = daemon.Errorf(daemon.KindNotFound, codeLoginNotFound,
	"No browser is signed in under this id; `understudy dashboard --logins` lists those that are")

// Login is one browser that is signed in to the dashboard.
type Login struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at"`
	ExpiresAt time.Time `json:"expires_at"` // each use before this time makes it later
	Browser   string    `json:"browser"`    // a name for people
	From      string    `json:"from"`       // the address from which it signed in; "": an earlier release did not keep it
}

// login is a Login with a context that ends when the login ends.
type login struct {
	Login
	ctx context.Context
	end context.CancelFunc
}

// logins are the browsers that are signed in. It keeps them in a file, without their keys, so that they stay signed in
// after a restart of the daemon, even while the database does not answer. logins is safe for concurrent use.
type logins struct {
	path string // path of the file; "": the logins are only in memory

	// writing is held while the file is written. A call that only reads the logins does not take it.
	writing sync.Mutex

	mu    sync.Mutex
	byID  map[string]*login
	saved time.Time // when the file was last written
}

// openLogins reads the file. If the file does not exist, there are no logins. If it returns an error, it also returns
// logins without entries, which can be used.
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

// enter adds a login in memory. The caller holds mu, unless no other goroutine has l yet.
func (l *logins) enter(in Login) {
	ctx, end := context.WithCancel(context.Background())
	l.byID[in.ID] = &login{Login: in, ctx: ctx, end: end}
}

// add signs a browser in.
func (l *logins) add(userAgent, from string, now time.Time) (id string, err error) {
	id = strings.ToLower(rand.Text()[:10])
	l.mu.Lock()
	l.enter(Login{ID: id, CreatedAt: now.UTC(), UsedAt: now.UTC(), ExpiresAt: now.UTC().Add(loginIdle), Browser: browserName(userAgent), From: from})
	l.mu.Unlock()
	return id, l.save(now)
}

// use returns the login with that id if it has not ended, and stores the time of this use.
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
		l.saved = now // set it before the file is written, so that other calls do not write the file as well
	}
	l.mu.Unlock()
	if save {
		err = l.save(now)
	}
	return used, err
}

// known returns the login with that id if it has not ended. It does not count as a use.
func (l *logins) known(id string, now time.Time) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.byID[id]; found != nil && now.Before(found.ExpiresAt) {
		return found
	}
	return nil
}

// list returns the logins that have not ended, the newest first.
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

// revoke ends logins, and the answers that the daemon is sending to their browsers. If it returns an error, it could not
// write the file, so the logins may be valid again after a restart of the daemon.
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

// save writes the logins that have not ended to the file.
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

// browserMarks matches the names and versions of browsers in a User-Agent header. One header may have several names, because
// some browsers also name others: Edge and Opera name Chrome. browserName tries the names in a fixed order.
var browserMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(Edg|OPR|Firefox|Chrome|Chromium|Version)/(\d+)`)
})

// browserName returns a name for people of the browser that sends this User-Agent header.
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
