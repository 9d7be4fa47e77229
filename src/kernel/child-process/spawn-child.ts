/** The operating system's side of a child: how it is started, what it may touch, what it holds of memory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeArguments } from './protocol.ts';

export interface SpawnOptions {
  /** Module of a ChildProgram. */
  readonly program: URL;
  /** Of the JavaScript heap; V8 ends the process past it. */
  readonly heapBytes: number;
  /** Of one answer, in V8's structured format. */
  readonly answerBytes: number;
  /** Whether it may make functions of texts. Default false. */
  readonly evaluatesCode?: boolean;
}

const MEBIBYTE = 1_048_576;
const SOURCES = fileURLToPath(new URL('../../', import.meta.url));
const RUN_CHILD = fileURLToPath(new URL('./run-child.ts', import.meta.url));

/** Standard input and output are nothing, standard error and file descriptor 3 are pipes. */
export function spawnChild({ program, heapBytes, answerBytes, evaluatesCode = false }: SpawnOptions): ChildProcess {
  const flags = [
    '--no-warnings',
    `--max-old-space-size=${Math.ceil(heapBytes / MEBIBYTE)}`,
    ...(evaluatesCode ? [] : ['--disallow-code-generation-from-strings']),
    '--permission',
    // For the thread that watches the parent; the program cannot start any.
    '--allow-worker',
    ...listReadable(program).map((path) => `--allow-fs-read=${path}`),
  ];
  const args = writeArguments({ program: program.href, answerBytes, parent: process.pid });
  const child = spawn(process.execPath, [...flags, RUN_CHILD, ...args], {
    // No secret of this process's own environment is the child's business.
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
  if (child.pid !== undefined && process.platform === 'linux') offerToKernel(child.pid);
  return child;
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

/** When the machine runs out of memory, this process goes before any other; and no core of it is written to the disk. */
function offerToKernel(pid: number): void {
  // A child that is gone already needs neither.
  writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined);
  writeFile(`/proc/${pid}/coredump_filter`, '0').catch(() => undefined);
}

/** Undefined where it is not known: the process is gone, or this is not Linux. */
export async function measureResidentBytes(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  return parseResidentBytes(status);
}

/** As `measureResidentBytes`, at once. */
export function readResidentBytes(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return parseResidentBytes(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    // It is gone.
    return undefined;
  }
}

function parseResidentBytes(status: string): number | undefined {
  const kibibytes = /^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1_024;
}
