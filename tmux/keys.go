package tmux

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// ErrBadKey means that tmux knows no key of that name.
var ErrBadKey = errors.New("tmux knows no such key: write it as in ~/.tmux.conf, for example u, C-u or M-u")

// Binding is a key of tmux's prefix table and its command, as tmux writes it.
type Binding struct{ Key, Command string }

// Version returns the version of the server, such as "3.3a". The error is ErrTooOld if the server is older than this package
// supports: it may run since before the command was upgraded.
func (s *Server) Version(ctx context.Context) (string, error) {
	out, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{{"display-message", "-p", "#{version}"}}})
	version := strings.TrimSpace(out)
	if err == nil && tooOld(version) {
		err = fmt.Errorf("the tmux server is version %s: %w", version, ErrTooOld)
	}
	return version, err
}

// Bound returns what a key does after the prefix key; "": nothing.
func (s *Server) Bound(ctx context.Context, key string) (command string, err error) {
	out, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{{"list-keys", "-T", "prefix", "--", key}}})
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "unknown key"):
		return "", nil
	case strings.Contains(err.Error(), "invalid key"):
		return "", ErrBadKey
	default:
		return "", err
	}
	for _, b := range bindings(out) {
		command = b.Command
	}
	return command, nil
}

// Bindings returns what keys do after the prefix key.
func (s *Server) Bindings(ctx context.Context) ([]Binding, error) {
	out, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{{"list-keys", "-T", "prefix"}}})
	return bindings(out), err
}

// Bind lets a key run a command of tmux after the prefix key, until the server ends.
func (s *Server) Bind(ctx context.Context, key string, command ...string) error {
	_, err := s.run(ctx, call{socket: s.socket, cmds: [][]string{append([]string{"bind-key", "-T", "prefix", "--", key}, command...)}})
	return err
}

// Unbind lets a key do nothing after the prefix key.
func (s *Server) Unbind(ctx context.Context, key string) error {
	_, err := s.run(ctx, call{socket: s.socket, cmds: [][]string{{"unbind-key", "-T", "prefix", "--", key}}})
	return err
}

var bindingLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^bind-key +(?:-r +)?-T prefix +(\S+) +(.*)$`)
})

// bindings parses the output of list-keys. tmux puts a backslash before a key that its parser would take for something else.
func bindings(out string) (all []Binding) {
	for _, m := range bindingLine().FindAllStringSubmatch(out, -1) {
		key := m[1]
		if len(key) == 2 {
			key = strings.TrimPrefix(key, `\`)
		}
		all = append(all, Binding{key, m[2]})
	}
	return all
}
