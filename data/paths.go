package data

import (
	"path"
	"strings"
	"unicode"
)

// maxPath is the length of the longest path that counts as one, in bytes.
const maxPath = 1024

// set makes a set of the words of a text.
func set(text string) map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(text) {
		m[word] = true
	}
	return m
}

var (
	// extensions are those by which a bare word such as main.go is known as a file. Those that
	// code uses behind a dot as well (console.log, process.env, mutex.lock) are not among them.
	extensions = set(`go c h cc cpp cxx hh hpp rs py pyi ipynb js mjs cjs jsx ts mts cts tsx vue svelte java kt kts
		scala swift rb php pl lua ex exs erl hs ml cs vb dart zig nim jl sh bash zsh fish ps1 bat sql md mdx markdown
		rst txt adoc tex html htm css scss sass xml svg json jsonc json5 jsonl ndjson yaml yml toml ini cfg conf csv
		tsv proto graphql gql tf tfvars hcl nix cmake gradle tmpl tpl j2 hbs ejs pdf png jpg jpeg gif webp ico txtar`)
	// belowFolder are those that are known behind a slash only.
	belowFolder = set(`log env lock mod sum work m mm r s d fs properties service socket timer less diff patch snap
		golden db sqlite key pem crt cert out bin so a o exe dll wasm zip gz tgz tar mk in org el vim http rest map
		plist gitignore gitkeep keep example sample bak tmp orig old dat data`)
	// fileNames are known as they are, whatever their extension.
	fileNames = set(`Makefile GNUmakefile Dockerfile Containerfile Justfile Jenkinsfile Procfile Gemfile Rakefile
		Vagrantfile Brewfile Caddyfile CODEOWNERS go.mod go.sum go.work Cargo.lock yarn.lock poetry.lock uv.lock
		Gemfile.lock flake.lock composer.lock .env .env.example .envrc .gitignore .gitattributes .gitmodules
		.dockerignore .editorconfig .npmrc .nvmrc .eslintrc .prettierrc .babelrc .coveragerc .tool-versions`)
	// sureNames are known in backticks and behind a slash; elsewhere they are words.
	sureNames = set("makefile justfile dockerfile LICENSE LICENCE NOTICE README CHANGELOG")
	// notFiles look like files and are none.
	notFiles = set(`node.js next.js nuxt.js vue.js react.js three.js d3.js express.js ember.js backbone.js chart.js
		alpine.js discord.js moment.js day.js p5.js asp.net docs.rs bun.sh brew.sh`)
	// domains are the ends of names of hosts.
	domains = set("com org net io dev ai co edu gov uk de eu us ca fr me info in")
)

// filePath returns the file that a word names, without a line number behind it; "" if it is
// something else: a URL, an address, a version, a symbol of a package, a glob, a placeholder. sure
// says that the word stands where names of files do, in backticks or as the target of a link.
func filePath(word string, sure bool) string {
	// A line of a file, a heading in it, the rest of a URL.
	if i := strings.IndexAny(word, ":#"); i >= 0 {
		if strings.HasPrefix(word[i:], "://") {
			return ""
		}
		word = word[:i]
	}
	explicit := strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~/")
	for strings.HasPrefix(word, "./") {
		word = strings.TrimLeft(word[2:], "/")
	}
	folder, name := path.Split(word)
	switch {
	case name == "" || len(word) > maxPath || word[0] == '-',
		strings.ContainsAny(word, "*?{}$<>|=\\\"'()&;%!^,`") || strings.Contains(word, "..."),
		!sure && strings.ContainsAny(word, "[]"),
		strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return ""
	}
	if folder != "" && !isFolder(folder) || strings.LastIndexByte(name, '@') > 0 || !isFileName(name, folder != "" || explicit, sure, explicit) {
		return ""
	}
	return word
}

// isFolder tells the folder of a path from a host, a module of some version and two files that
// are joined by a slash.
func isFolder(folder string) bool {
	for i, name := range strings.Split(strings.TrimSuffix(folder, "/"), "/") {
		ext := strings.TrimPrefix(path.Ext(name), ".")
		switch {
		case strings.LastIndexByte(name, '@') > 0,
			len(ext)+1 < len(name) && extensions[ext],
			i == 0 && len(ext)+1 < len(name) && domains[ext]:
			return false
		}
	}
	return true
}

// isFileName reports whether a name is one of a file. below: it stands behind a slash; explicit:
// its path begins as only paths do.
func isFileName(name string, below, sure, explicit bool) bool {
	if fileNames[name] || (sure || below) && sureNames[name] {
		return true
	}
	ext := strings.TrimPrefix(path.Ext(name), ".")
	stem := strings.TrimSuffix(name, "."+ext)
	if !isExtension(ext) || !strings.ContainsFunc(stem, alphanumeric) || !below && notFiles[strings.ToLower(name)] {
		return false
	}
	lower := strings.ToLower(ext)
	if ext != lower {
		// README.MD is a file, template.HTML and fmt.Println are symbols.
		if ext != strings.ToUpper(ext) || stem != strings.ToUpper(stem) && !(below && len(ext) == 1) {
			return false
		}
	}
	if len(stem) == 1 && len(ext) == 1 && !below && !sure {
		return false // an abbreviation
	}
	return extensions[lower] || below && belowFolder[lower] || explicit && ext == lower
}

// isExtension reports whether s is a letter and up to 7 letters or digits.
func isExtension(s string) bool {
	if s == "" || len(s) > 8 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || !alphanumeric(r) })
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
