#!/bin/sh
# Removes the files of install.sh under $DESTDIR$PREFIX. With the argument `purge`, also removes the configuration, the
# state, its key and the service's user.
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

# Stopping the service returns the devices to the kernel.
if systemd_runs && [ -e "$units/ferroute.service" ]; then
    systemctl disable --now ferroute.service
fi
rm -f "$units/ferroute.service" "$users/ferroute.conf" "$root/bin/ferroute" \
    "$root"/share/man/man1/ferroute.1 "$root"/share/man/man1/ferroute-*.1 \
    "$root/share/bash-completion/completions/ferroute" \
    "$root/share/zsh/site-functions/_ferroute" \
    "$root/share/fish/vendor_completions.d/ferroute.fish"
# An unchanged ports file has no configuration and is removed.
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
