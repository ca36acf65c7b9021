#!/bin/sh
# Installs the given binary, man pages, completions and the systemd unit under $DESTDIR$PREFIX.
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

# systemd does not search /usr/local for units; /etc is the place for locally installed ones.
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
echo 'Next: list the ports in /etc/ferroute/ports, copy the configuration to /etc/ferroute/router.rsc, and run'
echo '    systemd-sysusers && systemctl daemon-reload && systemctl enable --now ferroute'
