package commands

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
)

// completionCommand replaces the completion command of the library cobra.
func completionCommand(a *cli.App) *cobra.Command {
	shell := func(name, install string, script func(root *cobra.Command, out io.Writer) error) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: "Print the completion script for " + name, Example: install,
			ValidArgsFunction: cobra.NoFileCompletions,
			RunE:              func(c *cobra.Command, _ []string) error { return script(c.Root(), a.Stdout) },
		}
	}
	c := cli.Group("completion", "Print the script with which a shell completes commands, ids and slugs",
		shell("bash", `  source <(understudy completion bash)         # in this shell; in ~/.bashrc: in each
  understudy completion bash > ~/.local/share/bash-completion/completions/understudy`, bashScript),
		shell("zsh", `  source <(understudy completion zsh)          # in ~/.zshrc, after compinit
  understudy completion zsh > "${fpath[1]}/_understudy"`, (*cobra.Command).GenZshCompletion),
		shell("fish", "  understudy completion fish > ~/.config/fish/completions/understudy.fish", func(root *cobra.Command, out io.Writer) error {
			return root.GenFishCompletion(out, true)
		}))
	c.Long = `Print the script with which a shell completes commands, flags and what the daemon knows: ids of
agents, handoffs and pipelines, slugs of personas, names of templates. While the daemon does not
run, the shell completes commands and flags alone.`
	return c
}

// bashWords finds the words of the command line. bash ends a word at = and :, but our words may hold these characters.
// The library's script calls the package bash-completion for that, which is not installed on every machine.
const bashWords = `if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local i word line=$COMP_LINE
    words=() cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        # A part that follows without a blank belongs to the word before it.
        if ((i > 0)) && [[ $line != [[:space:]]* && -n $word && ($word == [=:]* || ${COMP_WORDS[i-1]} == *[=:]) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
        ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
    done
    cur=${words[cword]} prev=
    ((cword > 0)) && prev=${words[cword-1]}
    return 0`

func bashScript(root *cobra.Command, out io.Writer) error {
	const theirs = `_get_comp_words_by_ref "$@" cur prev words cword`
	var b bytes.Buffer
	if err := root.GenBashCompletionV2(&b, true); err != nil {
		return err
	}
	if strings.Count(b.String(), theirs) != 1 {
		return errors.New("completion: the library writes another script than before")
	}
	_, err := io.WriteString(out, strings.Replace(b.String(), theirs, bashWords, 1))
	return err
}
