package intake

import (
	"path"
	"slices"
	"strings"
)

// escapes are the flags, by program, with which it runs another program, or obeys a text or a file as one; "=": what sets a variable, "*": all
// that it is given is a program. What an asterisk stands for must be none of them, so that go test * does not allow go test -exec sh. The
// list is a help against accidents: what a program runs of the agent's own files, no list knows.
var escapes = map[string]string{
	"cargo": "--config", "fd": "-x -X --exec --exec-batch", "find": "-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf",
	"git": "-c -O -u -x --config --config-env --exec --exec-path --ext-diff --extcmd --open-files-in-pager --receive-pack --template --textconv --tool --upload-pack",
	"go":  "-exec -toolexec -vettool -modfile -overlay -ldflags -gccgoflags", "make": "-f -C -I --eval --file --makefile --directory =",
	"node": "-e -p -r --eval --print --require --import --loader --experimental-loader", "npm": "-c --call --script-shell --node-options",
	"perl": "-e -E -M -I", "php": "-r -d", "python": "-c -m", "python3": "-c -m", "rg": "--pre --hostname-bin", "rsync": "-e --rsh --rsync-path",
	"ruby": "-e -r -I", "scp": "-o -F -S", "sort": "-o --compress-program --output",
	"tar": "-I -F --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script --rsh-command",
	"cat": "", "diff": "", "echo": "", "grep": "", "head": "", "ls": "", "tail": "", "wc": "",
	"awk": "*", "bash": "*", "command": "*", "dash": "*", "doas": "*", "env": "*", "eval": "*", "exec": "*", "gawk": "*", "nice": "*", "nohup": "*", "parallel": "*",
	"sed": "*", "sh": "*", "ssh": "*", "sudo": "*", "timeout": "*", "watch": "*", "xargs": "*", "zsh": "*",
}

// elsewhere are those of programs that are not in the list.
const elsewhere = "-exec -execdir -toolexec --checkpoint-action --command --compress-program --config-env --eval --exec --exec-batch --exec-path --init-command --init-file " +
	"--node-options --pre --rcfile --receive-pack --rsh --rsh-command --rsync-path --script-shell --to-command --upload-pack --use-compress-program"

// wordsOf splits a command into the words of a shell. The command has none of shellMeta. ok is false if a quote is not closed.
func wordsOf(command string) (words []string, ok bool) {
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			if begun {
				words = append(words, word.String())
			}
			begun = false
			word.Reset()
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, quote == 0
}

// coversCommand reports whether a pattern with an asterisk covers a command, word by word. In a word of the pattern, an asterisk stands for
// any characters; an asterisk at the end of the pattern stands for further words, too. What asterisks stand for must be none of the program's
// escapes.
func coversCommand(pattern, command string) bool {
	words, ok := wordsOf(command)
	patterns, whole := wordsOf(pattern)
	if !ok || !whole || len(words) == 0 || strings.ContainsAny(command, shellMeta) || strings.TrimSpace(command) != command {
		return false
	}
	open := strings.HasSuffix(pattern, "*") && !strings.HasSuffix(pattern, `\*`)
	if len(words) < len(patterns) || len(words) > len(patterns) && !open {
		return false
	}
	program := path.Base(words[0])
	for i, word := range words {
		switch {
		case i < len(patterns) && !matches(patterns[i], word, 0):
			return false
		case i < len(patterns) && exact(patterns[i]): // the rule itself says it
		case escaping(program, word, i == 1):
			return false
		}
	}
	return true
}

// escaping reports whether a word is one of the escapes of a program, or may become one: a file may have the name of a flag, and the shell
// completes names. Programs take the beginning of a long name for the name. first says that the word follows the program's name, where tar
// takes letters without a dash.
func escaping(program, word string, first bool) bool {
	list, known := escapes[program]
	if !known {
		list = elsewhere
	}
	own := strings.Fields(list)
	name, _, assigns := strings.Cut(strings.TrimLeft(word, "-"), "=")
	switch {
	case list == "*", strings.HasPrefix(word, "*"), strings.HasPrefix(word, "?"), strings.HasPrefix(word, "["):
		return true
	case !strings.HasPrefix(word, "-") && !(first && program == "tar"):
		return assigns && slices.Contains(own, "=")
	case strings.ContainsAny(name, "*?["):
		return true
	}
	return slices.ContainsFunc(own, func(flag string) bool {
		switch long := strings.TrimLeft(flag, "-"); {
		case len(long) > 1 && strings.HasPrefix(flag, "--"):
			return strings.HasPrefix(word, "--") && name != "" && strings.HasPrefix(long, name)
		case len(long) > 1: // of programs such as go and find, which take two dashes as well
			return long == name
		default: // one dash may hold several letters, as in tar -xIf
			return flag != "=" && !strings.HasPrefix(word, "--") && strings.Contains(name, long)
		}
	})
}
