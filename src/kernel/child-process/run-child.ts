/** The main program of every child process: loads the program that it is for, then answers what the parent asks. */
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { confineProcess } from './confine-process.ts';
import { encodeFrame, FrameReader, FrameTooLargeError } from './frames.ts';
import { CHANNEL_FD, type ChildProgram, type FromChildFrame, readArguments, type ToChildFrame } from './protocol.ts';

const { program, answerBytes, parent } = readArguments(process.argv.slice(2));
const channel = new Socket({ fd: CHANNEL_FD, readable: true, writable: true });
const reader = new FrameReader(Number.MAX_SAFE_INTEGER);
/** The parent is gone, or wants no more. */
const end = (): never => process.exit(0);

function send(frame: FromChildFrame, limitBytes = Number.MAX_SAFE_INTEGER): void {
  const blocks = encodeFrame(frame, limitBytes);
  channel.cork();
  for (const block of blocks) channel.write(block);
  channel.uncork();
}

async function answerFrame({ answer }: ChildProgram<unknown, unknown>, { id, message }: ToChildFrame): Promise<void> {
  const value = await answer(message);
  try {
    send({ kind: 'answer', id, answer: value }, answerBytes);
  } catch (error) {
    if (!(error instanceof FrameTooLargeError)) throw error;
    send({ kind: 'too-large' });
  }
}

channel.on('end', end);
channel.on('error', end);
new Worker(new URL('./watch-parent.js', import.meta.url), { workerData: parent, execArgv: [], env: {} }).unref();
confineProcess();
// What a library prints about a document would fill the parent's log.
for (const name of ['log', 'info', 'debug', 'warn'] as const) console[name] = () => undefined;
const loaded: ChildProgram<unknown, unknown> = await import(program);
channel.on('data', (piece: Buffer) => {
  // A rejection ends the process, which is how the parent learns of a defect.
  for (const frame of reader.push(piece)) void answerFrame(loaded, frame as ToChildFrame);
});
send({ kind: 'ready' });
