package git

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/words"
)

// beginning is where a new branch begins.
type beginning struct {
	branch   string
	commit   string
	base     string // the branch into which it can be merged; "": not known
	upstream string // the remote's branch that it follows, in full; "": none
}

// beginning finds out where a new branch begins. from is what a person has named; "": nothing. A branch that exactly one remote has begins
// there and follows it, as with `git worktree add`; another one begins at HEAD.
func (r repository) beginning(ctx context.Context, branch, from string) (b beginning, err error) {
	b.branch = branch
	if strings.HasPrefix(from, "-") || strings.ContainsFunc(from, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return b, r.noCommit(from)
	}
	remote, err := r.atRemotes(ctx, branch)
	if err != nil {
		return b, err
	}
	name := from
	switch {
	case from != "":
		if is, err := r.commitOf(ctx, "refs/heads/"+from); err != nil {
			return b, err
		} else if is != "" {
			b.base = from
		}
	case len(remote) > 1:
		return b, several(branch, remote)
	case len(remote) == 0:
		if err := r.nameless(ctx, branch); err != nil {
			return b, err
		}
		fallthrough
	default:
		if b.base, err = r.headBranch(ctx); err != nil {
			return b, err
		}
		if name = "HEAD"; len(remote) == 1 {
			name = remote[0]
		}
	}
	if b.commit, err = r.commitOf(ctx, name); err != nil {
		return b, err
	}
	if b.commit == "" {
		return b, r.noCommit(from)
	}
	for _, ref := range remote { // a person may have named it, or its commit is what Plan has found
		if at, err := r.commitOf(ctx, ref); err != nil {
			return b, err
		} else if at == b.commit && b.base == "" || ref == name {
			b.upstream = ref
			break
		}
	}
	if b.upstream != "" && b.base == "" {
		b.base, err = r.headBranch(ctx)
	}
	return b, err
}

// nameless refuses a branch that is to be made under the name of something else, because a person who gives that name means it: a tag, a
// remote's branch, or a commit.
func (r repository) nameless(ctx context.Context, branch string) error {
	const example = "give the new branch another name, and begin it there, for example --worktree=NAME --base %[1]s"
	_, short, _ := strings.Cut(branch, "/")
	for _, other := range []struct{ ref, means string }{
		{"refs/tags/" + branch, "a tag of that name: " + example},
		{"refs/remotes/" + branch, "the remote's branch %[1]s: leave out the remote (--worktree=%[2]s), or " + example},
		{branch, "a commit that git calls so: " + example},
	} {
		if other.ref == branch && !strings.HasPrefix(branch, "refs/") && !fullHash().MatchString(branch) {
			continue // an abbreviation may be a word
		}
		if at, err := r.commitOf(ctx, other.ref); err != nil {
			return err
		} else if at != "" {
			return fmt.Errorf("there is no branch %s here, but "+other.means, branch, short)
		}
	}
	return nil
}

// fullHash matches the id of an object, so that nothing else that was recorded gets into a command line.
var fullHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`) })

// several returns the error that more than one remote has a branch.
func several(branch string, refs []string) error {
	var short []string
	for _, ref := range refs {
		short = append(short, strings.TrimPrefix(ref, "refs/remotes/"))
	}
	return fmt.Errorf("there is no branch %s here, but more than one remote has it (%s): name the one at which it begins, for example --base %s, or set checkout.defaultRemote",
		branch, words.List(short, len(short)), short[0])
}

// atRemotes returns the references under which the repository keeps the remotes' branches of a name. If the setting checkout.defaultRemote
// names a remote that has the branch, it returns that one alone.
func (r repository) atRemotes(ctx context.Context, branch string) (refs []string, err error) {
	settings := map[string][]string{}
	stderr, exit, err := r.run(ctx, &records{do: func(record string) {
		key, value, _ := strings.Cut(record, "\n")
		settings[key] = append(settings[key], value)
	}}, "config", "--includes", "-z", "--get-regexp", `^(remote\..*\.fetch|checkout\.defaultremote)$`)
	if err == nil && exit > 1 {
		err = r.refused("config", stderr, exit)
	}
	if err != nil {
		return nil, err
	}
	preferred := ""
	if all := settings["checkout.defaultremote"]; len(all) > 0 {
		preferred = "remote." + all[len(all)-1] + ".fetch"
	}
	for key, specs := range settings {
		for _, spec := range specs {
			ref := mapped(spec, "refs/heads/"+branch)
			if ref == "" || !strings.HasPrefix(ref, "refs/remotes/") {
				continue
			}
			at, err := r.commitOf(ctx, ref)
			switch {
			case err != nil:
				return nil, err
			case at == "":
			case key == preferred:
				return []string{ref}, nil
			default:
				refs = append(refs, ref)
			}
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs), nil
}

// mapped returns the reference under which a fetch keeps a remote's ref; "": it does not fetch that. spec is like
// +refs/heads/*:refs/remotes/origin/*.
func mapped(spec, ref string) string {
	from, to, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	if !ok || strings.HasPrefix(spec, "^") {
		return ""
	}
	before, after, pattern := strings.Cut(from, "*")
	if !pattern {
		if from == ref {
			return to
		}
		return ""
	}
	rest, begins := strings.CutPrefix(ref, before)
	middle, ends := strings.CutSuffix(rest, after)
	if !begins || !ends {
		return ""
	}
	return strings.Replace(to, "*", middle, 1)
}
