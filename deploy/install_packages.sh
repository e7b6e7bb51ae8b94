#!/bin/bash
# Installs the Debian 12 packages that building, testing and the quickstart need: the only list of them. Does nothing
# when all are there. Works as root, or with sudo.
set -euo pipefail

packages=(
  # Build tools.
  g++ cmake ninja-build ccache mold
  # RPC and wire format.
  protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libgrpc++-dev
  # Base libraries, files, store.
  libabsl-dev libyaml-cpp-dev nlohmann-json3-dev libsqlite3-dev libssl-dev
  # Matrix products on the CPU.
  libdnnl-dev
  # Tests.
  libgtest-dev libgmock-dev libbenchmark-dev
  # English text to train on, and the program that prints it.
  bible-kjv bible-kjv-text
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

run=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo > /dev/null; then
    echo "install_packages: missing ${missing[*]}; run this as root, or install sudo" >&2
    exit 1
  fi
  run=(sudo)
fi
echo "install_packages: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get -o DPkg::Lock::Timeout=300 -qq update
"${run[@]}" apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
