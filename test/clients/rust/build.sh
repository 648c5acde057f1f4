#!/usr/bin/env bash
# Makes the stubs by build.rs, as docs/api.md shows, and builds the programs.
set -euo pipefail
cargo build --locked --quiet
