# $1 is the memory file; the rest are memcached's arguments, in which -e names that file.
memory=$1
shift
rm -f "$memory.pid"

# A .meta that is empty, or ends within a line, was not written to its end.
if [ -e "$memory.meta" ]; then
  line=
  while IFS= read -r line; do :; done < "$memory.meta"
  if [ ! -s "$memory.meta" ] || [ -n "$line" ]; then
    echo "$memory.meta is not complete: memcached starts empty" >&2
    rm -f "$memory.meta"
  fi
fi

# Without .rested, less than a second may have passed since memcached stopped.
if [ -e "$memory.meta" ] && [ ! -e "$memory.rested" ]; then
  sleep 1
fi
rm -f "$memory.rested"

# Who stops the container before memcached has a process ID stops it right after.
child= stopped=
trap 'stopped=yes; [ -z "$child" ] || kill -USR1 "$child" 2> /dev/null' TERM INT
memcached "$@" &
child=$!
echo "$child" > "$memory.pid"
[ -z "$stopped" ] || kill -USR1 "$child"

# A signal ends wait before memcached has ended. The second one knows memcached no more (127) if it was not needed.
wait "$child"
status=$?
trap '' TERM INT
wait "$child" 2> /dev/null
again=$?
[ "$again" = 127 ] || status=$again

# Aborted, or accessed what it may not: what crashed it once would do so again.
case $status in
134 | 135 | 139)
  if [ -e "$memory.meta" ]; then
    echo "memcached crashed and has left $memory.meta: the next one starts empty" >&2
    rm -f "$memory.meta"
  fi
  ;;
esac

if [ -e "$memory.meta" ]; then
  sleep 1
  touch "$memory.rested"
fi
exit "$status"
