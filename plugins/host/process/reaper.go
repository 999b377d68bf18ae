package process

// ReaperCommand is the first argument of a program that is started as the reaper of a
// plugin: its main passes the other arguments to [Reap].
const ReaperCommand = "reap-plugin"
