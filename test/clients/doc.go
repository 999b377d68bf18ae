// Package clients tests the program with clients that others wrote, for example OpenAI's. It is a module of its
// own, so that they are not among the dependencies of the program.
package clients
