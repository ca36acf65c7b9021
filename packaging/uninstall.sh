#!/bin/sh
# Removes what install.sh has put under $DESTDIR$PREFIX. With `purge` as its argument, also the configuration, the
# state, its key and the user that the service runs as.
set -eu
cd "$(dirname "$0")/.."

root=$DESTDIR$PREFIX
case $PREFIX in
    /usr) units=$DESTDIR/usr/lib/systemd/system users=$DESTDIR/usr/lib/sysusers.d ;;
    *) units=$DESTDIR/etc/systemd/system users=$DESTDIR/etc/sysusers.d ;;
esac

systemd_runs() {
    [ -z "$DESTDIR" ] && [ -d /run/systemd/system ]
}

# The router gives its devices back when it stops.
if systemd_runs && [ -e "$units/ferroute.service" ]; then
    systemctl disable --now ferroute.service
fi
rm -f "$units/ferroute.service" "$users/ferroute.conf" "$root/bin/ferroute" \
    "$root"/share/man/man1/ferroute.1 "$root"/share/man/man1/ferroute-*.1 \
    "$root/share/bash-completion/completions/ferroute" \
    "$root/share/zsh/site-functions/_ferroute" \
    "$root/share/fish/vendor_completions.d/ferroute.fish"
# Ports that nobody has named are those of the installation.
if cmp -s packaging/ports "$DESTDIR/etc/ferroute/ports"; then
    rm -f "$DESTDIR/etc/ferroute/ports"
fi
if [ "${1:-}" = purge ]; then
    rm -rf "$DESTDIR/etc/ferroute" "$DESTDIR/var/lib/ferroute" "$DESTDIR/var/lib/ferroute-key"
    if [ -z "$DESTDIR" ] && getent passwd ferroute >/dev/null; then
        userdel ferroute
    fi
fi
rmdir "$DESTDIR/etc/ferroute" 2>/dev/null || true
if systemd_runs; then
    systemctl daemon-reload
fi

echo "removed $root/bin/ferroute and $units/ferroute.service"
for kept in /etc/ferroute /var/lib/ferroute /var/lib/ferroute-key; do
    if [ -e "$DESTDIR$kept" ]; then
        echo "kept: $DESTDIR$kept (make purge removes it)"
    fi
done
