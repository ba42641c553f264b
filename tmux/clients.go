package tmux

import (
	"context"
	"fmt"
	"strings"
)

// SwitchClients has everybody who is attached to the session from look at the session to, so that
// a person who watches a program goes on watching the one that follows it. If one of them types, the
// window fits, as where they come from. It speaks to our own server. That nobody is attached is no error;
// that a session does not exist is one.
func (s *Server) SwitchClients(ctx context.Context, from, to string) error {
	for _, name := range []string{from, to} {
		if !sessionName().MatchString(name) {
			return fmt.Errorf("session %q is not a name of ours", name)
		}
	}
	out, err := s.run(ctx, call{socket: s.socket, cmds: [][]string{
		{"has-session", "-t", "=" + to},
		{"list-clients", "-t", "=" + from, "-F", "#{client_flags} #{client_name}"},
	}})
	if err != nil {
		return fmt.Errorf("clients of session %s: %w", from, err)
	}
	for line := range strings.Lines(out) {
		flags, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		cmds := [][]string{{"switch-client", "-c", name, "-t", "=" + to}}
		if typing, _ := clientRole(flags); typing {
			cmds = append(cmds, Fit("="+to+":")...)
		}
		if _, err := s.run(ctx, call{socket: s.socket, cmds: cmds}); err != nil {
			return fmt.Errorf("client %s of session %s: %w", name, from, err)
		}
	}
	return nil
}
