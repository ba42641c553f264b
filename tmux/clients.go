package tmux

import (
	"context"
	"fmt"
	"strings"
)

// SwitchClients moves all clients that are attached to the session from to the session to, so that a person who
// watches an agent then watches its successor. If it moves a client that types, the window of to follows that client;
// see [Fit]. SwitchClients acts on our own server. If no client is attached, it returns nil. If a session does not
// exist, it returns an error.
func (s *Server) SwitchClients(ctx context.Context, from, to string) error {
	for _, name := range []string{from, to} {
		if !sessionName().MatchString(name) {
			return fmt.Errorf("session name %q is not valid", name)
		}
	}
	out, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{
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
