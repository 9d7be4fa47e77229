/** Whose a cgroup is, by its name: so that what dead processes have left can be told from what living ones use. */
import { randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';

/** Of this very process: in a container every start may have the same id, so that one of an earlier process has it, too. */
const PROCESS_KEY = randomBytes(4).toString('hex');

let made = 0;

export function nameOfOwn(): string {
  made += 1;
  return `${pidNamespace()}-${process.pid}-${PROCESS_KEY}-${made}`;
}

/** Of another namespace of processes nothing can be told: it counts as living. */
export function isOfLivingProcess(name: string): boolean {
  const [namespace, pid, key] = name.split('-');
  if (namespace !== pidNamespace()) return true;
  if (Number(pid) === process.pid) return key === PROCESS_KEY;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}
