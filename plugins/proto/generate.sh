#!/bin/sh
# Writes the generated code of this folder, and of the runtimes of other languages.
# It needs protoc 3.21.12 (Debian: protobuf-compiler); without it nothing is changed.
set -eu
cd "$(dirname "$0")"

case "$(protoc --version 2>/dev/null)" in
"libprotoc 3.21.12") ;;
*)
	echo 'protoc 3.21.12 is not there: the generated code of plugins stays as it is' >&2
	exit 0
	;;
esac

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$tools go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH=$tools:$PATH protoc --go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto

# The runtimes of other languages, and the copies beside the examples.
cp plugin.proto transport.proto ../project/node/
protoc --python_out=../project/python plugin.proto transport.proto
for name in scheduler_plugin.py plugin_pb2.py transport_pb2.py; do
	cp "../project/python/$name" ../examples/glossary/
done
for name in scheduler_plugin.js plugin.proto transport.proto package-lock.json; do
	cp "../project/node/$name" ../examples/units/
done
sed -i 's/sample-plugin/units/' ../examples/units/package-lock.json
