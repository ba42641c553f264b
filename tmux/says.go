package tmux

// SaysOption is the user option of a pane that says who goes on there; see [Server.Say].
const SaysOption = "@understudy_says"
