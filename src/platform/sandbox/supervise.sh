# Process 1 of a box: fills the workspace, runs the command, ends what it has left running, and hands the workspace out.
# Signals from inside the box do not reach process 1, and `kill -9 -1` spares it.
#   4: a tar of what the box starts with     5: what became of it, then a tar of the workspace
#   6: where the server says that it is enough     7, 8: `cgroup.procs` of this process's cgroup and of the command's; else /dev/null
#   $1: limits, as arguments of ulimit     $2: `empty` where there is no tar
# Each program that is started takes a millisecond or two: what bash does itself, it does.

# What the server was started with and did not open itself is no command's business.
for path in /proc/self/fd/*; do
  fd=${path##*/}
  if [ "$fd" -gt 8 ]; then eval "exec $fd>&-"; fi
done
exec 9>&2 2>/dev/null
# Who opened the file may move whoever writes to it.
echo 0 >&7 || { echo 'The box could not enter its cgroup.' >&9; exit 1; }
exec 7>&-
if [ "$2" != empty ]; then
  tar -xpf - -C / <&4 || { echo 'unfilled' >&5; exit 1; }
fi
exec 4<&-
( exec 5>&- 8>&- 9>&- >&-; read -r word <&6; kill -9 -1 ) &
exec 7>&5 5>&-
echo 'filled' >&7
cd /workspace
# When memory ends, the command goes before whatever else there is.
( echo 1000 >/proc/self/oom_score_adj; echo 0 >&8 && exec 8>&- && ulimit $1 && exec /bin/bash /box/command ) </dev/null 2>&9 6<&- 7>&- 9>&-
status=$?
exec >/dev/null 9>&- 8>&- 6<&-
kill -9 -1
cd /
echo "exit $status" >&7
shopt -s nullglob dotglob
set -- /workspace/* /workspace/input/* /workspace/output/*
if [ $# = 2 ] && [ -d /workspace/input ] && [ -d /workspace/output ] && [ ! -L /workspace/input ] && [ ! -L /workspace/output ]; then
  # A tar with nothing in it.
  printf '\0%.0s' {1..1024} >&7
else
  tar -cf - -C / --hard-dereference --format=gnu -b 128 workspace >&7
fi
