/** The operating system's side of a child: how it is started, what it may touch, what it takes of memory and time. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeArguments } from './protocol.ts';
import { type ChildEvents, type ChildHandle, startChild } from './spawner.ts';

export interface SpawnOptions {
  /** Module of a ChildProgram. */
  readonly program: URL;
  /** Of the JavaScript heap; V8 ends the process past it. */
  readonly heapBytes: number;
  /** Of one answer, in V8's structured format. */
  readonly answerBytes: number;
  /** Whether it may make functions of texts. Default false. */
  readonly evaluatesCode?: boolean;
  /** Whether it leaves the processors to this process and to others that want them. Default false. */
  readonly givesWay?: boolean;
}

const MEBIBYTE = 1_048_576;
const SOURCES = fileURLToPath(new URL('../../', import.meta.url));
const RUN_CHILD = fileURLToPath(new URL('./run-child.ts', import.meta.url));

/** See `startChild`: the channel comes with an event. */
export function spawnChild(options: SpawnOptions, events: ChildEvents): ChildHandle {
  const { program, heapBytes, answerBytes, evaluatesCode = false, givesWay = false } = options;
  const flags = [
    '--no-warnings',
    `--max-old-space-size=${Math.ceil(heapBytes / MEBIBYTE)}`,
    ...(evaluatesCode ? [] : ['--disallow-code-generation-from-strings']),
    '--permission',
    // For the thread that watches the parent; the program cannot start any.
    '--allow-worker',
    ...listReadable(program).map((path) => `--allow-fs-read=${path}`),
  ];
  const makeCommand = (parent: number) => ({
    args: [...flags, RUN_CHILD, ...writeArguments({ program: program.href, answerBytes, parent })],
    givesWay,
  });
  return startChild(makeCommand, events);
}

/** The sources, the program's folder, and the packages with what Node looks at to find them. */
function listReadable(program: URL): string[] {
  const folders = [SOURCES];
  if (program.protocol === 'file:') folders.push(dirname(fileURLToPath(program)));
  const paths = new Set(folders.map((folder) => join(folder, '*')));
  for (const folder of folders) {
    for (let above = folder; ; above = dirname(above)) {
      paths.add(join(above, 'package.json'));
      const packages = join(above, 'node_modules');
      if (existsSync(packages)) paths.add(join(packages, '*')).add(join(realpathSync(packages), '*'));
      if (above === dirname(above)) break;
    }
  }
  return [...paths];
}

/**
 * Undefined where it is not known: the process is gone, or this is not Linux. At once: a read by way of threads costs ten
 * times as much, and every child at work is read twenty times a second.
 */
export function readResidentBytes(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return parseResidentBytes(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    // It is gone.
    return undefined;
  }
}

/** Of all its threads, since its start. Undefined as for `readResidentBytes`. */
export function readProcessorMs(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    // It is gone.
    return undefined;
  }
  // The second field is the program's name, which may hold anything; the third follows its last parenthesis (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * MS_PER_TICK;
}

/** The 14th and 15th field, counted from the third. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;
/** The kernel counts in hundredths of a second for programs, whatever its own clock does (USER_HZ). */
const MS_PER_TICK = 10;

function parseResidentBytes(status: string): number | undefined {
  const kibibytes = /^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1_024;
}
