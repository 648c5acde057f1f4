#!/usr/bin/env bash
# Makes the stubs as docs/api.md shows, and builds the programs.
set -euo pipefail
export GOBIN="$PWD/bin" PATH="$PWD/bin:$PATH"
go install tool
module=example.com/relayer-client
rm -rf v1 inhouse && mkdir inhouse
protoc -I contract --go_out=. --go_opt=module=relayer --go-grpc_out=. --go-grpc_opt=module=relayer contract/relayer/v1/*.proto
protoc -I contract --connect-go_out=. --connect-go_opt="module=$module,simple$(printf ",M%s=$module/v1;relayerv1" $(cd contract && echo relayer/v1/*.proto))" contract/relayer/v1/*.proto
protoc -I ../inhouse --go_out=inhouse --go_opt="module=$module/inhouse" ../inhouse/options.proto
go build -o client.out ./client
go build -o links.out ./links
go build -o order.out ./order
