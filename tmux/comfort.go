package tmux

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// comforts are the options of our own server that serve the people who attach. tmux's own defaults date from slow terminals: Esc takes
// half a second, and no program hears of the focus. With -q tmux passes over an option that its version does not know.
//
// allow-passthrough stays off: with it, what an agent prints could steer the terminal of whoever is attached.
var comforts = [][]string{
	{"set-option", "-sq", "escape-time", "10"},             // Esc alone; over ssh the bytes of a key come together
	{"set-option", "-sq", "focus-events", "on"},            // CLIs notify only while nobody looks
	{"set-option", "-sq", "extended-keys", "on"},           // Shift and Enter, for programs that ask for it
	{"set-option", "-sq", "extended-keys-format", "csi-u"}, // tmux 3.5
	{"set-option", "-sq", "set-clipboard", "on"},           // OSC 52: a CLI copies into the terminal's clipboard, and cannot read it
	{"set-option", "-gq", "history-limit", "10000"},        // about 1 kB a line, as lines come
	{"set-option", "-sq", "terminal-features[100]", "xterm*:clipboard:extkeys:focus:hyperlinks:RGB:strikethrough:usstyle"},
	{"set-option", "-sq", "terminal-features[101]", "*ghostty*:clipboard:ccolour:cstyle:extkeys:focus:hyperlinks:RGB:strikethrough:title:usstyle"},
	{"set-option", "-sq", "terminal-features[102]", "*kitty*:clipboard:ccolour:cstyle:extkeys:focus:hyperlinks:RGB:strikethrough:title:usstyle"},
	{"set-option", "-sq", "terminal-features[103]", "alacritty*:clipboard:ccolour:cstyle:extkeys:focus:hyperlinks:RGB:strikethrough:title:usstyle"},
	{"set-option", "-sq", "terminal-features[104]", "foot*:clipboard:ccolour:cstyle:extkeys:focus:hyperlinks:RGB:strikethrough:title:usstyle"},
	{"set-option", "-sq", "terminal-features[105]", "tmux*:clipboard:ccolour:cstyle:extkeys:focus:hyperlinks:RGB:strikethrough:title:usstyle"},
}

// include reads the user's own file of tmux commands into our own server, and then sets in the same list what the daemon needs: with
// exit-empty on in the file, a server without sessions would end in between. What tmux says about the file is returned as an error.
func (s *Server) include(ctx context.Context, path string) error {
	out, err := s.run(ctx, call{socket: s.socket, cmds: slices.Concat([][]string{{"source-file", "--", path}}, startup[1:])})
	if said := strings.TrimSpace(out); err == nil && said != "" {
		err = complaint(said)
	}
	if err != nil {
		return fmt.Errorf("tmux.include: %w: the agents run without what stands behind the mistake; put %s right and read it again "+
			"(tmux -S %s source-file %[2]s), or take tmux.include out of config.yaml", err, path, s.socket)
	}
	return nil
}
