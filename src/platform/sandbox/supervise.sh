# Process 1 of a box: fills the workspace, runs the command, ends what it has left running, and hands the workspace out.
# Signals from inside the box do not reach process 1, and `kill -9 -1` spares it.
#   4: what the server says and is told: first a tar of what the box starts with; back what became of it, then a tar of the workspace
#   5: ends when it is enough     6, 7: `cgroup.procs` of this process's cgroup and of the command's; else /dev/null
#   $1: limits, as arguments of ulimit     $2: `empty` where there is no tar
# Each program that is started takes a millisecond or two: what bash does itself, it does.

# What the server was started with and did not open itself is no command's business.
for path in /proc/self/fd/*; do
  fd=${path##*/}
  if [ "$fd" -gt 7 ]; then eval "exec $fd>&-"; fi
done
exec 9>&2 2>/dev/null
# Who opened the file may move whoever writes to it.
echo 0 >&6 || { echo 'The box could not enter its cgroup.' >&9; exit 1; }
exec 6>&-
if [ "$2" != empty ]; then
  tar -xpf - -C / <&4 || { echo 'unfilled' >&4; exit 1; }
fi
( exec 4>&- 7>&- 9>&- >&-; read -r word <&5; kill -9 -1 ) &
echo 'filled' >&4
cd /workspace
# When memory ends, the command goes before whatever else there is.
( echo 1000 >/proc/self/oom_score_adj; echo 0 >&7 && exec 7>&- && ulimit $1 && exec /bin/bash /box/command ) </dev/null 2>&9 4>&- 5<&- 9>&-
status=$?
exec >/dev/null 9>&- 7>&- 5<&-
kill -9 -1
cd /
echo "exit $status" >&4
shopt -s nullglob dotglob
set -- /workspace/* /workspace/input/* /workspace/output/*
if [ $# = 2 ] && [ -d /workspace/input ] && [ -d /workspace/output ] && [ ! -L /workspace/input ] && [ ! -L /workspace/output ]; then
  # A tar with nothing in it.
  printf '\0%.0s' {1..1024} >&4
else
  tar -cf - -C / --hard-dereference --format=gnu -b 128 workspace >&4
fi
