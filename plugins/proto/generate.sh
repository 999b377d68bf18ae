#!/bin/sh
# Writes the generated code of this folder, and of the runtimes of other languages.
# It needs protoc 3.21 (Debian: protobuf-compiler); without it nothing is changed.
set -eu
cd "$(dirname "$0")"

case "$(protoc --version 2>/dev/null)" in
"libprotoc 3.21."*) ;;
*)
	echo 'protoc 3.21 is not there: the generated code of plugins stays as it is' >&2
	exit 0
	;;
esac

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$tools go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH=$tools:$PATH protoc --go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto
