#!/bin/bash
# Everything from nothing: installs packages, builds, runs every test. TRIREME_JOBS limits parallel work (default: all
# cores). Ends with ctest's own count and its exit code.
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install_packages.sh
jobs=${TRIREME_JOBS:-$(nproc)}
cmake --preset dev
cmake --build --preset dev --parallel "$jobs"
ctest --preset dev --parallel "$jobs"
