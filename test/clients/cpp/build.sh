#!/usr/bin/env bash
# Makes the stubs as docs/api.md shows, and builds the programs.
set -euo pipefail
rm -rf gen packages && mkdir gen packages
protoc -I contract --cpp_out=gen --grpc_out=gen --plugin=protoc-gen-grpc="$(command -v grpc_cpp_plugin)" contract/relayer/v1/*.proto
# Debian packages neither Google's definitions nor the health check's, so a team compiles them.
protoc -I googleapis --cpp_out=packages googleapis/google/*/*.proto googleapis/grpc/health/v1/*.proto
protoc -I ../inhouse --cpp_out=packages ../inhouse/options.proto
make --silent --jobs=2
