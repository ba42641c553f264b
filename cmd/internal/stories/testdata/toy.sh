#!/bin/sh
# A CLI that understudy does not know: it reads a line, answers, and writes the document that a handoff asks for.
printf 'toy 1\n\n'
while printf 'toy> ' && IFS= read -r line; do
	path=$(printf '%s\n' "$line" | grep -o '/[^ ]*/handoffs/[^ ]*\.md' | head -n 1)
	case $line in
	exit) exit 0 ;;
	*'you take over from'*) printf 'I go on.\n' ;;
	*understudy:*) if [ -n "$path" ] && [ ! -e "$path" ]; then
		printf '# Summary\n\nThe toy was asked things.\n\n# Pending\n\nNothing.\n' >"$path"
		printf 'The document is written.\n'
	else printf 'I have read that.\n'; fi ;;
	*) printf 'ok: %s\n' "$line" ;;
	esac
done
