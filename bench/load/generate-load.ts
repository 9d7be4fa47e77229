import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Parse } from 'typebox/value';
import { type GeneratorLoad, type LoadJob, LoadReply, type Measurement } from './jobs.ts';

const GENERATOR = fileURLToPath(new URL('./main.ts', import.meta.url));

export interface LoadResult extends Measurement {
  readonly generator: GeneratorLoad;
}

/** Does the job in a process of its own, so that only the load is on its event loop. Throws when nothing was measured. */
export async function generateLoad(job: LoadJob): Promise<LoadResult> {
  const generator = fork(GENERATOR, [], { serialization: 'advanced' });
  const ended = once(generator, 'exit');
  try {
    const answered = new Promise<unknown>((resolve, reject) => {
      generator.once('message', resolve);
      generator.once('error', reject);
      generator.once('exit', (code) => reject(new Error(`the load generator ended with code ${code}`)));
    });
    generator.send(job);
    const reply = Parse(LoadReply, await answered);
    if (!reply.ok) throw new Error(reply.error);
    return { ...reply.measurement, generator: reply.generator };
  } finally {
    if (generator.exitCode === null) generator.kill();
    await ended;
  }
}
