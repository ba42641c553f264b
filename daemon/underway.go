package daemon

import "sync"

// underway counts the hooks that have come in and are not applied yet, by the hash of their launch secret. It is
// safe for concurrent use.
type underway struct {
	mu    sync.Mutex
	hooks map[string]int
}

// begin counts a hook until the returned function is called.
func (u *underway) begin(launch string) (end func()) {
	if launch == "" {
		return func() {}
	}
	key := string(launchHash(launch))
	u.add(key, 1)
	return func() { u.add(key, -1) }
}

func (u *underway) add(key string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hooks == nil {
		u.hooks = map[string]int{}
	}
	if u.hooks[key] += n; u.hooks[key] == 0 {
		delete(u.hooks, key)
	}
}

// of reports whether a hook of an agent is being applied.
func (u *underway) of(a *Agent) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.hooks[string(a.LaunchHash)] > 0
}
