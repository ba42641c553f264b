package intake

import (
	"path"
	"slices"
	"strings"
)

// escapes are the flags, by program, with which it runs another program, or obeys a text or a file as one; "=": what sets a variable. What an
// asterisk stands for must be none of them, so that go test * does not allow go test -exec sh. The list is a help against accidents: a program
// that runs what it is given, such as xargs or npm run, has no safe rule with an asterisk.
var escapes = map[string]string{
	"awk": "-e -f -i -l --exec --file --include --load --source", "cargo": "--config", "fd": "-x -X --exec --exec-batch",
	"find": "-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf",
	"git":  "-c -O -x --config-env --exec --exec-path --ext-diff --extcmd --open-files-in-pager --receive-pack --textconv --tool --upload-pack",
	"go":   "-exec -toolexec -vettool -modfile -overlay", "make": "-f -C -I --eval --file --makefile --directory =",
	"node": "-e -p -r --eval --print --require --import --loader --experimental-loader", "npm": "-c --call --script-shell --node-options",
	"perl": "-e -E -M -I", "php": "-r -d", "python": "-c -m", "python3": "-c -m", "rg": "--pre --hostname-bin", "rsync": "-e --rsh --rsync-path",
	"ruby": "-e -r -I", "sed": "-e -f -i --expression --file", "sh": "-c -s", "bash": "-c -s --rcfile --init-file", "zsh": "-c -s",
	"sort": "-o --compress-program --output", "ssh": "-o -F -S -D -L -R -W", "scp": "-o -F -S", "tar": "-I -F --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script --rsh-command",
}

// longEscapes are those of two letters and more of all programs, without their dashes: another program may have them, too.
var longEscapes = func() map[string]bool {
	all := map[string]bool{}
	for _, flags := range escapes {
		for flag := range strings.FieldsSeq(flags) {
			if name := strings.TrimLeft(flag, "-"); len(name) > 1 {
				all[name] = true
			}
		}
	}
	return all
}()

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
	if !ok || len(words) == 0 || strings.ContainsAny(command, shellMeta) || strings.TrimSpace(command) != command {
		return false
	}
	patterns := strings.Fields(pattern)
	program := path.Base(words[0])
	open := strings.HasSuffix(pattern, "*")
	if len(words) < len(patterns) || len(words) > len(patterns) && !open {
		return false
	}
	for i, word := range words {
		switch {
		case i < len(patterns) && !matches(patterns[i], word, 0):
			return false
		case i < len(patterns) && exact(patterns[i]): // the rule itself says it
		case escaping(program, word):
			return false
		}
	}
	return true
}

// escaping reports whether a word is one of the escapes of a program, or may become one: a file may have the name of a flag, and the shell
// completes names.
func escaping(program, word string) bool {
	own := strings.Fields(escapes[program])
	name, _, assigns := strings.Cut(strings.TrimLeft(word, "-"), "=")
	switch {
	case strings.HasPrefix(word, "*"), strings.HasPrefix(word, "?"), strings.HasPrefix(word, "["):
		return true
	case !strings.HasPrefix(word, "-"):
		return assigns && slices.Contains(own, "=")
	case strings.ContainsAny(name, "*?["), longEscapes[name]:
		return true
	}
	// One dash may hold several letters, as in tar -xIf.
	return !strings.HasPrefix(word, "--") && slices.ContainsFunc(own, func(flag string) bool {
		return len(flag) == 2 && strings.Contains(name, flag[1:])
	})
}
