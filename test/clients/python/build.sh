#!/usr/bin/env bash
# Makes the stubs as docs/api.md shows.
set -euo pipefail
[ -x venv/bin/python3 ] || python3 -m venv venv
. venv/bin/activate
pip install --quiet --disable-pip-version-check --requirement requirements.txt
rm -rf relayer inhouse_pb && mkdir inhouse_pb
python3 -m grpc_tools.protoc -I contract --python_out=. --pyi_out=. --grpc_python_out=. contract/relayer/v1/*.proto
python3 -m grpc_tools.protoc -I ../inhouse --python_out=inhouse_pb ../inhouse/options.proto
