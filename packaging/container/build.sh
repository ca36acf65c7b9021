#!/bin/sh
# Builds the image `ferroute` from the package in target/deb, with the engine that is there, or ENGINE.
# BASE names another image of Debian to begin with.
set -eu
cd "$(dirname "$0")/../.."

# A client of docker alone does not build.
works() {
    command -v "$1" >/dev/null 2>&1 && "$1" info >/dev/null 2>&1
}

for engine in ${ENGINE:-podman docker buildah}; do
    works "$engine" || continue
    exec "$engine" build --tag ferroute ${BASE:+--build-arg "BASE=$BASE"} \
        --file packaging/container/Containerfile .
done
echo 'container: no engine that works: install podman, docker or buildah' >&2
exit 1
