package tmux_test

import (
	"slices"
	"testing"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestBindings: a key is bound, found again as it was given, and unbound, also one that tmux's parser takes for something else.
func TestBindings(t *testing.T) {
	t.Parallel()
	server := tmuxtest.Server(t)
	ctx := t.Context()
	value(server.Version(ctx))(t)
	for _, key := range []string{"u", "C-u", ";", "-", `\`, "M-Up"} {
		if err := server.Unbind(ctx, key); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if got, err := server.Bound(ctx, key); got != "" || err != nil {
			t.Fatalf("%s is bound to %q, %v", key, got, err)
		}
		if err := server.Bind(ctx, key, "display-message", "it's #{me}"); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		const want = `display-message "it's #{me}"`
		equal(t, key+" is bound to", value(server.Bound(ctx, key))(t), want)
		all, err := server.Bindings(ctx)
		if !slices.Contains(all, tmux.Binding{Key: key, Command: want}) || err != nil {
			t.Errorf("%s is not among the %d bindings, %v", key, len(all), err)
		}
	}
	failed(server.Bound(ctx, "nosuch"))(t, "nosuch", tmux.ErrBadKey)
}
