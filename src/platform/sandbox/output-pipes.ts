/**
 * What a command's standard output and standard error are: named pipes. Node's own are sockets, which nobody can open by name, so that
 * `echo … > /dev/stderr` fails; and pipes without a name belong to whoever made them, which the user of a box is not.
 */
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface OutputPipe {
  readonly reader: Socket;
  readonly path: string;
  /** Keeps the pipe open until the process that writes has opened it; to be closed here then. */
  writerFd: number | undefined;
}

/** A pair for the box that runs in this slot, whose user alone may open them. `uid`: undefined where it is the server's own. */
export async function openOutputPipes(
  hostFolder: string,
  slot: number,
  uid: number | undefined,
): Promise<readonly [stdout: OutputPipe, stderr: OutputPipe]> {
  const paths = ['stdout', 'stderr'].map((name) => join(hostFolder, `${name}-${slot}`));
  const [stdout = '', stderr = ''] = paths;
  try {
    return openBoth(stdout, stderr);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // Once for each slot: Node itself makes none.
  await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
  if (uid !== undefined) for (const path of paths) chownSync(path, uid, uid);
  return openBoth(stdout, stderr);
}

function openBoth(stdout: string, stderr: string): [OutputPipe, OutputPipe] {
  const opened = openOne(stdout);
  try {
    return [opened, openOne(stderr)];
  } catch (error) {
    if (opened.writerFd !== undefined) closeSync(opened.writerFd);
    opened.reader.destroy();
    throw error;
  }
}

/** What was written to it before is gone with those who had it open. */
function openOne(path: string): OutputPipe {
  // A command owns what it writes to, and may have let others in.
  chmodSync(path, 0o600);
  const readerFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // A pipe that somebody reads is opened at once.
    const writerFd = openSync(path, constants.O_WRONLY);
    return { reader: new Socket({ fd: readerFd, readable: true, writable: false }), path, writerFd };
  } catch (error) {
    closeSync(readerFd);
    throw error;
  }
}
