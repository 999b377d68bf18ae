//go:build !unix

package sdk

func closeOnExec(int) {}
