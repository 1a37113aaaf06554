#!/usr/bin/env bash
# SQL beside Debian's PostgreSQL 15: the same statements to both. Needs postgres, psql and initdb.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$(dirname "$0")
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)

# PostgreSQL does not run as root.
as=()
if [ "$(id -u)" = 0 ]; then as=(runuser -u postgres --); chmod 755 "$work"; fi
mkdir "$work/postgres" && { [ ${#as[@]} = 0 ] || chown postgres "$work/postgres"; }
postgres_port=$(free_port)
"${as[@]}" env PATH="$PATH" initdb -D "$work/postgres/data" --locale=C --encoding=UTF8 --auth=trust -U tester >"$work/initdb.log" 2>&1
"${as[@]}" env PATH="$PATH" postgres -D "$work/postgres/data" -h 127.0.0.1 -p "$postgres_port" -k "$work/postgres" \
    -c timezone=UTC -c fsync=off >"$work/postgres.log" 2>&1 &
others+=($!)
wait_for 20 "psql -h 127.0.0.1 -p $postgres_port -U tester -d postgres -c 'SELECT 1'"
start_foliot

python3 "$here/sql.py" "http://127.0.0.1:$port" "$postgres_port" "$@"
pass 'the same statements, the same answers'
