/**
 * What a server says while it starts, each step as it begins, for somebody who waits at a terminal. The lines go to standard
 * output, as the welcome does; the log on standard error is apart from them.
 */
import { tellsItsSteps } from './processes/join-processes.ts';

const lines = {
  starting: () => 'Starting Ironcraft …',
  'new-store': (folder: string) => `  making a new database in ${folder} (the first start only) …`,
  store: (folder: string) => `  opening the database in ${folder} …`,
  server: () => '  connecting to the database server …',
  migrations: (count: number) => `  applying ${count} migration${count === 1 ? '' : 's'} …`,
  services: (names: string) => `  starting the ${names} …`,
} as const;

type Lines = typeof lines;

export function reportStep<Step extends keyof Lines>(step: Step, ...facts: Parameters<Lines[Step]>): void {
  if (!tellsItsSteps()) return;
  const say = lines[step] as (...given: Parameters<Lines[Step]>) => string;
  process.stdout.write(`${say(...facts)}\n`);
}
