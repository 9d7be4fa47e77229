import { readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second. */
const MS_PER_TICK = 10;
/** By their numbers in proc_pid_stat(5), less the two before the name's end: user and system time of children that were waited for. */
const CHILDREN_USER = 13;
const CHILDREN_SYSTEM = 14;

/** What this process has computed, and on Linux also what its ended descendants have, but for those that lost their parent. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 + childrenMs();
}

function childrenMs(): number {
  if (process.platform !== 'linux') return 0;
  const text = readFileSync('/proc/self/stat', 'utf8');
  // The program's name, in brackets, may hold spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[CHILDREN_USER]) + Number(fields[CHILDREN_SYSTEM])) * MS_PER_TICK;
}
