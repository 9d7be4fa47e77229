/** SIGHUP has a file of habits read again, as other servers read their configuration again. */
import { ConfigError } from '../../../kernel/config/config.ts';
import { CommandError } from '../../command-error.ts';

interface Rereading<Habits> {
  /** Throws `ConfigError`. */
  readonly read: () => Promise<Habits>;
  /** Throws `CommandError`. */
  readonly change: (habits: Habits) => Promise<void>;
  /** What has come of it, for whoever sent the signal. */
  readonly tell: (line: string) => void;
  readonly complain: (line: string) => void;
}

/** One that is wrong is complained of, and what was so before stays. Signals that come meanwhile are obeyed one after the other. */
export function rereadOnHangUp<Habits>({ change, complain, read, tell }: Rereading<Habits>): void {
  let work = Promise.resolve();
  const reread = async () => {
    try {
      await change(await read());
      tell('The habits were read again.');
    } catch (error) {
      const isWrong = error instanceof ConfigError || error instanceof CommandError;
      const problems = error instanceof ConfigError ? error.problems : [isWrong ? error.message : String(error)];
      complain(`The habits stay as they were: ${problems.join('; ')}`);
    }
  };
  process.on('SIGHUP', () => {
    work = work.then(reread);
  });
}
