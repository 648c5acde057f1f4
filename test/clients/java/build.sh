#!/usr/bin/env bash
# Makes the stubs with the plugin that docs/api.md shows, and builds the programs.
set -euo pipefail
mvn --batch-mode --quiet package
