#!/bin/sh
# Writes the generated code of this folder and of the SDK of Python.
# It needs protoc 3.21.12 (Debian: protobuf-compiler); without it nothing is changed.
set -eu
cd "$(dirname "$0")"

case "$(protoc --version 2>/dev/null)" in
"libprotoc 3.21.12") ;;
*)
	echo 'no protoc 3.21.12: the generated code of plugins is left unchanged' >&2
	exit 0
	;;
esac

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$tools go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH=$tools:$PATH protoc --go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto

protoc --python_out=../sdk/python plugin.proto transport.proto
