#!/bin/sh
# Installs the given binary and what belongs to it under $DESTDIR$PREFIX.
set -eu
cd "$(dirname "$0")/.."

binary=$1
root=$DESTDIR$PREFIX
docs=${CARGO_TARGET_DIR:-target}/docs

rm -rf "$docs"
mkdir -p "$docs/man" "$docs/completions"
"$binary" docs man "$docs/man"
"$binary" docs completions "$docs/completions"

install -D -m 755 "$binary" "$root/bin/ferroute"
for page in "$docs"/man/*.1; do
    install -D -m 644 "$page" "$root/share/man/man1/$(basename "$page")"
done
install -D -m 644 "$docs/completions/ferroute.bash" "$root/share/bash-completion/completions/ferroute"
install -D -m 644 "$docs/completions/_ferroute" "$root/share/zsh/site-functions/_ferroute"
install -D -m 644 "$docs/completions/ferroute.fish" "$root/share/fish/vendor_completions.d/ferroute.fish"

# A unit under /usr/local is not looked for; /etc is where the administrator's own are.
case $PREFIX in
    /usr) units=$DESTDIR/usr/lib/systemd/system users=$DESTDIR/usr/lib/sysusers.d ;;
    *) units=$DESTDIR/etc/systemd/system users=$DESTDIR/etc/sysusers.d ;;
esac
mkdir -p "$units"
install -D -m 644 packaging/sysusers.conf "$users/ferroute.conf"
sed "s|@PREFIX@|$PREFIX|g" packaging/ferroute.service >"$units/ferroute.service"
chmod 644 "$units/ferroute.service"
[ -e "$DESTDIR/etc/ferroute/ports" ] ||
    install -D -m 644 packaging/ports "$DESTDIR/etc/ferroute/ports"

echo "installed $root/bin/ferroute and $units/ferroute.service"
echo 'name the ports in /etc/ferroute/ports and put the configuration into /etc/ferroute/router.rsc,'
echo 'then: systemd-sysusers && systemctl daemon-reload && systemctl enable --now ferroute'
