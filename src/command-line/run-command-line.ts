/** From the words of a command line to the process's exit. */
import { isOneOfSeveral } from './processes/join-processes.ts';
import { reportStep } from './startup-steps.ts';
import { listenForStop } from './stop-signals.ts';

export async function runCommandLine(args: readonly string[]): Promise<void> {
  // Before the program is loaded, which takes a while: a signal finds somebody who ends the start cleanly.
  const stop = args[0] === 'serve' ? listenForStop() : undefined;
  if (stop !== undefined && !isOneOfSeveral() && !args.includes('--help')) reportStep('starting');
  const { runProgram } = await import('./program.ts');
  const exitCode = await runProgram(args, stop);
  // Once what was printed has been written, nothing that is still open keeps a finished command alive.
  process.stdout.write('', () => process.exit(exitCode));
}
