package host

// KeeperCommand is the first argument of a program that is started as the keeper of a
// plugin: its main gives the others to [Keep]. See [Options.Keeper].
const KeeperCommand = "keep-plugin"
