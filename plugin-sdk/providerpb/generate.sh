#!/bin/sh
# Writes the Go code of provider.proto with the two generators that go.mod pins
# as tools. Needs protoc on the PATH. Run it by "go generate ./providerpb".
set -eu
cd "$(dirname "$0")"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install \
	google.golang.org/protobuf/cmd/protoc-gen-go \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc
PATH=$tools:$PATH protoc \
	--go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative \
	provider.proto
