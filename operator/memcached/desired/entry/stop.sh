# $1 is the memory file. A memcached that has not begun, or has ended, has nothing to save.
read -r process 2> /dev/null < "$1.pid" || exit 0
kill -USR1 "$process" 2> /dev/null || exit 0

# Not every sleep knows parts of a second.
while kill -0 "$process" 2> /dev/null; do
  sleep 0.1 2> /dev/null || sleep 1
done
