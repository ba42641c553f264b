package runtimes

// ForkSpec is one question to a copy of a session. The session itself does not change.
type ForkSpec struct {
	Command      []string // the program and its fixed arguments, as configured
	SessionID    string   // the session to copy; "": a new session, which knows only the prompt
	Transcript   string   // the path of the session's transcript; "": not known
	Binary       string   // absolute path of our program that runs as the one-shot's hook; "": no hooks
	SettingsJSON string   // settings for this question alone, in place of those that are made of Binary
	Dir          string   // absolute path of a folder for Files
	Effort       string   // the thinking level of the session, one of Can.Efforts; "": not known
	Skill        string   // the path of the file in which the launch gave the skill, [SkillFile]; "": there is none
	User         UserHome // what is in the user's home, if the runtime has an OwnHome
	Prompt       string
}

// ForkCommand is the command that asks the question. It runs with the agent's environment.
type ForkCommand struct {
	Argv  []string
	Stdin []byte
	Env   []string // NAME=value, in addition to the agent's
	Files []File   // to be written before it
	Links []Link   // to be made before it
	Dir   string   // where it runs; "": in the agent's directory
}
