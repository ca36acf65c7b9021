#!/bin/sh
# Runs FreeRADIUS with its accounts, sessions and addresses in PostgreSQL, or in SQLite where PostgreSQL or
# FreeRADIUS's module for it is missing. $1 is a folder with accounts.sql, which receives all other files.
set -eu
folder=${1%/}
schema=/etc/freeradius/3.0/mods-config/sql/main
here=/var/lib/postgresql

# PostgreSQL refuses to run as root. Its files are in memory, in a mount namespace that ends with this script.
start_postgresql() {
    [ -e /usr/lib/freeradius/rlm_sql_postgresql.so ] && [ -d "$here" ] || return 1
    programs=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
    [ -n "$programs" ] || return 1
    programs=${programs%/initdb}
    mount -t tmpfs -o mode=0755 tmpfs "$here" && mkdir "$here/isp" && chown postgres: "$here/isp" || return 1
    as_postgres() { (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups "$@"); }
    as_postgres "$programs/initdb" -D "$here/isp/data" -A trust -U radius --no-sync >/dev/null &&
        as_postgres "$programs/pg_ctl" -w -s -D "$here/isp/data" -l "$here/isp/log" \
            -o "-c listen_addresses= -c fsync=off -k $here/isp" start &&
        database="host=$here/isp user=radius dbname=postgres" &&
        cat "$schema/postgresql/schema.sql" "$folder/accounts.sql" |
        "$programs/psql" -q -v ON_ERROR_STOP=1 "$database" >/dev/null
}

if [ "${2-}" != mounted ] && unshare --mount true 2>/dev/null; then
    exec unshare --mount --propagation private sh "$0" "$folder" mounted
fi
if [ "${2-}" = mounted ] && start_postgresql; then
    dialect=postgresql
    storage="radius_db = \"$database\""
else
    dialect=sqlite
    storage="sqlite {
   filename = $folder/accounts.db
   busy_timeout = 2000
   bootstrap = $schema/sqlite/schema.sql
   bootstrap = $folder/accounts.sql
  }"
fi
echo "accounts in $dialect" >&2

cat >"$folder/radiusd.conf" <<CONF
name = freeradius
prefix = /usr
libdir = /usr/lib/freeradius
run_dir = $folder
logdir = $folder
log {
 destination = stdout
}
security {
 max_attributes = 200
 reject_delay = 1
}
client routers {
 ipaddr = 0.0.0.0/0
 secret = testing123
 require_message_authenticator = yes
}
modules {
 pap {
 }
 chap {
 }
 mschap {
 }
 expr {
 }
 sql {
  dialect = $dialect
  driver = rlm_sql_$dialect
  $storage
  acct_table1 = radacct
  acct_table2 = radacct
  postauth_table = radpostauth
  authcheck_table = radcheck
  groupcheck_table = radgroupcheck
  authreply_table = radreply
  groupreply_table = radgroupreply
  usergroup_table = radusergroup
  group_attribute = SQL-Group
  read_clients = no
  client_table = nas
  pool {
   start = 1
   max = 8
   idle_timeout = 0
  }
  \$INCLUDE $schema/$dialect/queries.conf
 }
}
instantiate {
 expr
}
server default {
 listen {
  type = auth
  ipaddr = 198.51.100.18
  port = 1812
 }
 listen {
  type = acct
  ipaddr = 198.51.100.18
  port = 1813
 }
 authorize {
  sql
  chap
  mschap
  pap
 }
 authenticate {
  Auth-Type CHAP {
   chap
  }
  Auth-Type MS-CHAP {
   mschap
  }
  Auth-Type PAP {
   pap
  }
 }
 accounting {
  sql
 }
}
CONF
exec freeradius -f -l stdout -xx -d "$folder"
