#!/bin/sh
# Builds the image `ferroute` from the package in target/deb, with the first working container engine, or with ENGINE.
# BASE selects another Debian base image.
set -eu
cd "$(dirname "$0")/../.."

# `info` fails if only the client is installed and no engine runs.
works() {
    command -v "$1" >/dev/null 2>&1 && "$1" info >/dev/null 2>&1
}

for engine in ${ENGINE:-podman docker buildah}; do
    works "$engine" || continue
    exec "$engine" build --tag ferroute ${BASE:+--build-arg "BASE=$BASE"} \
        --file packaging/container/Containerfile .
done
echo 'container: no working container engine found: install podman, docker or buildah' >&2
exit 1
