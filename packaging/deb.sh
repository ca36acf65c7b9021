#!/bin/sh
# Makes a Debian package of the given binary, deb/ferroute_VERSION_ARCHITECTURE.deb in Cargo's target directory.
#
# The package contains the files of install.sh; packaging/debian has the control files and maintainer scripts.
set -eu
cd "$(dirname "$0")/.."

binary=$1
out=${CARGO_TARGET_DIR:-target}/deb
root=$out/root
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -1)
architecture=$(dpkg --print-architecture)
# Reproducible builds: all timestamps of the package are those of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}
export SOURCE_DATE_EPOCH

rm -rf "$root"
mkdir -p "$root/DEBIAN"
umask 022
PREFIX=/usr DESTDIR=$root packaging/install.sh "$binary" >/dev/null
strip --strip-unneeded "$root/usr/bin/ferroute"
gzip -9n "$root"/usr/share/man/man1/*.1

documents=$root/usr/share/doc/ferroute
install -D -m 644 packaging/debian/copyright "$documents/copyright"
{
    printf 'ferroute (%s) unstable; urgency=medium\n\n' "$version"
    printf '  * Built from the repository; see its history for the changes.\n\n'
    printf ' -- %s  %s\n' "$(sed -n 's/^Maintainer: //p' packaging/debian/control)" \
        "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$documents/changelog.gz"

# The oldest C library version that has all symbols.
libc=$(objdump -T "$root/usr/bin/ferroute" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -1)
size=$(du -k -s --exclude=DEBIAN "$root" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" \
    -e "s/@LIBC@/$libc/" -e "s/@SIZE@/$size/" packaging/debian/control >"$root/DEBIAN/control"
install -m 644 packaging/debian/conffiles "$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "packaging/debian/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k 2) >"$root/DEBIAN/md5sums"

dpkg-deb --root-owner-group --build "$root" "$out" >/dev/null
echo "$out/ferroute_${version}_$architecture.deb"
