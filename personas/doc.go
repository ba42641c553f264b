// Package personas owns the persona files below one folder: {slug}/skill.md, experience.md
// and handoffs/, and .archive/{slug} for archived personas. It parses the files, keeps an
// immutable snapshot, notices changes by anybody, and creates and archives personas. It also
// serves the templates of pipelines ([Templates]): YAML files in a folder of their own. It parses
// these strictly and notices their changes in the same way, but never writes them.
//
// The package always lists a persona, even a broken one. [Persona.Problem] says what is wrong with
// its files. Until a person corrects that, the persona can't be used. The package ignores folders
// whose names are no slugs.
//
// Concurrency: several goroutines may use a Store. Several processes may create personas in one
// folder, because only one of them can make the folder of a slug. No lock is held while files are
// read or written.
//
// Ordering: the snapshot of [Store.List] may be older than the files. With inotify, a change is in
// the snapshot after about 50 ms, and without inotify after the next scan. [Store.Get] reads the
// disk and is never late.
//
// After a crash a persona is whole. Only a crash in the middle of [Store.Create] leaves a folder
// without skill.md. The package lists that persona with this problem, and it can be archived. A
// slug is never reused.
//
// The package reads and writes no file outside the folder. It checks names, and opens every file
// below a handle of the folder (os.Root). A persona's folder may not be a symbolic link.
package personas
